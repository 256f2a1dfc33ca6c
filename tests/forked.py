"""Stands for the program where git or a shell starts it: ``python -IS tests/forked.py SOCKET KIND WORDS…``.

It lets the server of preloaded programs (``tests/preloader.py``) fork what it stands for, with its own
streams, folder and environment, passes signals on, and ends as that does. Only what is quick to load is
imported here. The forked program has no controlling terminal: a story about one needs another.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys

_NUMBER_BYTES = 4
_STREAMS = (0, 1, 2)
_PASSED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGWINCH)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _request(kind: str, words: list[str]) -> bytes:
    return marshal.dumps(
        {
            "kind": kind,
            "args": words,
            "cwd": os.getcwd(),  # noqa: PTH109  # pathlib is slow to load
            "environ": dict(os.environ),
            "umask": _umask(),
            "ignored": [one for one in _PASSED_ON if _signal.getsignal(one) == _signal.SIG_IGN],
            "is_session": False,
            "is_terminal": False,
            "process_group": -1,
        }
    )


def _number(channel: "_socket.socket") -> int:
    told = channel.recv(_NUMBER_BYTES, _socket.MSG_WAITALL)
    if not told:
        sys.exit("the server of preloaded programs has ended")
    return int.from_bytes(told, "big", signed=True)


def main(place: str, kind: str, *words: str) -> None:
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    channel.connect(place)
    body = _request(kind, list(words))
    rights = b"".join(stream.to_bytes(_NUMBER_BYTES, sys.byteorder) for stream in _STREAMS)
    head = len(body).to_bytes(_NUMBER_BYTES, "big")
    channel.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    channel.sendall(body)
    pid = _number(channel)
    for signal in _PASSED_ON:
        if _signal.getsignal(signal) != _signal.SIG_IGN:
            _signal.signal(signal, lambda number, _: os.kill(pid, number))
    code = _number(channel)
    if code < 0:
        _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The system's table of processes: from /proc where there is one, else from ``ps``."""

import os
import time
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from git_blackbird.model.system_faults import is_exhausted

_PROC = "/proc"
_MAX_BYTES = 4 * 1024 * 1024
# Nearly all that is read is smaller; room for the longest would cost more than the reading.
_PIECE_BYTES = 32 * 1024
_KERNEL_THREAD = 0x00200000
# Of the fields from the state on: what it is once all is over, and which field tells the start.
_ENDED = frozenset({b"Z", b"X"})
_START = 19
_EXEC_TRIES = 200
_EMPTY_TRIES = 25
_EXEC_PAUSE_SECONDS = 0.001


class Entry(NamedTuple):
    """A live process: its group, what tells it from a later one of its number, its parent and its session.

    ``session`` is 0 where the system does not tell.
    """

    pid: int
    group: int
    identity: str
    parent: int
    session: int


class Survey(NamedTuple):
    """All live processes, and the numbers of those that had ended when their turn came.

    One that ended only after the numbers were listed may have left a child that is in neither.
    """

    entries: tuple[Entry, ...]
    ended: frozenset[int]


def has_proc() -> bool:
    """Whether processes and their environments can be read from /proc."""
    return os.path.exists(f"{_PROC}/self/stat")  # noqa: PTH110  # asked for every process of the system


def find_process(pid: int) -> Entry | None:
    """Give one process; None when it has ended, a zombie included."""
    if pid <= 0:
        return None
    return _proc_entry(pid) if has_proc() else next(read_ps(pid), None)


def survey(since: str = "") -> Survey:
    """Give all processes but this one.

    Where the system tells, those are left out that began before the process of the identity ``since``:
    they descend from others.
    """
    if not has_proc():
        return Survey(tuple(entry for entry in read_ps(None) if entry.pid != os.getpid()), frozenset())
    first = _start_of(since)
    entries: list[Entry] = []
    ended: set[int] = set()
    others = {int(name) for name in os.listdir(_PROC) if name.isdigit()} - {os.getpid()}
    for pid in others:
        fields = _stat_fields(pid)
        if fields is not None and int(fields[_START]) < first:
            continue
        if fields is None or fields[0] in _ENDED:
            ended.add(pid)
        else:
            entries.append(_entry(pid, fields))
    return Survey(tuple(entries), frozenset(ended))


def _start_of(identity: str) -> int:
    """Give the start within the life of this system, in its ticks; 0 where that is not known."""
    boot, _, ticks = identity.rpartition(":")
    return int(ticks) if boot == _boot_id() and ticks.isdigit() else 0


def read_environ(pid: int) -> list[bytes]:
    """Give the environment of a process, each as ``NAME=value``; empty where we may not read it."""
    tries = 0
    environ = _read(f"{_PROC}/{pid}/environ")
    while environ == b"" and tries < _tries_worth(pid):
        # It is just becoming another program, and its environment reads as empty meanwhile.
        tries += 1
        time.sleep(_EXEC_PAUSE_SECONDS)
        environ = _read(f"{_PROC}/{pid}/environ")
    return (environ or b"").split(b"\0")


def _tries_worth(pid: int) -> int:
    """Say how often to look again at an environment that reads as empty."""
    fields = _stat_fields(pid)
    if fields is None or fields[0] in _ENDED or int(fields[6]) & _KERNEL_THREAD:
        return 0
    start, end = fields[47], fields[48]
    # Equal bounds: it was given no environment, or is at the point where that is just being laid out.
    return _EMPTY_TRIES if start == end != b"0" else _EXEC_TRIES


def _proc_entry(pid: int) -> Entry | None:
    fields = _stat_fields(pid)
    return None if fields is None or fields[0] in _ENDED else _entry(pid, fields)


def _entry(pid: int, fields: list[bytes]) -> Entry:
    parent, group, session = map(int, fields[1:4])
    return Entry(pid, group, f"{_boot_id()}:{fields[_START].decode()}", parent, session)


def _stat_fields(pid: int) -> list[bytes] | None:
    """Give the fields of /proc/PID/stat from the third, the state, on; None for what is gone."""
    text = _read(f"{_PROC}/{pid}/stat")
    if not text:
        return None
    # The name in parentheses may hold anything, parentheses too: the numbers follow the last one.
    return text[text.rindex(b")") + 2 :].split()


@cache
def _boot_id() -> str:
    return (_read(f"{_PROC}/sys/kernel/random/boot_id") or b"boot").decode().strip()


def _read(path: str) -> bytes | None:
    """Give what a file of /proc holds; None when it is gone or not ours.

    Raises OSError when no file can be opened at all: nothing has ended because of that.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if is_exhausted(error):
            raise
        return None
    try:
        data = piece = os.read(descriptor, _PIECE_BYTES)
        while len(piece) == _PIECE_BYTES and len(data) < _MAX_BYTES:
            piece = os.read(descriptor, _PIECE_BYTES)
            data += piece
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data


def read_ps(pid: int | None) -> Iterator[Entry]:
    """Read one process or all of them from ``ps``; start times are to the second."""
    import subprocess  # noqa: PLC0415  # only where it must, and late

    which = ["-A"] if pid is None else ["-p", str(pid)]
    done = subprocess.run(
        ["ps", *which, "-o", "pid=,pgid=,ppid=,stat=,lstart="],  # noqa: S607  # a standard program of the system
        capture_output=True,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        check=False,
    )
    for line in done.stdout.decode(errors="replace").splitlines():
        number, group, parent, state, *start = line.split()
        if not state.startswith("Z"):
            yield Entry(int(number), int(group), "-".join(start), int(parent), 0)

"""A process that ends agents when the program that started them is gone, however that ended.

A line on its standard input reports the start of an agent, another one its end. At the end of the input it
kills the agents that are left.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from git_blackbird.agents.process import signals

_MODULE = "git_blackbird.agents.process.reaper"


class Reaper:
    """The process; one for each program whose agents must not outlive it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )

    @contextmanager
    def guarding(self, pid: int, identity: str, run_id: str, stop: Sequence[str] = ()) -> Iterator[None]:
        """Guard a process group and all of its run; ``stop`` is the command that ends what is no process."""
        self._send({"pid": pid, "identity": identity, "run": run_id, "stop": stop})
        try:
            yield
        finally:
            self._send({"run": run_id})

    def _send(self, what: dict[str, object]) -> None:
        assert self._process.stdin is not None  # noqa: S101  # a pipe was asked for
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(what).encode() + b"\n")

    def close(self) -> None:
        assert self._process.stdin is not None  # noqa: S101  # as above
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    guarded: dict[str, tuple[int, str, list[str]]] = {}
    for line in sys.stdin:
        told = json.loads(line)
        guarded.pop(told["run"], None)
        if "pid" in told:
            guarded[told["run"]] = told["pid"], told["identity"], told["stop"]
    for run_id, (pid, identity, stop) in guarded.items():
        signals.stop_tree(pid, run_id, identity=identity, grace_seconds=0)
        signals.run_stop_command(stop)


if __name__ == "__main__":
    os.chdir("/")
    main()

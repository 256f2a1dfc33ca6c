"""A process that ends agents when the one that started them is gone, however that ended.

It is told of each agent by a line of its standard input, and of its end by another. At the end of the input
it kills what is left.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
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
    def guarding(self, pid: int, identity: str, run_id: str) -> Iterator[None]:
        """See to it that a process group does not outlive this program, nor what else belongs to its run."""
        self._tell({"pid": pid, "identity": identity, "run": run_id})
        try:
            yield
        finally:
            self._tell({"run": run_id})

    def _tell(self, what: dict[str, object]) -> None:
        assert self._process.stdin is not None  # noqa: S101  # a pipe was asked for
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(what).encode() + b"\n")

    def close(self) -> None:
        """End it; what it still guards is killed."""
        assert self._process.stdin is not None  # noqa: S101  # as above
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Guard until the end of standard input."""
    guarded: dict[str, tuple[int, str]] = {}
    for line in sys.stdin:
        told = json.loads(line)
        guarded.pop(told["run"], None)
        if "pid" in told:
            guarded[told["run"]] = told["pid"], told["identity"]
    for run_id, (pid, identity) in guarded.items():
        signals.stop_tree(pid, run_id, identity=identity, grace_seconds=0)


if __name__ == "__main__":
    os.chdir("/")
    main()

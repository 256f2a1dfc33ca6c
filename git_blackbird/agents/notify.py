"""Start the user's notification command without waiting for it."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from git_blackbird.agents.notify_worker import NO_FOLDER, TIMED_OUT

_PROGRAM = Path(__file__).with_name("notify_worker.py")
_SIGNALLED = 128


class NotifyProcess:
    """A notification command in progress; nobody waits for it."""

    def __init__(self, process: subprocess.Popen[bytes] | None, cwd: Path, seconds: float) -> None:
        self._process = process
        self._cwd = cwd
        self._seconds = seconds

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def fault(self) -> str | None:
        """The error, after it has ended."""
        if self._process is None:
            return "it cannot be started"
        code = self._process.poll()
        if code is None or code == 0:
            return None
        if code == NO_FOLDER:
            return f"cannot work in {self._cwd}"
        if code == TIMED_OUT:
            return f"it was still running after {self._seconds:g} s"
        return f"signal {code - _SIGNALLED}" if code > _SIGNALLED else f"exit status {code}"

    def wait(self, seconds: float) -> None:
        """Wait for its end for at most so many seconds."""
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return


def start_notification(
    command: str, *, cwd: Path, environ: Mapping[str, str], seconds: float
) -> NotifyProcess:
    """Start ``command`` through sh in its own session without input or output, for at most ``seconds``.

    The limit holds even if this process has ended. Never raises: an error is in ``fault``.
    """
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM), command, str(cwd), f"{seconds:g}"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        process = None
    return NotifyProcess(process, cwd, seconds)

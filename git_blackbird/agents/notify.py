"""Starts the command that tells a person that they are needed, and lets it be."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from git_blackbird.agents.notifier import NO_FOLDER, TIMED_OUT

_PROGRAM = Path(__file__).with_name("notifier.py")
_SIGNALLED = 128


class Notification:
    """One command that was started; nobody waits for it."""

    def __init__(self, process: subprocess.Popen[bytes] | None, cwd: Path, seconds: float) -> None:
        self._process = process
        self._cwd = cwd
        self._seconds = seconds

    @property
    def is_running(self) -> bool:
        """Whether it is still at work."""
        return self._process is not None and self._process.poll() is None

    @property
    def fault(self) -> str | None:
        """What went wrong, once it has ended."""
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
        """Wait for its end, at most so long."""
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return


def start_notification(
    command: str, *, cwd: Path, environ: Mapping[str, str], seconds: float
) -> Notification:
    """Start ``command`` through sh in a session of its own, deaf and dumb, for at most ``seconds``.

    It is stopped after that also when this process has ended. Never raises: what is wrong is its ``fault``.
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
    return Notification(process, cwd, seconds)

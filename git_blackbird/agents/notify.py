"""Start the user's notification command without waiting for it.

The command runs below a process of its own, for which this file is the program (standard library only): its
time limit holds even if the process that started it has ended.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

TIMED_OUT = 124
NO_FOLDER = 123
_SIGNALLED = 128


def main(command: str, folder: str, seconds: str) -> int:
    """Run a command through sh with a time limit; return its exit status, as a shell would report it."""
    try:
        process = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, start_new_session=True)
    except OSError:
        return NO_FOLDER
    try:
        code = process.wait(float(seconds))
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return TIMED_OUT
    return code if code >= 0 else 128 - code


class NotifyProcess:
    """A notification command in progress; nobody waits for it."""

    def __init__(self, process: subprocess.Popen[bytes] | None, cwd: Path, seconds: float) -> None:
        self._process = process
        self._cwd = cwd
        self._seconds = seconds

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def fault(self) -> str | None:
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
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return


def start_notification(
    command: str, *, cwd: Path, environ: Mapping[str, str], seconds: float
) -> NotifyProcess:
    """Start ``command`` through sh for at most ``seconds``, even if this process ends. Never raises."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", __file__, command, str(cwd), f"{seconds:g}"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        process = None
    return NotifyProcess(process, cwd, seconds)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

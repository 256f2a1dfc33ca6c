"""Run one command through sh with a time limit; a separate program, standard library only.

It outlives the process that started it, so that the limit holds even then.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

TIMED_OUT = 124
NO_FOLDER = 123


def main(command: str, folder: str, seconds: str) -> int:
    """Run the command; return its exit status, as a shell would report it."""
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

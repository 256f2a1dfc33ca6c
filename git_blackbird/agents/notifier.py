"""Runs one command through sh and stops it when its time is up: a program of its own, standard library only.

Outlives who started it: the limit holds also when that has ended meanwhile.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

TIMED_OUT = 124
NO_FOLDER = 123


def main(command: str, folder: str, seconds: str) -> int:
    """Run the command; gives its exit status, as a shell would tell it."""
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

"""Queries of the system's process table."""

import os
import subprocess
import time
from functools import cache
from pathlib import Path

import psutil

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
_EXEC_TRIES = 200
_EMPTY_TRIES = 25
_EXEC_PAUSE_SECONDS = 0.001


def find_identity(pid: int) -> str | None:
    """Return an identity that survives reuse of the process id; None if it has ended or is a zombie."""
    try:
        if pid <= 0 or psutil.Process(pid).status() in _ENDED:
            return None
        return f"{_boot_id()}:{_start_ticks(pid)}" if psutil.LINUX else start_from_ps(pid)
    except (psutil.Error, FileNotFoundError):
        return None


def _start_ticks(pid: int) -> int:
    """Return the ticks from boot to the start of a process, which setting the clock does not change."""
    while True:
        boot_time = psutil.boot_time()
        ticks = round((psutil.Process(pid).create_time() - boot_time) * _TICKS_PER_SECOND)
        # psutil adds the boot time, which changes with the clock.
        if psutil.boot_time() == boot_time:
            return ticks


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start_from_ps(pid: int) -> str | None:
    """Return the start time of a process in seconds; psutil shifts it on macOS when the clock is set."""
    done = subprocess.run(
        ["ps", "-p", str(pid), "-o", "lstart="],  # noqa: S607  # a standard program of the system
        capture_output=True,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        check=False,
    )
    return "-".join(done.stdout.decode(errors="replace").split()) or None


def list_descendants(pid: int) -> set[int]:
    """Return the ids of a process's descendants; none once it has ended."""
    try:
        return {process.pid for process in psutil.Process(pid).children(recursive=True)}
    except (psutil.Error, FileNotFoundError):
        return set()


def read_environ(pid: int) -> dict[str, str]:
    """Return the environment of a process; empty if it may not be read.

    Raises psutil.NoSuchProcess if it has ended, a zombie included.
    """
    process = psutil.Process(pid)
    try:
        environ = process.environ()
        tries = 0
        while not environ and tries < _tries_worth(process):
            # An exec is in progress, during which the environment reads as empty.
            tries += 1
            time.sleep(_EXEC_PAUSE_SECONDS)
            environ = process.environ()
    except psutil.AccessDenied:
        return {}
    return environ


def _tries_worth(process: psutil.Process) -> int:
    """Return how often to retry reading an environment that is empty.

    Raises psutil.NoSuchProcess if the process has ended.
    """
    if process.status() in _ENDED:
        raise psutil.ZombieProcess(process.pid)
    # Without arguments an exec is in progress; with them the environment most likely is empty.
    return _EMPTY_TRIES if process.cmdline() else _EXEC_TRIES

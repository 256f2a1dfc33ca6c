"""Processes by number and start: whether they live, which belong to a run, and stopping them all.

A number alone names nothing for long: every question and every signal here goes with the identity
that the process had when its number was noted.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from git_blackbird.agents.environment import RUN_ID_VARIABLE

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEFTOVER_GRACE_SECONDS = 1.0
_PROC = "/proc"
_ENVIRON_BYTES = 4 * 1024 * 1024
_POLL_SECONDS = 0.02
_KILL_ROUNDS = 10


@dataclass(frozen=True)
class _Entry:
    pid: int
    group: int
    identity: str


def identity(pid: int) -> str | None:
    """Name this very process across reboots and reuse of its number; None when it has ended."""
    entry = _entry(pid)
    return entry.identity if entry else None


def is_alive(pid: int, known_identity: str) -> bool:
    """Whether the process that had this number and identity still runs."""
    return identity(pid) == known_identity


def marked(run_id: str) -> list[int]:
    """Give our live processes that carry this run's id in their environment; none where /proc is not."""
    if not run_id or not _has_proc():
        return []
    mark = f"\0{RUN_ID_VARIABLE}={run_id}\0".encode()
    return [pid for pid in _numbers() if _carries(pid, mark)]


def relatives(group: int | None, run_id: str) -> dict[int, str]:
    """Give what lives of a process group and of a run, by number with identity; never ourselves."""
    found = {entry.pid: entry.identity for entry in _entries() if entry.group == group} if group else {}
    for pid in marked(run_id):
        who = identity(pid)
        if who is not None:
            found[pid] = who
    found.pop(os.getpid(), None)
    return found


def signal_process(pid: int, known_identity: str, number: signal.Signals) -> bool:
    """Signal one process if it still is the one meant; says whether it was."""
    if pid <= 1 or pid == os.getpid() or not is_alive(pid, known_identity):
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        return True
    return False


def signal_group(pid: int, known_identity: str, number: signal.Signals) -> bool:
    """Signal the group that this process leads, or it alone when it leads none or ours."""
    if pid <= 1 or pid == os.getpid() or not is_alive(pid, known_identity):
        return False
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) != pid or os.getpgrp() == pid:
            return signal_process(pid, known_identity, number)
        os.killpg(pid, number)
        return True
    return False


def stop_tree(pid: int, run_id: str, *, identity: str | None, grace_seconds: float) -> int:
    """Stop a run's process, its group, and whatever else carries the run's id; gives how many there were.

    SIGINT, a grace, SIGTERM, a grace, SIGKILL. A process that no longer has ``identity`` is left
    alone; then only what carries the run's id is stopped.
    """
    leads = identity is not None and is_alive(pid, identity)
    known = relatives(pid if leads else None, run_id)
    if identity is not None and leads:
        known.setdefault(pid, identity)
        for number in STOP_SIGNALS:
            if not signal_group(pid, identity, number) or _ends({pid: identity}, grace_seconds):
                break
    return stop_leftovers(known, run_id, grace_seconds=grace_seconds)


def stop_leftovers(known: dict[int, str], run_id: str, *, grace_seconds: float) -> int:
    """Stop these processes and whatever carries the run's id: SIGTERM, a grace, SIGKILL.

    Gives how many processes there were in all, those in ``known`` that had ended before included.
    """
    met = known | relatives(None, run_id)
    number = signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL
    for _ in range(_KILL_ROUNDS):
        alive = _signal_all(met, number)
        if alive:
            _ends(alive, grace_seconds if number is signal.SIGTERM else LEFTOVER_GRACE_SECONDS)
        fresh = relatives(None, run_id)
        met |= fresh
        if not fresh and not _living(met):
            break
        number = signal.SIGKILL
    return len(met)


def _signal_all(processes: dict[int, str], number: signal.Signals) -> dict[int, str]:
    return {pid: who for pid, who in processes.items() if signal_process(pid, who, number)}


def _living(processes: dict[int, str]) -> dict[int, str]:
    return {pid: who for pid, who in processes.items() if is_alive(pid, who)}


def _ends(processes: dict[int, str], seconds: float) -> bool:
    """Wait until none of these lives, at most so long; says whether it came to that."""
    deadline = time.monotonic() + seconds
    while _living(processes):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _has_proc() -> bool:
    return os.path.exists(f"{_PROC}/self/stat")  # noqa: PTH110  # asked for every process of the system


def _numbers() -> Iterator[int]:
    for name in os.listdir(_PROC):
        if name.isdigit():
            yield int(name)


def _entry(pid: int) -> _Entry | None:
    if pid <= 0:
        return None
    return _proc_entry(pid) if _has_proc() else next(_ps_entries(pid), None)


def _entries() -> Iterator[_Entry]:
    if not _has_proc():
        yield from _ps_entries(None)
        return
    for pid in _numbers():
        entry = _proc_entry(pid)
        if entry is not None:
            yield entry


def _proc_entry(pid: int) -> _Entry | None:
    text = _read(f"{_PROC}/{pid}/stat")
    if not text:
        return None
    # The name in parentheses may hold anything, parentheses too: the numbers follow the last one.
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in {b"Z", b"X"}:
        return None
    return _Entry(pid, int(fields[2]), f"{_boot_id()}:{fields[19].decode()}")


@cache
def _boot_id() -> str:
    return _read(f"{_PROC}/sys/kernel/random/boot_id").decode().strip() or "boot"


def _carries(pid: int, mark: bytes) -> bool:
    folder = f"{_PROC}/{pid}"
    try:
        if pid == os.getpid() or os.stat(folder).st_uid != os.geteuid():  # noqa: PTH116  # as above
            return False
    except OSError:
        return False
    return mark in b"\0" + _read(f"{folder}/environ") + b"\0"


def _read(path: str) -> bytes:
    """Give what a file of /proc holds; b"" when it is gone, not ours, or empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _ENVIRON_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _ps_entries(pid: int | None) -> Iterator[_Entry]:
    """Read the process table where there is no /proc; start times to the second."""
    import subprocess  # noqa: PLC0415  # only where it must, and late

    which = ["-A"] if pid is None else ["-p", str(pid)]
    done = subprocess.run(
        ["ps", *which, "-o", "pid=,pgid=,stat=,lstart="],  # noqa: S607  # a standard program of the system
        capture_output=True,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        check=False,
    )
    for line in done.stdout.decode(errors="replace").splitlines():
        number, group, state, *start = line.split()
        if not state.startswith("Z"):
            yield _Entry(int(number), int(group), "-".join(start))

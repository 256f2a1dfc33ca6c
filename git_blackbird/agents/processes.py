"""Processes by number and start: whether they live, which belong to a run, and stopping them all.

A number alone names nothing for long: every question and every signal here goes with the identity
that the process had when its number was noted.
"""

import os
import signal
import time
from contextlib import suppress

from git_blackbird.agents.environment import RUN_ID_VARIABLE
from git_blackbird.agents.process_table import find_process, is_marked, survey

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEFTOVER_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_KILL_ROUNDS = 10
_SURVEYS = 3


def identity(pid: int) -> str | None:
    """Name this very process across reboots and reuse of its number; None when it has ended."""
    entry = find_process(pid)
    return entry.identity if entry else None


def is_alive(pid: int, known_identity: str) -> bool:
    """Whether the process that had this number and identity still runs."""
    return identity(pid) == known_identity


def marked(run_id: str) -> list[int]:
    """Give our live processes that carry this run's id in their environment; none where /proc is not."""
    return sorted(relatives(None, run_id))


def relatives(group: int | None, run_id: str, first: str = "") -> dict[int, str]:
    """Give what lives of a process group and of a run, by number with identity; never ourselves.

    ``first`` is the identity of the process that all of them descend from, where it is known.
    """
    mark = f"{RUN_ID_VARIABLE}={run_id}".encode() if run_id else None
    found: dict[int, str] = {}
    known_to_have_ended = {group}
    for _ in range(_SURVEYS):
        seen = survey(first)
        for entry in seen.entries:
            if entry.group == group or (mark is not None and is_marked(entry.pid, mark)):
                found[entry.pid] = entry.identity
        if found or seen.ended <= known_to_have_ended:
            break
        known_to_have_ended |= seen.ended
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

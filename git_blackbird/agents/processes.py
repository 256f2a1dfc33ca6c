"""Processes by number and start: whether they live, which belong to a run, and stopping them all.

A number alone names nothing for long: every question and every signal here goes with the identity
that the process had when its number was noted.
"""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from git_blackbird.agents.environment import RUN_FOLDER_PREFIX, RUN_ID_VARIABLE, TMP_FOLDER
from git_blackbird.agents.process_table import Entry, find_process, read_environ, survey

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
    """Give our live processes that carry this run's mark in their environment; none where /proc is not."""
    return sorted(relatives(None, run_id))


def relatives(leader: int | None, run_id: str, first: str = "") -> dict[int, str]:
    """Give what lives of a run, by number with identity; never ourselves.

    That is what descends from its ``leader``, is in the group or session that this leads, or carries the
    run's mark. ``first`` is the identity of the process that all of them descend from, where it is known.
    """
    found: dict[int, str] = {}
    known_to_have_ended = {leader}
    for _ in range(_SURVEYS):
        seen = survey(first)
        below = _descendants(leader, seen.entries) if leader is not None else set()
        for entry in seen.entries:
            is_led = entry.pid in below or leader in (entry.group, entry.session)
            if is_led or (run_id and _is_marked(entry.pid, run_id)):
                found[entry.pid] = entry.identity
        if found or seen.ended <= known_to_have_ended:
            break
        known_to_have_ended |= seen.ended
    return found


def _descendants(leader: int, entries: Iterable[Entry]) -> set[int]:
    """Number what descends from a process; what outlived its own parent descends from it no more."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in entries:
        children[entry.parent].append(entry.pid)
    found: set[int] = set()
    pending = [leader]
    while pending:
        fresh = [pid for pid in children[pending.pop()] if pid not in found]
        found.update(fresh)
        pending += fresh
    return found - {os.getpid()}


def _is_marked(pid: int, run_id: str) -> bool:
    """Whether a process has the run's id in its environment, or the temporary folder that is named by it."""
    mark = f"{RUN_ID_VARIABLE}={run_id}".encode()
    # Of a run inside of another one, the folder lies in the outer one's.
    folder = f"/{RUN_FOLDER_PREFIX}{run_id}/{TMP_FOLDER}".encode()
    return any(
        entry == mark or (entry.startswith(b"TMPDIR=") and entry.endswith(folder))
        for entry in read_environ(pid)
    )


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

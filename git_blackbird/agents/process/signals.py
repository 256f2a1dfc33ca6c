"""Find the processes of a run and stop them, identified by process id and start time.

Process ids are reused: every query and every signal here uses the identity recorded with the id.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEFTOVER_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_STOP_COMMAND_SECONDS = 30.0
_KILL_ROUNDS = 10
_SURVEYS = 3


def identity(pid: int) -> str | None:
    """Return an identity that survives reuse of the process id and reboots; None if the process has ended."""
    from git_blackbird.agents.process.table import find_identity  # loads psutil

    return find_identity(pid)


def is_alive(pid: int, known_identity: str) -> bool:
    return identity(pid) == known_identity


def marked(run_id: str) -> list[int]:
    return sorted(related_processes(None, run_id))


def related_processes(leader: int | None, run_id: str) -> dict[int, str]:
    """Return the live processes of a run, by id with identity, except this one.

    These are the descendants of its ``leader``, members of its group or session, and what has the run's mark.
    """
    from git_blackbird.agents.process.table import survey  # loads psutil

    known_to_have_ended = {leader}
    for _ in range(_SURVEYS):
        processes, ended = survey(leader, run_id)
        # A process that ended after the listing may have left a child that is in neither.
        if processes or ended <= known_to_have_ended:
            return processes
        known_to_have_ended |= ended
    return {}


def signal_process(pid: int, known_identity: str, number: signal.Signals) -> bool:
    """Signal one process if its identity matches; return whether it did."""
    if pid <= 1 or pid == os.getpid() or not is_alive(pid, known_identity):
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        return True
    return False


def signal_group(pid: int, known_identity: str, number: signal.Signals) -> bool:
    """Signal the group that this process leads, or it alone if it leads none or ours."""
    if pid <= 1 or pid == os.getpid() or not is_alive(pid, known_identity):
        return False
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) != pid or os.getpgrp() == pid:
            return signal_process(pid, known_identity, number)
        os.killpg(pid, number)
        return True
    return False


def stop_tree(pid: int, run_id: str, *, identity: str | None, grace_seconds: float) -> int:
    """Stop a run's process, its group, and all with the run's id, by ever stronger signals.

    Return their number. Without ``identity`` the process is left alone.
    """
    is_leader = identity is not None and is_alive(pid, identity)
    known = related_processes(pid if is_leader else None, run_id)
    if identity is not None and is_leader:
        known.setdefault(pid, identity)
        for number in STOP_SIGNALS:
            if not signal_group(pid, identity, number) or _wait_for_end({pid: identity}, grace_seconds):
                break
    return kill_orphans(known, run_id, grace_seconds=grace_seconds)


def kill_orphans(known: dict[int, str], run_id: str, *, grace_seconds: float) -> int:
    """Stop these and all of the run: SIGTERM, a grace, SIGKILL. Return how many, ended ones included."""
    targets = known | related_processes(None, run_id)
    number = signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL
    for _ in range(_KILL_ROUNDS):
        alive = {pid: identity for pid, identity in targets.items() if signal_process(pid, identity, number)}
        if alive:
            _wait_for_end(alive, grace_seconds if number is signal.SIGTERM else LEFTOVER_GRACE_SECONDS)
        fresh = related_processes(None, run_id)
        targets |= fresh
        if not fresh and not _any_alive(targets):
            break
        number = signal.SIGKILL
    return len(targets)


def run_stop_command(command: Sequence[str]) -> str | None:
    """Run the command that ends what is no process of ours; return why it could not be run."""
    if not command:
        return None
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_STOP_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"execution.wrapperStop did not run, and what it is to end may be at work: {error}"
    return None


def _any_alive(processes: dict[int, str]) -> bool:
    return any(is_alive(pid, identity) for pid, identity in processes.items())


def _wait_for_end(processes: dict[int, str], seconds: float) -> bool:
    """Wait until none of these lives, for at most so many seconds; return whether they ended."""
    deadline = time.monotonic() + seconds
    while _any_alive(processes):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True

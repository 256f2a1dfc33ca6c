"""Find the processes of a run and stop them, identified by process id and start time.

Process ids are reused: every query and every signal here uses the identity recorded with the id.
"""

import os
import signal
import time
from contextlib import suppress

from git_blackbird.agents.environment import RUN_FOLDER_PREFIX, RUN_ID_VARIABLE, TMP_FOLDER

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEFTOVER_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_KILL_ROUNDS = 10
_SURVEYS = 3
# The group and session of kernel threads, and of no process of a run.
_KERNEL = (0, 0)


def identity(pid: int) -> str | None:
    """Return an identity that survives reuse of the process id and reboots; None if the process has ended."""
    from git_blackbird.agents.process.table import find_identity  # noqa: PLC0415  # loads psutil

    return find_identity(pid)


def is_alive(pid: int, known_identity: str) -> bool:
    """Whether the process with this id and identity still runs."""
    return identity(pid) == known_identity


def marked(run_id: str) -> list[int]:
    """Return our live processes that have this run's mark in their environment."""
    return sorted(related_processes(None, run_id))


def related_processes(leader: int | None, run_id: str) -> dict[int, str]:
    """Return the live processes of a run, by id with identity, except this one.

    These are the descendants of its ``leader``, the members of its group or session, and processes with the
    run's mark.
    """
    found: dict[int, str] = {}
    known_to_have_ended = {leader}
    for _ in range(_SURVEYS):
        found, ended = _survey(leader, run_id)
        # A process that ended after the listing may have left a child that is in neither.
        if found or ended <= known_to_have_ended:
            break
        known_to_have_ended |= ended
    return found


def _survey(leader: int | None, run_id: str) -> tuple[dict[int, str], set[int]]:
    """Inspect every process once: return those of the run with their identity, and those that had ended."""
    import psutil  # noqa: PLC0415  # most readers do not need it

    from git_blackbird.agents.process import table  # noqa: PLC0415  # loads psutil

    below = set() if leader is None else table.list_descendants(leader)
    found: dict[int, str] = {}
    ended: set[int] = set()
    for pid in set(psutil.pids()) - {os.getpid()}:
        try:
            leaders = os.getpgid(pid), os.getsid(pid)
            is_led = pid in below or leader in leaders
            if not is_led and (leaders == _KERNEL or not _has_env(pid, run_id)):
                continue
        except PermissionError:
            continue
        except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            ended.add(pid)
            continue
        if who := table.find_identity(pid):
            found[pid] = who
        else:
            ended.add(pid)
    return found, ended


def _has_env(pid: int, run_id: str) -> bool:
    """Whether a process has the run's id, or the temporary folder named after it, in its environment."""
    from git_blackbird.agents.process.table import read_environ  # noqa: PLC0415  # loads psutil

    environ = read_environ(pid) if run_id else {}
    # For a nested run, the folder lies in that of the outer one.
    folder = f"/{RUN_FOLDER_PREFIX}{run_id}/{TMP_FOLDER}"
    return environ.get(RUN_ID_VARIABLE) == run_id or environ.get("TMPDIR", "").endswith(folder)


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
    """Stop a run's process, its group, and all processes with the run's id; return their number.

    SIGINT, a grace, SIGTERM, a grace, SIGKILL. A process without ``identity`` is left alone; then only those
    with the run's id are stopped.
    """
    leads = identity is not None and is_alive(pid, identity)
    known = related_processes(pid if leads else None, run_id)
    if identity is not None and leads:
        known.setdefault(pid, identity)
        for number in STOP_SIGNALS:
            if not signal_group(pid, identity, number) or _ends({pid: identity}, grace_seconds):
                break
    return kill_orphans(known, run_id, grace_seconds=grace_seconds)


def kill_orphans(known: dict[int, str], run_id: str, *, grace_seconds: float) -> int:
    """Stop these processes and all with the run's id: SIGTERM, a grace, SIGKILL.

    Return the number of processes, including those in ``known`` that had ended before.
    """
    met = known | related_processes(None, run_id)
    number = signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL
    for _ in range(_KILL_ROUNDS):
        alive = _signal_all(met, number)
        if alive:
            _ends(alive, grace_seconds if number is signal.SIGTERM else LEFTOVER_GRACE_SECONDS)
        fresh = related_processes(None, run_id)
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
    """Wait until none of these lives, for at most so many seconds; return whether they ended."""
    deadline = time.monotonic() + seconds
    while _living(processes):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True

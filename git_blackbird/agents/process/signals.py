"""Find the processes of a run and stop them, identified by process id and start time.

Process ids are reused: every query and every signal here uses the identity recorded with the id. psutil is
slow to load, and imported once a process is looked for.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX, RUN_ID_VARIABLE, TMP_FOLDER
from git_blackbird.model.base.system import boot_id

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LEFTOVER_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_STOP_COMMAND_SECONDS = 30.0
_KILL_ROUNDS = 10
_SURVEYS = 3
# As psutil names the statuses of a zombie and of a dead process.
_ENDED = ("zombie", "dead")
# As Linux does, and where after the name of a process its start is.
_ENDED_STATES = (b"Z", b"X", b"x")
_START_FIELD = 19
# Of kernel threads, and of no process of a run.
_KERNEL_GROUP = 0
_EXEC_TRIES = 200
_EMPTY_TRIES = 25
_EXEC_PAUSE_SECONDS = 0.001
_PIECE_BYTES = 65_536

# Processes by the inodes of their folders, which no other process has or had.
Processes = frozenset[int]


def identity(pid: int) -> str | None:
    """Return an identity that survives reuse of the process id and reboots.

    None for an ended process or a zombie.
    """
    import psutil

    try:
        if not psutil.LINUX:
            is_live = pid > 0 and psutil.Process(pid).status() not in _ENDED
            return start_from_ps(pid) if is_live else None
        # psutil adds the time of boot, which setting the clock changes, to the ticks since then.
        content = _content(f"{psutil.PROCFS_PATH}/{pid}/stat")
    except (psutil.Error, OSError):
        return None
    # A name in brackets, in which anything may be, comes before.
    fields = content[content.rindex(b")") + 2 :].split()
    return None if fields[0] in _ENDED_STATES else f"{boot_id()}:{fields[_START_FIELD].decode()}"


def start_from_ps(pid: int) -> str | None:
    """Return the start time of a process in seconds; psutil shifts it on macOS when the clock is set."""
    completed = subprocess.run(
        ["ps", "-p", str(pid), "-o", "lstart="],  # noqa: S607  # a standard program of the system
        capture_output=True,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        check=False,
    )
    return "-".join(completed.stdout.decode(errors="replace").split()) or None


def is_alive(pid: int, known_identity: str) -> bool:
    return identity(pid) == known_identity


def marked(run_id: str) -> list[int]:
    return sorted(related_processes(None, run_id))


def seen_processes() -> Processes:
    """Return the processes of the latest listing, which no later one has started.

    Empty where that cannot be told.
    """
    import psutil

    return frozenset(_latest or _list_processes() if psutil.LINUX else ())


# By the inodes of their folders: listing them takes longer than to look at the few that came since.
_latest: dict[int, str] = {}


def _list_processes() -> dict[int, str]:
    global _latest  # noqa: PLW0603  # the processes are those of one machine
    import psutil

    with os.scandir(psutil.PROCFS_PATH) as entries:
        listed = {entry.inode(): entry.name for entry in entries}
    # Another thread may put an older listing there, in which a process of the caller's is missing.
    _latest = listed
    return listed


def _pids(earlier: Processes) -> set[int]:
    """Return the ids of the processes there are, but for this one and those that were there ``earlier``."""
    import psutil

    if not psutil.LINUX:
        return {*psutil.pids()} - {os.getpid()}
    later = (name for inode, name in _list_processes().items() if inode not in earlier)
    return {int(name) for name in later if name.isdecimal()} - {os.getpid()}


def related_processes(leader: int | None, run_id: str, earlier: Processes = frozenset()) -> dict[int, str]:
    """Return the live processes of a run, by id with identity, except this one.

    These are the descendants of its ``leader``, members of its group or session, and what has the run's mark,
    but for those that were there ``earlier``, before the leader.
    """
    known_to_have_ended = {leader}
    for _ in range(_SURVEYS):
        processes, ended = _survey(leader, run_id, earlier)
        # A process that ended after the listing may have left a child that is in neither.
        if processes or ended <= known_to_have_ended:
            return processes
        known_to_have_ended |= ended
    return {}


def _survey(leader: int | None, run_id: str, earlier: Processes) -> tuple[dict[int, str], set[int]]:
    """Inspect every process once: return those of the run with their identity, and those that had ended."""
    import psutil

    descendants: set[int] = set()
    # Once it has ended, they are another's.
    with suppress(psutil.Error, FileNotFoundError):
        if leader is not None and identity(leader) is not None:
            descendants = {child.pid for child in psutil.Process(leader).children(recursive=True)}
    processes: dict[int, str] = {}
    ended: set[int] = set()
    for pid in _pids(earlier):
        try:
            group = os.getpgid(pid)
            is_led = pid in descendants or leader in {group, os.getsid(pid) if group else 0}
            if not is_led and (group == _KERNEL_GROUP or not _is_marked(pid, run_id)):
                continue
        except PermissionError:
            continue
        except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            ended.add(pid)
            continue
        if known_identity := identity(pid):
            processes[pid] = known_identity
        else:
            ended.add(pid)
    return processes, ended


def _is_marked(pid: int, run_id: str) -> bool:
    """Whether a process has the run's id, or the temporary folder named after it, in its environment.

    Raises psutil.NoSuchProcess.
    """
    if not run_id:
        return False
    import psutil

    # Cheap, as few processes belong to the run. Missing or empty, the file alone does not tell.
    with suppress(OSError):
        raw = _content(f"{psutil.PROCFS_PATH}/{pid}/environ")
        if raw and run_id.encode() not in raw:
            return False
    try:
        process = psutil.Process(pid)
        environ, tries = process.environ(), 0
        while not environ:
            if process.status() in _ENDED:
                raise psutil.ZombieProcess(pid)
            # During an exec there are no arguments yet; with them the environment most likely is empty.
            if tries >= (_EMPTY_TRIES if process.cmdline() else _EXEC_TRIES):
                break
            tries += 1
            time.sleep(_EXEC_PAUSE_SECONDS)
            environ = process.environ()
    except psutil.AccessDenied:
        return False
    # For a nested run, the folder lies in that of the outer one. A number follows where the name was taken.
    *_, folder, below = ("", "", *environ.get("TMPDIR", "").split("/"))
    is_in_folder = below == TMP_FOLDER and folder.partition(".")[0] == f"{RUN_FOLDER_PREFIX}{run_id}"
    return environ.get(RUN_ID_VARIABLE) == run_id or is_in_folder


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(descriptor, _PIECE_BYTES), b""))
    finally:
        os.close(descriptor)


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

"""Queries of the system's process table."""

import os
import subprocess
import time

import psutil

from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX, RUN_ID_VARIABLE, TMP_FOLDER
from git_blackbird.model.base.system import boot_id

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
# The group and session of kernel threads, and of no process of a run.
_KERNEL = (0, 0)
_EXEC_TRIES = 200
_EMPTY_TRIES = 25
_EXEC_PAUSE_SECONDS = 0.001


def find_identity(pid: int) -> str | None:
    """Return an identity that survives reuse of the process id; None for an ended process or a zombie."""
    try:
        if pid <= 0 or psutil.Process(pid).status() in _ENDED:
            return None
        return f"{boot_id()}:{_start_ticks(pid)}" if psutil.LINUX else start_from_ps(pid)
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


def start_from_ps(pid: int) -> str | None:
    """Return the start time of a process in seconds; psutil shifts it on macOS when the clock is set."""
    completed = subprocess.run(
        ["ps", "-p", str(pid), "-o", "lstart="],  # noqa: S607  # a standard program of the system
        capture_output=True,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
        check=False,
    )
    return "-".join(completed.stdout.decode(errors="replace").split()) or None


def survey(leader: int | None, run_id: str) -> tuple[dict[int, str], set[int]]:
    """Inspect every process once: return those of the run with their identity, and those that had ended."""
    descendants = _list_descendants(leader)
    processes: dict[int, str] = {}
    ended: set[int] = set()
    for pid in set(psutil.pids()) - {os.getpid()}:
        try:
            leaders = os.getpgid(pid), os.getsid(pid)
            is_led = pid in descendants or leader in leaders
            if not is_led and (leaders == _KERNEL or not _is_marked(pid, run_id)):
                continue
        except PermissionError:
            continue
        except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            ended.add(pid)
            continue
        if identity := find_identity(pid):
            processes[pid] = identity
        else:
            ended.add(pid)
    return processes, ended


def _list_descendants(pid: int | None) -> set[int]:
    """Return the ids of a process's descendants; none once it has ended, when they are another's."""
    if pid is None:
        return set()
    try:
        process = psutil.Process(pid)
        if process.status() in _ENDED:
            return set()
        return {child.pid for child in process.children(recursive=True)}
    except (psutil.Error, FileNotFoundError):
        return set()


def _is_marked(pid: int, run_id: str) -> bool:
    """Whether a process has the run's id, or the temporary folder named after it, in its environment."""
    if not run_id or _has_no_mention(pid, run_id):
        return False
    environ = _read_environ(pid)
    # For a nested run, the folder lies in that of the outer one. A number follows where the name was taken.
    *_, folder, below = ("", "", *environ.get("TMPDIR", "").split("/"))
    is_in_folder = below == TMP_FOLDER and folder.partition(".")[0] == f"{RUN_FOLDER_PREFIX}{run_id}"
    return environ.get(RUN_ID_VARIABLE) == run_id or is_in_folder


def _has_no_mention(pid: int, run_id: str) -> bool:
    """Whether an environment does not mention a run; cheap, as few processes belong to the run.

    False if the file alone does not tell: if it is missing or empty.
    """
    try:
        with open(f"{psutil.PROCFS_PATH}/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123  # many
            environ = file.read()
    except OSError:
        return False
    return bool(environ) and run_id.encode() not in environ


def _read_environ(pid: int) -> dict[str, str]:
    """Return the environment of a process; empty if it may not be read.

    Raises psutil.NoSuchProcess if it has ended, a zombie included.
    """
    process = psutil.Process(pid)
    try:
        environ = process.environ()
        tries = 0
        while not environ and tries < _count_retries(process):
            # An exec is in progress, during which the environment reads as empty.
            tries += 1
            time.sleep(_EXEC_PAUSE_SECONDS)
            environ = process.environ()
    except psutil.AccessDenied:
        return {}
    return environ


def _count_retries(process: psutil.Process) -> int:
    """Return how often to retry reading an environment that is empty.

    Raises psutil.NoSuchProcess if the process has ended.
    """
    if process.status() in _ENDED:
        raise psutil.ZombieProcess(process.pid)
    # Without arguments an exec is in progress; with them the environment most likely is empty.
    return _EMPTY_TRIES if process.cmdline() else _EXEC_TRIES

"""Queries of the system's process table."""

import os
import subprocess
import time
from contextlib import suppress

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
        if not psutil.LINUX:
            return start_from_ps(pid)
        while True:
            # Setting the clock changes the boot time, which psutil adds, not the ticks from boot to start.
            boot_time = psutil.boot_time()
            ticks = round((psutil.Process(pid).create_time() - boot_time) * _TICKS_PER_SECOND)
            if psutil.boot_time() == boot_time:
                return f"{boot_id()}:{ticks}"
    except (psutil.Error, FileNotFoundError):
        return None


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
    descendants: set[int] = set()
    # Once it has ended, they are another's.
    with suppress(psutil.Error, FileNotFoundError):
        if leader is not None and (process := psutil.Process(leader)).status() not in _ENDED:
            descendants = {child.pid for child in process.children(recursive=True)}
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


def _is_marked(pid: int, run_id: str) -> bool:
    """Whether a process has the run's id, or the temporary folder named after it, in its environment.

    Raises psutil.NoSuchProcess.
    """
    if not run_id:
        return False
    # Cheap, as few processes belong to the run. Missing or empty, the file alone does not tell.
    with suppress(OSError), open(f"{psutil.PROCFS_PATH}/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123
        if (raw := file.read()) and run_id.encode() not in raw:
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

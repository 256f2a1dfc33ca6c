"""Taking an agent's process through its run: held at the gate, let go, followed to its end."""

import asyncio
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.agents.environment import RUN_FOLDER_PREFIX, child_environ
from git_blackbird.agents.process.launch import GatedProcess, spawn_gated
from git_blackbird.agents.process.logs import LogFiles, cut_saved
from git_blackbird.agents.process.supervise import Limits, ProcessResult
from git_blackbird.agents.protocol import Agent, RunRequest
from git_blackbird.controller.core.status_sync import new_run_id
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import head
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.entities.run import RECORDER, Run, RunStatus
from git_blackbird.model.views.events import RunOutput, RunProgress
from git_blackbird.storage.paths import Paths

_OWNER = "worktree"


@contextlib.contextmanager
def scratch_dir(paths: Paths, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; it says whose it is, so that it can be found after a crash.

    Raises UnusableError when it cannot be made.
    """
    folder = Path(tempfile.gettempdir(), f"{RUN_FOLDER_PREFIX}{run_id}")
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    try:
        (folder / _OWNER).write_bytes(os.fsencode(paths.private))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_scratch_dirs(paths: Paths) -> None:
    """Remove the folders that killed programs left of this worktree's runs.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{RUN_FOLDER_PREFIX}*"):
        if _owner(folder) == os.fsencode(paths.private):
            shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> bytes | None:
    try:
        return (folder / _OWNER).read_bytes()
    except OSError:
        return None


def remove_litter(top: Path, run: Run, names: Sequence[str]) -> None:
    """Remove the empty folders of these names that a killed agent left at the top of the worktree.

    Those made before the run began are someone else's, as is everything that is not empty.
    """
    for name in names:
        folder = top / name
        try:
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_mtime_ns >= parse_timestamp(run.started_at):
                folder.rmdir()
        except OSError:
            # Not there, or not empty.
            continue


_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class RunContext:
    """The context of a run: the worktree, the agent with its version, and the user interface.

    ``left_out`` grows with the paths that were named as not in a snapshot: each is named once a call.
    """

    workspace: Workspace
    agent: Agent
    version: str
    ui: UserInterface
    stops_after_each: bool
    left_out: set[str]


@dataclass(frozen=True)
class WorkingDir:
    """Where an agent works, the private folder of its run, and its variables beyond the usual ones."""

    cwd: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def spawn_agent(context: RunContext, assignment: RunRequest, post: WorkingDir) -> GatedProcess:
    """Start an agent's process at its gate; nothing of it is recorded yet, so nothing of it may work.

    Raises AgentUnavailableError, SaveError.
    """
    workspace, paths = context.workspace, context.workspace.paths
    task_id, run_id = TaskId(assignment.task_id), RunId(assignment.run_id)
    stdout, stderr = (paths.log(task_id, run_id, name) for name in ("stdout", "stderr"))
    paths.make_folder(stdout.parent)
    environ = child_environ(
        workspace.repo.environ,
        task_id=task_id,
        run_id=run_id,
        tmp_dir=post.folder / "tmp",
        extra=post.variables,
    )
    return spawn_gated(
        context.agent.launch(assignment, environ),
        cwd=post.cwd,
        environ=environ,
        logs=LogFiles(stdout, stderr, log_bytes(workspace)),
        work_dir=post.folder,
    )


def log_bytes(workspace: Workspace) -> int:
    """Return how many bytes of each stream of a run are kept."""
    return workspace.settings.number("execution.logMegabytes") * _MEGABYTE


def cut_logs(workspace: Workspace, run: Run) -> None:
    """Cut the logs of a run to their bound.

    Not before its record is saved: until that says how much was printed beyond it, the files alone do.
    """
    for name in ("stdout", "stderr"):
        cut_saved(workspace.paths.log(run.task_id, run.id, name), log_bytes(workspace))


def open_run(context: RunContext, task_id: TaskId, tree: str) -> Run:
    """Make the record of a run as it is before its agent works; ``tree`` is the worktree as it finds it."""
    workspace = context.workspace
    run_id, started = new_run_id(workspace, task_id)
    where = head(workspace.repo)
    return Run(
        id=run_id,
        task_id=task_id,
        provider=context.agent.name,
        started_at=started,
        status=RunStatus.RUNNING,
        recorder=RECORDER,
        agent_version=context.version or None,
        repo_root=str(workspace.repo.top),
        branch=where.branch,
        head_commit=where.commit,
        base_tree=tree,
    )


def record_then_start(child: GatedProcess, record: Callable[[], None], tell: Callable[[], None]) -> None:
    """Open the gate of an agent once its record is saved; without a record it never starts.

    Raises what these do, with nothing left running.
    """
    try:
        record()
        child.open_gate()
        tell()
    except BaseException:  # whatever it was, also an interrupt
        child.abandon()
        raise


async def supervise_agent(
    context: RunContext,
    assignment: RunRequest,
    child: GatedProcess,
    hurry: asyncio.Event,
    *,
    wall_seconds: float | None = None,
) -> ProcessResult:
    """Supervise a started agent to its end, notifying the user interface; cancelling stops the agent first.

    The end is given all the same, and says that it was interrupted. ``wall_seconds`` is a limit beside the
    configured ones.
    """
    settings = context.workspace.settings
    limits = Limits(
        wall_seconds=wall_seconds or 60.0 * settings.number("execution.timeoutMinutes"),
        idle_seconds=60.0 * settings.number("execution.idleMinutes"),
        grace_seconds=float(settings.number("execution.stopGraceSeconds")),
    )
    task_id, run_id, ui = TaskId(assignment.task_id), RunId(assignment.run_id), context.ui
    is_plain = not context.agent.abilities.prints_events
    try:
        return await child.follow(
            context.agent.parser(assignment),
            limits,
            on_progress=lambda step: ui.notify(RunProgress(task_id, run_id, step)),
            on_output=(
                lambda data, stream: ui.notify(RunOutput(task_id, run_id, data, stream, is_plain=is_plain))
            )
            if ui.wants_output
            else None,
            hurry=hurry,
        )
    except asyncio.CancelledError:
        if child.ended is None:
            raise
        return child.ended

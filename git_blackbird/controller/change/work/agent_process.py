"""Running an agent's process: it waits until its record is saved, then works and is followed to its end."""

import asyncio
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from git_blackbird.agents.environment import child_environ
from git_blackbird.agents.process.launch import (
    RESULT_GRACE_SECONDS,
    ChildRequest,
    GatedProcess,
    Limits,
    ProcessResult,
    spawn_gated,
)
from git_blackbird.agents.process.logs import LogFiles, cut_saved
from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX, Agent, RunRequest
from git_blackbird.controller.core.status_sync import new_run
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.parts import AgentFacts, Heads, LocalProcess, Own, RemoteProcess, Snapshots
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.events import RunOutput, RunProgress, RunStarted
from git_blackbird.storage.copies import move_log
from git_blackbird.storage.paths import Paths

_OWNER = "worktree"
_STREAMS = ("stdout", "stderr")


@contextlib.contextmanager
def scratch_dir(paths: Paths, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; it says whose it is, so that it can be found after a crash.

    Raises UnusableError when it cannot be made.
    """
    folder = Path(tempfile.gettempdir(), f"{RUN_FOLDER_PREFIX}{run_id}")
    try:
        new = Path(tempfile.mkdtemp(prefix=f"{RUN_FOLDER_PREFIX}new-"))
        (new / _OWNER).write_bytes(os.fsencode(paths.private))
        # It gets its name only with an owner, so that none is left that nobody may remove.
        new.rename(folder)
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    try:
        yield folder
    finally:
        _remove_tree(folder)


def _remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, read-only folders included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for place, names, _ in os.walk(folder):
            for inner in (Path(place, name) for name in names):
                if not inner.is_symlink():
                    with contextlib.suppress(OSError):
                        inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def sweep_scratch_dirs(paths: Paths) -> None:
    """Remove the folders that killed runs of this worktree left.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{RUN_FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is someone else's
            if (folder / _OWNER).read_bytes() == os.fsencode(paths.private):
                _remove_tree(folder)


def remove_litter(top: Path, run: Run, names: Sequence[str]) -> None:
    """Remove the empty folders of these names that a killed agent left at the top of the worktree.

    Those made before the run began are someone else's, as is everything that is not empty.
    """
    for name in names:
        folder = top / name
        with contextlib.suppress(OSError):  # not there, or not empty
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_mtime_ns >= parse_timestamp(run.started_at):
                folder.rmdir()


_MEGABYTE = 1024 * 1024


class Child(Protocol):
    """An agent that was started and waits for its record to be saved, here or on another machine.

    ``process`` says in the record where it is; it may be another once it has ended.
    """

    @property
    def pid(self) -> int | None:
        """Its process, if that is on this machine."""
        ...

    @property
    def process(self) -> LocalProcess | RemoteProcess:
        """What identifies it in the record."""
        ...

    def open_gate(self) -> None:
        """Let the agent begin."""
        ...

    def abandon(self) -> None:
        """End it before the agent has begun."""
        ...

    async def follow(self, request: ChildRequest) -> ProcessResult:
        """Follow it to its end."""
        ...


class OtherMachines(Protocol):
    """Machines on which agents can be started."""

    def version_of(self, agent: str) -> str:
        """Return the version of an agent there. Raises AgentUnavailableError where none has it."""
        ...

    def start(self, context: "RunContext", start: "AgentStart") -> Child:
        """Start an agent there. Raises AgentUnavailableError."""
        ...

    def is_machine_lost(self, run: Run) -> bool:
        """Whether the machine of a run was lost and is not back."""
        ...


@dataclass(frozen=True)
class RunContext:
    """Where and by whom a run is made; ``left_out`` are the paths named as not in a snapshot, once a call.

    ``worktree_base`` is the tree that the task's change begins with in a worktree of its own, None where the
    run is the first there, ``worktree_base_at`` when that was taken. ``begins`` is the snapshot that it
    begins with, where that needs no look. ``variables`` are what its agent is given beside the usual ones.
    ``elsewhere`` are the machines on which it starts, None for this one. ``on_work`` is called whenever the
    agent is seen at work.
    """

    workspace: Workspace
    agent: Agent
    version: str
    ui: UserInterface
    left_out: set[str]
    worktree_base: str | None = None
    worktree_base_at: str | None = None
    begins: Snapshot | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: OtherMachines | None = None
    on_work: Callable[[], None] = lambda: None


def log_bytes(workspace: Workspace) -> int:
    """Return how many bytes of each stream of a run are kept."""
    return workspace.config.execution.log_megabytes * _MEGABYTE


def publish_logs(workspace: Workspace, run: Run) -> None:
    """Cut the logs of a run to their bound, and move them to where people find them.

    Not before its record is saved: until that says how much was printed beyond it, the files alone do.
    """
    for name in _STREAMS:
        stream, log = workspace.paths.logs(run.task_id, run.id, name)
        cut_saved(stream, log_bytes(workspace))
        move_log(workspace.paths, stream, log)


def publish_leftover_logs(workspace: Workspace) -> None:
    """Cut and move the logs of ended runs after a crash; needs the controller lock."""
    records, streams = workspace.store.records, workspace.paths.streams
    names = sorted(os.listdir(streams)) if streams.is_dir() else []
    for task_id, run_id in dict.fromkeys(tuple(name.rsplit(".", 2)[:2]) for name in names):
        runs = (*records.history(TaskId(task_id)).runs, *records.reviews(TaskId(task_id)).runs)
        run = next((run for run in runs if run.id == run_id), None)
        if run is not None and run.status is not RunStatus.RUNNING:
            publish_logs(workspace, run)


def open_run(context: RunContext, task_id: TaskId, tree: str) -> Run:
    """Make the record of a run as it is before its agent works; ``tree`` is the worktree as it finds it."""
    where, run = head(context.workspace.repo), new_run(context.workspace, task_id, RunStatus.RUNNING)
    parts = Own(
        agent=AgentFacts(version=context.version or None),
        heads=Heads(branch=where.branch, commit=where.commit),
        snapshots=Snapshots(base=tree),
    )
    return run.with_own(parts).by_agent(context.agent.name)


@dataclass(frozen=True)
class AgentStart:
    """The start of an agent: the record before it works, and its input.

    ``variables`` are beyond the usual ones; ``wall_seconds`` is a limit instead of the configured one.
    """

    run: Run
    title: str
    request: RunRequest
    variables: Mapping[str, str] = field(default_factory=dict)
    wall_seconds: float | None = None


async def run_agent(
    context: RunContext, start: AgentStart, record: Callable[[Run], None], force_stop: asyncio.Event
) -> tuple[Run, ProcessResult]:
    """Run an agent to its end; return its record as ``record`` saved it, without which it never starts.

    Cancelling it stops the agent, and the end says that it was interrupted. Raises what ``record`` does,
    SaveError, AgentUnavailableError with nothing left running.
    """
    starting = _spawn if context.elsewhere is None else context.elsewhere.start
    child: Child = starting(context, start)
    run = start.run.with_own(Own(process=child.process))
    try:
        record(run)
        child.open_gate()
        context.ui.notify(started_event(start, child))
    except BaseException:  # whatever it was, also an interrupt
        child.abandon()
        raise
    ended = await follow_agent(context, start, child, force_stop)
    return run.with_own(Own(process=child.process)), ended


def _spawn(context: RunContext, start: AgentStart) -> GatedProcess:
    """Start an agent's process at its gate; nothing of it is recorded yet, so nothing of it may work."""
    workspace, run, scratch = context.workspace, start.run, Path(start.request.scratch)
    stdout, stderr = log_paths(workspace.paths, run)
    environ = child_environ(
        workspace.repo.environ,
        task_id=run.task_id,
        run_id=run.id,
        tmp_dir=scratch / "tmp",
        extra=start.variables,
    )
    return spawn_gated(
        context.agent.launch(start.request, environ),
        cwd=Path(start.request.folder),
        environ=environ,
        logs=LogFiles(stdout, stderr, log_bytes(workspace)),
        work_dir=scratch,
    )


def started_event(start: AgentStart, child: Child) -> RunStarted:
    """Return the event that reports an agent's start."""
    run = start.run
    return RunStarted(
        run.task_id, start.title, run.id, run.provider, run.own.resumes, child.pid, run.run_type
    )


async def follow_agent(
    context: RunContext, start: AgentStart, child: Child, force_stop: asyncio.Event
) -> ProcessResult:
    """Follow an agent to its end, and show its progress."""
    run, ui = start.run, context.ui
    is_plain = not context.agent.abilities.prints_events

    def show_step(step: Progress) -> None:
        if step.shows_work:
            context.on_work()
        ui.notify(RunProgress(run.task_id, run.id, step))

    def show_output(data: bytes, stream: str, skipped: int) -> None:
        ui.notify(RunOutput(run.task_id, run.id, data, stream, skipped, is_plain=is_plain))

    request = ChildRequest(
        context.agent.parser(start.request),
        limits_of(context.workspace, start.wall_seconds),
        on_progress=show_step,
        on_output=show_output if ui.wants_output else None,
        hurry=force_stop,
    )
    return await child.follow(request)


def limits_of(workspace: Workspace, wall_seconds: float | None) -> Limits:
    """Return the time limits of a run, ``wall_seconds`` instead of the configured one."""
    config = workspace.config.execution
    return Limits(
        wall_seconds=wall_seconds or 60.0 * config.timeout_minutes,
        idle_seconds=60.0 * config.idle_minutes,
        grace_seconds=config.stop_grace_seconds,
        result_seconds=RESULT_GRACE_SECONDS,
    )


def log_paths(paths: Paths, run: Run) -> tuple[Path, Path]:
    """Return where a run at work prints its standard output and standard error."""
    stdout, stderr = (paths.stream(run.task_id, run.id, name) for name in _STREAMS)
    return stdout, stderr

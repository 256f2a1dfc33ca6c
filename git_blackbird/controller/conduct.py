"""Taking an agent's process through its run: held at the gate, let go, followed to its end."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.agents.environment import child_environ
from git_blackbird.agents.logs import LogFiles, cut_saved
from git_blackbird.agents.protocol import Agent, Assignment
from git_blackbird.agents.runner import Ended, HeldChild, Limits, hold
from git_blackbird.controller.face import Face
from git_blackbird.controller.numbering import number_run
from git_blackbird.controller.workspace import Workspace
from git_blackbird.git.repository import head
from git_blackbird.model.events import RunPrinted, RunProgressed
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import RECORDER, Run, RunStatus

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Crew:
    """Who takes part in a run: the worktree, the agent with its version, and the face that watches.

    ``left_out`` grows with the paths that were named as not in a snapshot: each is named once a call.
    """

    workspace: Workspace
    agent: Agent
    version: str
    face: Face
    stops_after_each: bool
    left_out: set[str]


@dataclass(frozen=True)
class Post:
    """Where an agent works, the private folder of its run, and its variables beyond the usual ones."""

    cwd: Path
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def hold_agent(crew: Crew, assignment: Assignment, post: Post) -> HeldChild:
    """Start an agent's process at its gate; nothing of it is recorded yet, so nothing of it may work.

    Raises AgentUnavailableError, SaveError.
    """
    workspace, layout = crew.workspace, crew.workspace.layout
    task_id, run_id = TaskId(assignment.task_id), RunId(assignment.run_id)
    stdout, stderr = (layout.log(task_id, run_id, name) for name in ("stdout", "stderr"))
    layout.make_folder(stdout.parent)
    environ = child_environ(
        workspace.world.environ,
        task_id=task_id,
        run_id=run_id,
        tmp_dir=post.folder / "tmp",
        extra=post.variables,
    )
    return hold(
        crew.agent.launch(assignment, environ),
        cwd=post.cwd,
        environ=environ,
        logs=LogFiles(stdout, stderr, log_bytes(workspace)),
        work_dir=post.folder,
    )


def log_bytes(workspace: Workspace) -> int:
    """Give how many bytes of each stream of a run are kept."""
    return workspace.settings.number("execution.logMegabytes") * _MEGABYTE


def cut_logs(workspace: Workspace, run: Run) -> None:
    """Cut the logs of a run to their bound.

    Not before its record is saved: until that says how much was printed beyond it, the files alone do.
    """
    for name in ("stdout", "stderr"):
        cut_saved(workspace.layout.log(run.task_id, run.id, name), log_bytes(workspace))


def open_run(crew: Crew, task_id: TaskId, tree: str) -> Run:
    """Make the record of a run as it is before its agent works; ``tree`` is the worktree as it finds it."""
    workspace = crew.workspace
    run_id, started = number_run(workspace, task_id)
    where = head(workspace.repo)
    return Run(
        id=run_id,
        task_id=task_id,
        provider=crew.agent.name,
        started_at=started,
        status=RunStatus.RUNNING,
        recorder=RECORDER,
        agent_version=crew.version or None,
        repo_root=str(workspace.repo.top),
        branch=where.branch,
        head_commit=where.commit,
        base_tree=tree,
    )


def begin_recorded(child: HeldChild, record: Callable[[], None], tell: Callable[[], None]) -> None:
    """Let an agent begin once it is recorded, and tell of it; what cannot be recorded never works.

    Raises what these do, with nothing left running.
    """
    try:
        record()
        child.open_gate()
        tell()
    except BaseException:  # whatever it was, also an interrupt
        child.abandon()
        raise


async def follow_agent(
    crew: Crew,
    assignment: Assignment,
    child: HeldChild,
    hurry: asyncio.Event,
    *,
    wall_seconds: float | None = None,
) -> Ended:
    """Follow an agent that was let go to its end, telling the face; cancelling it stops the agent first.

    The end is given all the same, and says that it was interrupted. ``wall_seconds`` is a limit beside the
    configured ones.
    """
    settings = crew.workspace.settings
    limits = Limits(
        wall_seconds=wall_seconds or 60.0 * settings.number("execution.timeoutMinutes"),
        idle_seconds=60.0 * settings.number("execution.idleMinutes"),
        grace_seconds=float(settings.number("execution.stopGraceSeconds")),
    )
    task_id, run_id, face = TaskId(assignment.task_id), RunId(assignment.run_id), crew.face
    is_plain = not crew.agent.abilities.prints_events
    try:
        return await child.follow(
            crew.agent.reader(assignment),
            limits,
            on_progress=lambda step: face.notify(RunProgressed(task_id, run_id, step)),
            on_output=(
                lambda data, stream: face.notify(RunPrinted(task_id, run_id, data, stream, is_plain=is_plain))
            )
            if face.wants_output
            else None,
            hurry=hurry,
        )
    except asyncio.CancelledError:
        if child.ended is None:
            raise
        return child.ended

"""Running an agent's process: it waits until its record is saved, then works and is followed to its end."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from git_blackbird.agents.environment import child_environ
from git_blackbird.agents.process.foreground import Lend, spawn_in_foreground
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.process.outcome import (
    RESULT_GRACE_SECONDS,
    ChildRequest,
    ExitCause,
    Limits,
    ProcessResult,
)
from git_blackbird.agents.program import ProgramAgent
from git_blackbird.agents.protocol import TMP_FOLDER, Agent, RunRequest
from git_blackbird.controller.core.agents import probe
from git_blackbird.controller.core.status_sync import new_run
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.waiting import WATCH_SECONDS
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.ledger import Ledger
from git_blackbird.controller.launch.logs import log_files, log_paths
from git_blackbird.controller.launch.wrapper import silence_texts, wrapped
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.messages.display.budgets import spent_text
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.agent_io import Progress, agent_in_text
from git_blackbird.model.run.parts import LocalProcess, RemoteProcess
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.events import RunOutput, RunProgress, RunStarted


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


class Launcher(Protocol):
    """Who starts the processes of agents: this machine, or a cluster."""

    @property
    def is_here(self) -> bool:
        """Whether agents work in the worktrees on this machine."""
        ...

    def version_of(self, agent: Agent) -> str:
        """Return the version of an agent where it is started; called in a thread of its own.

        Raises AgentUnavailableError.
        """
        ...

    def start(self, context: "RunContext", start: "AgentStart") -> Child:
        """Start an agent at its gate. Raises AgentUnavailableError."""
        ...

    def is_machine_lost(self, run: Run) -> bool:
        """Whether the machine of a run was lost and is not back."""
        ...


@dataclass(frozen=True)
class RunContext:
    """Where and by whom a run is made; ``left_out`` are the paths named as not in a snapshot, once a call.

    ``ledger`` adds up what the runs of the call spend.
    ``worktree_base`` is the tree that the task's change begins with in a worktree of its own, None where the
    run is the first there, ``worktree_base_at`` when that was taken. ``begins`` is the snapshot that it
    begins with, where that needs no look. ``variables`` are what its agent is given beside the usual ones.
    ``on_work`` is called whenever the agent is seen at work.
    """

    workspace: Workspace
    agent: Agent
    version: str
    ui: UserInterface
    left_out: set[str]
    launcher: Launcher
    ledger: Ledger
    worktree_base: str | None = None
    worktree_base_at: str | None = None
    begins: Snapshot | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    on_work: Callable[[], None] = lambda: None


def open_run(context: RunContext, task_id: TaskId, tree: str) -> Run:
    """Make the record of a run as it is before its agent works; ``tree`` is the worktree as it finds it."""
    where, run = head(context.workspace.repo), new_run(context.workspace, task_id, RunStatus.RUNNING)
    return run.updated(
        provider=context.agent.name,
        agent_version=context.version or None,
        agent_model=context.agent.model,
        start_branch=where.branch,
        start_commit=where.commit,
        base_tree=tree,
    )


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
    SaveError, AgentUnavailableError, BudgetSpentError with nothing left running.
    """
    context.ledger.require(start.run.task_id)
    usd_left = context.ledger.usd_left(start.run.task_id)
    start = replace(start, request=replace(start.request, usd_left=usd_left))
    child = context.launcher.start(context, start)
    run = start.run.updated(process=child.process)
    try:
        record(run)
        child.open_gate()
        context.ui.notify(started_event(start, child))
    except BaseException:  # whatever it was, also an interrupt
        child.abandon()
        raise
    ended = await follow_agent(context, start, child, force_stop)
    return run.updated(process=child.process), ended


class ThisMachine:
    """Starts agents here; each is probed once."""

    is_here = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._versions: dict[str, str] = {}
        self._one_at_a_time = threading.Lock()

    def version_of(self, agent: Agent) -> str:
        """Return the version of an agent. Raises AgentUnavailableError where it cannot start."""
        with self._one_at_a_time:
            if agent.name not in self._versions:
                self._versions[agent.name] = probe(self._workspace, agent)
            return self._versions[agent.name]

    def start(self, context: RunContext, start: AgentStart) -> Child:
        """Start an agent's process at its gate; nothing of it is recorded yet, so nothing of it may work."""
        workspace, environ = context.workspace, _environ_of(context, start)
        stdout, stderr = log_paths(workspace.paths, start.run)
        launch = context.agent.launch(start.request)
        return spawn_gated(
            wrapped(workspace, launch, start.request, context.agent.name, environ),
            cwd=Path(start.request.folder),
            environ=environ,
            logs=log_files(workspace, stdout, stderr),
            work_dir=Path(start.request.scratch),
        )

    def is_machine_lost(self, run: Run) -> bool:  # noqa: ARG002  # the same answer for every run
        """Return False: what has lost this machine is this program, too."""
        return False


class AtTerminal(ThisMachine):
    """Opens a session by hand, at the terminal that ``lend`` leaves to a program."""

    def __init__(self, workspace: Workspace, lend: Lend) -> None:
        super().__init__(workspace)
        self._lend = lend

    def start(self, context: RunContext, start: AgentStart) -> Child:
        """Start an agent's own program at its gate, on this terminal."""
        agent, request = context.agent, start.request
        if not isinstance(agent, ProgramAgent):
            raise AgentUnavailableError(f"{agent_in_text(agent.name)} opens no session by hand")
        environ, launch = _environ_of(context, start), agent.launch_by_hand(request.session or "")
        return spawn_in_foreground(
            wrapped(context.workspace, launch, request, agent.name, environ, ("--tty",)),
            request,
            agent=agent.name,
            environ=environ,
            lend=self._lend,
        )


def _environ_of(context: RunContext, start: AgentStart) -> dict[str, str]:
    """Return the environment of an agent's process."""
    return child_environ(
        context.workspace.repo.environ,
        task_id=start.run.task_id,
        run_id=start.run.id,
        tmp_dir=Path(start.request.scratch, TMP_FOLDER),
        extra=start.variables,
    )


def started_event(start: AgentStart, child: Child) -> RunStarted:
    """Return the event that reports an agent's start."""
    run = start.run
    return RunStarted(run.task_id, start.title, run.id, run.provider, run.resumes, child.pid, run.run_type)


async def follow_agent(
    context: RunContext, start: AgentStart, child: Child, force_stop: asyncio.Event
) -> ProcessResult:
    """Follow an agent to its end or that of its budget, or until a person has something to say to it.

    Its progress is shown.
    """
    run, ui, ledger = start.run, context.ui, context.ledger
    # Without events it may be at work and print nothing.
    works = is_plain = not context.agent.abilities.prints_events
    looked = 0.0

    def show_step(step: Progress) -> None:
        nonlocal works
        meter.update(step.usage, step.cost_usd)
        if step.shows_work:
            works = True
            context.on_work()
        ui.notify(RunProgress(run.task_id, run.id, step))

    def show_output(data: bytes, stream: str, skipped: int) -> None:
        ui.notify(RunOutput(run.task_id, run.id, data, stream, skipped, is_plain=is_plain))

    def why_stop() -> ExitCause | None:
        nonlocal looked
        if ledger.spent_lines(run.task_id):
            return ExitCause.BUDGET
        # Some agents have no session to go on in before they work.
        if not works or run.is_review or time.monotonic() - looked < WATCH_SECONDS:
            return None
        looked = time.monotonic()
        return ExitCause.TOLD if _is_told(context.workspace, run) else None

    request = ChildRequest(
        context.agent.parser(start.request),
        limits_of(context.workspace, start.wall_seconds),
        on_progress=show_step,
        on_output=show_output if ui.wants_output else None,
        hurry=force_stop,
        why_stop=why_stop,
    )
    with ledger.run(run) as meter:
        ended = await child.follow(request)
        if error := ended.reading.error:
            error = ": ".join((error, *silence_texts(context.workspace, ended)))
            ended = replace(ended, reading=replace(ended.reading, error=error))
        meter.update(ended.reading.usage, ended.reading.cost_usd)
        if ended.cause is not ExitCause.BUDGET and not ended.reading.is_budget_spent:
            return ended
        notes = (*ended.reading.notes, spent_text(ledger.spent_lines(run.task_id)))
        return replace(ended, cause=ExitCause.BUDGET, reading=replace(ended.reading, notes=notes))


def _is_told(workspace: Workspace, run: Run) -> bool:
    """Whether a person said something to a run while it works."""
    stored = workspace.store.records.history(run.task_id).find(run.id)
    return stored is not None and bool(stored.messages_while_working)


def limits_of(workspace: Workspace, wall_seconds: float | None) -> Limits:
    """Return the time limits of a run, ``wall_seconds`` instead of the configured one."""
    config = workspace.config.execution
    return Limits(
        wall_seconds=wall_seconds or 60.0 * config.timeout_minutes,
        idle_seconds=60.0 * config.idle_minutes,
        grace_seconds=config.stop_grace_seconds,
        result_seconds=RESULT_GRACE_SECONDS,
    )

"""One run of an agent in a call: its record, its process, and whoever watches it to its end."""

import time
from collections.abc import Callable
from pathlib import Path

from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.protocol import Agent, Assignment
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.core.agents import model_of
from git_blackbird.controller.core.status_sync import new_run
from git_blackbird.controller.core.waiting import WATCH_SECONDS
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import Child, limits_of, silence_texts
from git_blackbird.controller.launch.ledger import RunMeter
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.git.core.repository import head
from git_blackbird.messages.display.quantities import spent_text
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType
from git_blackbird.model.views.events import RunOutput, RunProgress, RunStarted

TOLD_SECONDS = 60.0
"""How long what an agent is told waits for the end of the step at work."""


def open_run(workspace: Workspace, start: Start, run_type: RunType, tree: str, version: str) -> Run:
    """Make the record of a run as it is before its agent works; ``tree`` is the worktree as it finds it."""
    where, run = head(workspace.repo), new_run(workspace, start.task.id, RunStatus.RUNNING)
    return run.updated(
        run_type=run_type,
        context=start.context,
        provider=start.agent.name,
        agent_version=version or None,
        agent_model=start.agent.model,
        start_branch=where.branch,
        start_commit=where.commit,
        base_tree=tree,
    )


async def run_agent(
    call: Call, start: Start, place: Opened, run: Run, scratch: Path, record: Callable[[Run], None]
) -> tuple[Run, Ended]:
    """Run an agent to its end; return its record as ``record`` saved it, without which it never starts.

    Cancelling it stops the agent, and the end says that it was interrupted. Raises what ``record`` does,
    SaveError, AgentUnavailableError, BudgetSpentError with nothing left running.
    """
    call.ledger.require(run.task_id)
    resumed = start.resumes
    assignment = Assignment(
        start.agent.name,
        run.task_id,
        run.id,
        run.provider_session_ref,
        start.prompt,
        run.context,
        limits_of(place.workspace, start.wall_seconds),
        resume=resumed is not None,
        previous_totals={} if resumed is None else resumed.raw_totals or {},
        schema=start.schema,
        read_only=run.is_review,
        usd_left=call.ledger.usd_left(run.task_id),
    )
    launcher = start.by_hand or (call.here if run.is_review else call.launcher)
    child = launcher.start(start.agent, place, run, assignment, scratch)
    run = run.updated(process=child.process)
    try:
        record(run)
        child.open_gate()
        call.ui.notify(started_event(run, start.task.title, child))
    except BaseException:  # whatever it was, also an interrupt
        child.abandon()
        raise
    ended = await follow_agent(call, start.agent, place.workspace, run, child)
    return run.updated(process=child.process), ended


def started_event(run: Run, title: str, child: Child) -> RunStarted:
    return RunStarted(run.task_id, title, run.id, run.provider, run.resumes, child.pid, run.run_type)


async def follow_agent(call: Call, agent: Agent, workspace: Workspace, run: Run, child: Child) -> Ended:
    """Follow an agent until it ends, its budget is spent, or a person has a message for it."""
    with call.ledger.run(run) as meter:
        ended = await child.follow(_CallWatcher(call, agent, workspace, run, meter))
        if error := ended.error:
            error = ": ".join((error, *silence_texts(workspace, ended)))
            ended = ended._replace(error=error)
        meter.update(ended.usage, ended.cost_usd)
        if ended.cause is not ExitCause.BUDGET and not ended.is_budget_spent:
            return ended
        spent = spent_text(call.ledger.spent_lines(run.task_id))
        return ended.noting(spent)._replace(cause=ExitCause.BUDGET)


class _CallWatcher(Watcher):
    def __init__(self, call: Call, agent: Agent, workspace: Workspace, run: Run, meter: RunMeter) -> None:
        super().__init__(call.force_stop)
        self._call, self._agent, self._workspace = call, agent, workspace
        self._run, self._meter = run, meter
        self.wants_output = call.ui.wants_output
        # Without events it may be at work and print nothing.
        self._works = self._is_plain = not agent.abilities.prints_events
        # Its record was saved just now.
        self._looked = time.monotonic()
        # Since when a person has a message for it, and during which step that came.
        self._told: tuple[float, int | None] | None = None

    def see_step(self, step: Progress) -> None:
        self._meter.update(step.usage, step.cost_usd)
        if step.shows_work:
            self._works = True
            self._call.empty_starts.see_work(model_of(self._agent))
        self._call.ui.notify(RunProgress(self._run.task_id, self._run.id, step))

    def see_output(self, data: bytes, stream: str, skipped: int) -> None:
        run = self._run
        self._call.ui.notify(RunOutput(run.task_id, run.id, data, stream, skipped, is_plain=self._is_plain))

    def why_stop(self, step: int | None) -> ExitCause | None:
        run = self._run
        if self._call.ledger.spent_lines(run.task_id):
            return ExitCause.BUDGET
        # Some agents have no session to go on in before they work.
        now = time.monotonic()
        if not self._works or run.is_review:
            return None
        if now - self._looked >= WATCH_SECONDS:
            self._looked = now
            stored = self._workspace.store.records.history(run.task_id).find(run.id)
            if stored is not None and stored.messages_while_working:
                if stored.stops_at_once:
                    return ExitCause.TOLD
                self._told = self._told or (now, step)
        if self._told is None:
            return None
        since, told_in = self._told
        is_over = step is None or step != told_in or now - since >= TOLD_SECONDS
        return ExitCause.TOLD if is_over else None

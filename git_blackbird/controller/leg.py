"""One leg of a run: snapshot, gate, record, agent, record (DESIGN.md 5, step by step)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from git_blackbird.agents.protocol import Assignment
from git_blackbird.agents.runner import HeldChild
from git_blackbird.controller.blocking import finish_in_thread, run_in_thread
from git_blackbird.controller.claims import forget_noted, note_commits
from git_blackbird.controller.closing import Closing, close_run
from git_blackbird.controller.conduct import Crew, Post, begin_recorded, follow_agent, hold_agent, open_run
from git_blackbird.controller.config_guard import remember_config
from git_blackbird.controller.holding import hold_session
from git_blackbird.controller.orders import Order
from git_blackbird.controller.outside_moves import forget_trace, keep_trace_short, trace_git
from git_blackbird.controller.overtaking import overtake_runs
from git_blackbird.controller.readying import NoLongerReadyError, require_recorded
from git_blackbird.controller.record_watch import NOT_WATCHED
from git_blackbird.controller.snapshots import snapshot, submodules
from git_blackbird.controller.unreadable import require_usable
from git_blackbird.controller.work_folders import remove_litter, work_folder
from git_blackbird.git.head_moves import log_size
from git_blackbird.git.refs import save_run_ref
from git_blackbird.git.snapshot import Snapshot
from git_blackbird.model.change import LeftOut
from git_blackbird.model.events import Notice, RunEnded, RunStarted, Weight
from git_blackbird.model.graph import readiness
from git_blackbird.model.plan import Status
from git_blackbird.model.run import Run
from git_blackbird.model.status import apply_statuses

_RECORDS_GONE = "the run records were removed or replaced during the run: earlier ones are gone"


async def run_leg(crew: Crew, order: Order, hurry: asyncio.Event) -> Run:
    """Carry out one order from its first snapshot to its closed record, which is returned.

    Cancelling it stops the agent and closes the record as paused; then the record is returned all the
    same. Raises SaveError, SnapshotError, AgentUnavailableError, LockedError or RequestError with nothing
    left running.
    """
    _name_other_agent(crew, order)
    # Before the snapshot: what is committed from here on, and not by the agent, is no part of its change.
    size = log_size(crew.workspace.repo)
    base = await run_in_thread(lambda: snapshot(crew.workspace))
    _name_left_out(crew, base.left_out)
    inside = await run_in_thread(lambda: submodules(crew.workspace))
    opening = _opening(crew, order, base).with_fields(head_log=size, base_submodules=inside or None)
    with (
        hold_session(crew.workspace, crew.face, opening),
        work_folder(crew.workspace.layout, opening.id) as folder,
    ):
        return await _Leg(crew, order, opening, folder).run(hurry)


def _name_other_agent(crew: Crew, order: Order) -> None:
    """Say that another agent goes on with a task: what it may do, and what it knows, differs."""
    name, newest = crew.agent.name, crew.workspace.store.records.history(order.task.id).newest
    if order.resumes is not None or newest is None or newest.provider in {"", name}:
        return
    text = f"{order.task.id} was started with {newest.provider}; {name} starts a new session"
    hint = f"--agent {newest.provider} keeps the agent it had"
    crew.face.notify(Notice(Weight.INFO, text, hint, order.task.id))


def _name_left_out(crew: Crew, left_out: Sequence[LeftOut]) -> None:
    for left in left_out:
        if left.path not in crew.left_out:
            crew.left_out.add(left.path)
            text = f"not in the snapshot: {left.path} ({left.reason})"
            crew.face.notify(Notice(Weight.WARNING, text))


def _opening(crew: Crew, order: Order, base: Snapshot) -> Run:
    """Make the record as it is before the agent works."""
    opening, resumed = open_run(crew, order.task.id, base.tree), order.resumes
    session = (
        crew.agent.new_session(f"{crew.workspace.world.random_bits(128):032x}")
        if resumed is None
        else resumed.provider_session_ref
    )
    return opening.with_fields(
        provider_session_ref=session,
        context=order.context,
        resumes=None if resumed is None else resumed.id,
        last_completion_status=None if resumed is None else resumed.status,
        prompt=None if resumed is None else order.prompt,
        message=order.message,
        answers=order.answers,
    )


class _Leg:
    def __init__(self, crew: Crew, order: Order, opening: Run, folder: Path) -> None:
        self._crew = crew
        self._order = order
        self._post = Post(crew.workspace.repo.top, folder, trace_git(crew.workspace))
        self._run = opening
        self._recorded_in: tuple[int, int] | None = None
        self._assignment = self._assign()

    def _assign(self) -> Assignment:
        resumed = self._order.resumes
        return Assignment(
            task_id=self._run.task_id,
            run_id=self._run.id,
            session=self._run.provider_session_ref,
            prompt=self._order.prompt,
            context=self._order.context,
            resume=resumed is not None,
            folder=str(self._post.cwd),
            scratch=str(self._post.folder),
            previous_totals={} if resumed is None else resumed.raw_totals or {},
        )

    async def run(self, hurry: asyncio.Event) -> Run:
        child = hold_agent(self._crew, self._assignment, self._post)
        begin_recorded(child, lambda: self._record(child), lambda: self._tell_start(child))
        crew, run = self._crew, self._run
        shortening = asyncio.ensure_future(keep_trace_short(crew.workspace))
        try:
            ended = await follow_agent(crew, self._assignment, child, hurry)
        finally:
            shortening.cancel()
        remove_litter(crew.workspace.repo.top, run, crew.agent.litter)
        if self._records_folder() != self._recorded_in:
            crew.face.notify(Notice(Weight.WARNING, _RECORDS_GONE, task_id=run.task_id))
        if not crew.workspace.store.ledger.is_watching():
            crew.face.notify(Notice(Weight.WARNING, NOT_WATCHED, task_id=run.task_id))
        closing = Closing(
            crew.agent.abilities, ended, gated=crew.stops_after_each or self._order.gated, order=self._order
        )
        closed = await finish_in_thread(
            lambda: close_run(crew.workspace, crew.face, self._run, closing), hurry
        )
        forget_noted(crew.workspace)
        forget_trace(crew.workspace)
        if closed.review_summary is not None:
            _name_left_out(crew, closed.review_summary.left_out)
        crew.face.notify(RunEnded(closed, self._order.task.title, ended.duration_seconds))
        return closed

    def _tell_start(self, child: HeldChild) -> None:
        run, title = self._run, self._order.task.title
        self._crew.face.notify(RunStarted(run.task_id, title, run.id, run.provider, run.resumes, child.pid))

    def _records_folder(self) -> tuple[int, int] | None:
        """Which folder holds the records now: an agent may have taken it away."""
        try:
            found = self._crew.workspace.layout.runs.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _record(self, child: HeldChild) -> None:
        """Write record, then plan, under one lock; whether the task may start is judged under it too."""
        workspace = self._crew.workspace
        self._run = self._run.with_fields(pid=child.pid, process_identity=child.identity)
        assert self._run.base_tree is not None  # noqa: S101  # set where the record was made
        save_run_ref(workspace.repo, self._run.id, self._run.base_tree, None)
        remember_config(workspace)
        with workspace.transaction() as transaction:
            plan = transaction.plan()
            task = plan.tasks.get(self._run.task_id)
            if task is None:
                raise NoLongerReadyError(f"{self._run.task_id} was removed from the plan meanwhile")
            require_usable(task.id, transaction.history(task.id))
            reasons = readiness(plan, task).reasons
            if self._order.resumes is None and reasons:
                raise NoLongerReadyError(f"{task.id} is no longer ready: {'; '.join(reasons)}")
            if self._order.resumes is None:
                require_recorded(workspace, task.id)
            # No parent above a leaf that is worked on is judged by its gate.
            moment = workspace.moment({})
            transaction.save_run(self._run)
            if self._order.resumes is None:
                overtake_runs(transaction, task.id, self._run.id, moment.now)
            transaction.save_plan(apply_statuses(plan, {task.id: Status.IN_PROGRESS}, moment))
            transaction.begin_watch(self._run)
            transaction.remember_plan()
        # Before the agent works: the first thing it does may be to take them away.
        self._recorded_in = self._records_folder()
        note_commits(workspace, self._crew.face, self._run)

"""One review of a parent: a reviewer that changes nothing, held to a schema (spec 0, spec 3, DESIGN.md 8)."""

import asyncio
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from git_blackbird.agents.protocol import Assignment
from git_blackbird.agents.runner import EndCause, Ended, HeldChild
from git_blackbird.controller.closing import LIMIT_REASONS, Outcome, ending_fields
from git_blackbird.controller.conduct import Crew, Post, follow_agent, hold_agent
from git_blackbird.controller.numbering import number_run
from git_blackbird.controller.review_files import finish_reviews
from git_blackbird.controller.snapshots import snapshot
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.work_folders import work_folder
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.checkout import checkout_tree
from git_blackbird.git.refs import save_run_ref
from git_blackbird.git.repository import head
from git_blackbird.git.snapshot import SnapshotError
from git_blackbird.messages.review_answer import ReviewAnswerError, parse_review_answer
from git_blackbird.messages.review_context import ReviewedChild, build_review_context, render_review_prompt
from git_blackbird.messages.review_schema import build_review_schema
from git_blackbird.model.commands import task_command
from git_blackbird.model.events import Notice, RunEnded, RunStarted, Weight
from git_blackbird.model.gate import is_complete, last_word
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.review import Verdict, completion_signature
from git_blackbird.model.run import (
    OVERTAKEN_BY_PLAN,
    OVERTAKEN_BY_UNAVAILABLE,
    RECORDER,
    Run,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.standing import Standing
from git_blackbird.storage.store import Transaction

_CHECKOUT = "review"


@dataclass(frozen=True)
class ReviewOrder:
    """A parent to be reviewed, what its reviewer is told, and the state of the children that it is about."""

    parent: Task
    context: dict[str, Any]
    signature: str


def order_review(
    standing: Standing, parent: Task, *, fault: str | None = None, top: str | None = None
) -> ReviewOrder:
    """Order a review; ``fault`` is what was wrong with the answer of the reviewer before.

    ``top`` is the top of the worktree, for a reviewer that does not work there. Raises RequestError when not
    every child is done.
    """
    if not is_complete(standing.plan.tasks, parent):
        open_ones = [child for child in parent.children if standing.plan.tasks[child].status != "done"]
        raise RequestError(
            f"{parent.id} cannot be reviewed: not done: {', '.join(open_ones)}"
            if parent.children
            else f"{parent.id} has no children; only parents are reviewed"
        )
    children = [_reviewed(standing, standing.plan.tasks[child], top) for child in parent.children]
    context = build_review_context(parent, children, fault)
    return ReviewOrder(parent, context, completion_signature(parent, standing.plan.tasks))


def _reviewed(standing: Standing, child: Task, top: str | None) -> ReviewedChild:
    history = standing.history(child.id)
    run = last_word(history) if child.children else history.latest or history.newest
    return ReviewedChild(child, run, top)


async def run_review(crew: Crew, order: ReviewOrder, hurry: asyncio.Event) -> Run:
    """Carry out one review from its snapshot to its closed record, which is returned.

    Cancelling it stops the reviewer and closes the record as failed. Raises SaveError, SnapshotError,
    AgentUnavailableError or RequestError with nothing left running.
    """
    base = await asyncio.to_thread(snapshot, crew.workspace)
    opening = _opening(crew, order, base.tree)
    with work_folder(crew.workspace.layout) as folder:
        cwd = await asyncio.to_thread(_place, crew, opening, folder)
        return await _Review(crew, order, opening, Post(cwd, folder)).run(hurry)


def _opening(crew: Crew, order: ReviewOrder, tree: str) -> Run:
    run_id, started = number_run(crew.workspace, order.parent.id)
    where = head(crew.workspace.repo)
    return Run(
        id=run_id,
        task_id=order.parent.id,
        run_type=RunType.REVIEW,
        provider=crew.agent.name,
        started_at=started,
        status=RunStatus.RUNNING,
        context=order.context,
        parent_review_completion_signature=order.signature,
        recorder=RECORDER,
        agent_version=crew.version or None,
        repo_root=str(crew.workspace.repo.top),
        branch=where.branch,
        head_commit=where.commit,
        base_tree=tree,
    )


def _place(crew: Crew, run: Run, folder: Path) -> Path:
    """Give where the reviewer works: the worktree if it can be kept from writing, else a copy of it."""
    workspace = crew.workspace
    if crew.agent.abilities.read_only or run.base_tree is None:
        return workspace.repo.top
    checkout = folder / _CHECKOUT
    checkout.mkdir()
    seconds = workspace.settings.number("snapshot.timeoutSeconds")
    checkout_tree(workspace.repo, run.base_tree, checkout, timeout_seconds=seconds)
    for name in _referenced_records(run.context):
        source = workspace.layout.state_root / name
        if source.is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, checkout / name)
    return checkout


def _referenced_records(context: dict[str, Any]) -> Iterable[str]:
    for child in context["parentReview"]["children"]:
        yield from (name for name in child.get("artifactRefs", ())[:1])


class _Review:
    def __init__(self, crew: Crew, order: ReviewOrder, opening: Run, post: Post) -> None:
        self._crew = crew
        self._order = order
        self._run = opening
        self._post = post
        self._assignment = Assignment(
            task_id=opening.task_id,
            run_id=opening.id,
            session=None,
            prompt=render_review_prompt(order.context),
            context=order.context,
            folder=str(post.cwd),
            schema=build_review_schema(order.parent.children),
            read_only=True,
            scratch=str(post.folder),
        )

    async def run(self, hurry: asyncio.Event) -> Run:
        crew, parent = self._crew, self._order.parent
        child = hold_agent(crew, self._assignment, self._post)
        try:
            self._record(child)
            child.open_gate()
        except BaseException:
            child.abandon()
            raise
        run = self._run
        crew.face.notify(
            RunStarted(run.task_id, parent.title, run.id, run.provider, None, child.pid, run.run_type)
        )
        ended = await follow_agent(crew, self._assignment, child, hurry)
        ended_in = await asyncio.to_thread(self._look_again)
        closed = close_review(crew.workspace, run, ended, ended_in)
        crew.face.notify(RunEnded(closed, parent.title, ended.duration_seconds))
        return closed

    def _look_again(self) -> str | None:
        """Give the tree that the worktree is after a review in it; None where that is not known."""
        if self._post.cwd != self._crew.workspace.repo.top:
            return None
        try:
            tree = snapshot(self._crew.workspace, since=self._run.base_tree).tree
        except SnapshotError as error:
            text = f"what the reviewer of {self._run.task_id} left is not known: {error.message}"
            self._crew.face.notify(Notice(Weight.WARNING, text, task_id=self._run.task_id))
            return None
        if tree != self._run.base_tree:
            save_run_ref(self._crew.workspace.repo, self._run.id, self._run.base_tree or tree, tree)
            text = f"the worktree changed while {self._run.task_id} was reviewed"
            hint = task_command("runs", self._run.task_id, f" {self._run.id} --diff")
            self._crew.face.notify(Notice(Weight.WARNING, text, hint, self._run.task_id))
        return tree

    def _record(self, child: HeldChild) -> None:
        """Write the record, then the plan, under one lock, if the children are still as they were."""
        workspace, order = self._crew.workspace, self._order
        self._run = self._run.with_fields(pid=child.pid, process_identity=child.identity)
        assert self._run.base_tree is not None  # noqa: S101  # set where the record was made
        save_run_ref(workspace.repo, self._run.id, self._run.base_tree, self._run.base_tree)
        with workspace.transaction() as transaction:
            if present_signature(transaction.plan(), order.parent) != order.signature:
                raise ReviewMovedError(f"the children of {order.parent.id} have changed meanwhile")
            transaction.save_run(self._run)
            save_statuses(workspace, transaction)


class ReviewMovedError(RequestError):
    """Someone changed the children between the choice of a review and its start."""


def present_signature(plan: Plan, parent: Task) -> str | None:
    """Name the state of a parent's children now; None when there is nothing to review any more."""
    task = plan.tasks.get(parent.id)
    if task is None or not is_complete(plan.tasks, task):
        return None
    return completion_signature(task, plan.tasks)


def close_review(workspace: Workspace, run: Run, ended: Ended, head_tree: str | None) -> Run:
    """Save what a reviewer found, then what it leaves owed, then the plan (spec 1, in this order).

    ``head_tree`` is the worktree after a review in it, where the reviewer should have written nothing. A
    verdict on children that have changed meanwhile is kept and counts for nothing. Raises SaveError.
    """
    with workspace.transaction() as transaction:
        parent = transaction.plan().tasks.get(run.task_id)
        outcome, verdict = judge_review(ended, parent)
        now = workspace.world.timestamp()
        fields = ending_fields(ended, outcome, now) | _verdict_fields(verdict)
        if head_tree is not None and head_tree != run.base_tree:
            fields["notes"] = (*fields["notes"], "the worktree changed during the review")
        fields["head_tree"] = head_tree or run.base_tree
        closed = run.with_fields(**fields | {"error": outcome.error or fields["error"]})
        moved = parent is None or present_signature(transaction.plan(), parent) != (
            run.parent_review_completion_signature
        )
        if verdict is not None and moved:
            closed = closed.with_fields(superseded_at=now, superseded_by=OVERTAKEN_BY_PLAN)
        transaction.clear_way(closed)
        transaction.save_run(closed)
        if verdict is not None and not moved:
            _overtake_verdicts(transaction, closed, now)
        finish_reviews(transaction)
        save_statuses(workspace, transaction)
    return closed


def judge_review(ended: Ended, parent: Task | None) -> tuple[Outcome, Verdict | None]:
    """Say what a reviewer's end means. Only a valid answer is a verdict; nothing else ever passes."""
    reading = ended.reading
    if ended.cause is not EndCause.EXITED:
        return Outcome(RunStatus.FAILED, LIMIT_REASONS[ended.cause], error=_CUT_OFF[ended.cause]), None
    if reading.refusal is not None:
        return Outcome(RunStatus.FAILED, TerminalReason.AGENT_UNAVAILABLE, OVERTAKEN_BY_UNAVAILABLE), None
    if reading.questions:
        asked = reading.questions[0].prompt
        return Outcome(RunStatus.FAILED, error=f"the reviewer asked instead of judging: {asked}"), None
    if not reading.succeeded or parent is None:
        return Outcome(RunStatus.FAILED), None
    try:
        return Outcome(RunStatus.SUCCESS), parse_review_answer(reading.final_text, parent)
    except ReviewAnswerError as error:
        return Outcome(RunStatus.FAILED, error=str(error)), None


_CUT_OFF = {
    EndCause.WALL_LIMIT: "the review took too long",
    EndCause.IDLE_LIMIT: "the reviewer said nothing for too long",
    EndCause.INTERRUPTED: "the review was interrupted",
}


def _verdict_fields(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {}
    return {
        "parent_review_passed": verdict.passed,
        "parent_review_resume_task_ids": verdict.resume_task_ids,
        "parent_review_feedback": verdict.feedback or None,
        "parent_review_results": dict(verdict.results),
    }


def _overtake_verdicts(transaction: Transaction, closed: Run, now: str) -> None:
    """Let a new verdict be the only one that counts."""
    for run in transaction.history(closed.task_id).reviews:
        if run.id != closed.id and run.status is not RunStatus.RUNNING:
            transaction.save_run(run.with_fields(superseded_at=now, superseded_by=closed.id))

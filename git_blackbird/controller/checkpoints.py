"""The checkpoint as a value: the *change* a decision is about, and whether the worktree still shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from git_blackbird.controller.agents import agent_of
from git_blackbird.controller.approval_commits import foresee
from git_blackbird.controller.outside_moves import joined_outside, joined_submodules, own_legs
from git_blackbird.controller.pending import find_pending
from git_blackbird.controller.snapshots import snapshot
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.changes import compose, differs, summarize, touched
from git_blackbird.git.program import GitStoppedError
from git_blackbird.git.repository import head
from git_blackbird.messages.suggestion import render_suggestion
from git_blackbird.model.change import Between, Summary, TreePair
from git_blackbird.model.checkpoint import Checkpoint, OtherBranch, SinceRequest
from git_blackbird.model.decisions import is_session_lost
from git_blackbird.model.history import History, requested_change, since_done, total_cost
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.run import CHANGED_NOTHING, Run
from git_blackbird.model.task_review import Next, missing_texts, next_after, readable_merged, reviews_about
from git_blackbird.storage.store import Image

_CLEARED = "the reviews approve the change; this is the checkpoint after the task"


def build_checkpoint(workspace: Workspace, image: Image, task: Task, run: Run) -> Checkpoint:
    """Put together what a person needs for the decision on ``run``.

    What cannot be found out is left away and never stops the decision: the summary then says that it is
    minimal.
    """
    runs = since_done(image.history(task.id))
    pair, summary = change_of(workspace, image, run, runs)
    worktree = None if pair is None else worktree_tree(workspace, pair)
    merged = readable_merged(run)
    return Checkpoint(
        task=task,
        run=run,
        summary=summary,
        pair=pair,
        moved=moved_in(workspace, pair, worktree),
        runs=len(runs),
        cost_usd=total_cost(runs),
        no_request=request_obstacle(workspace, image.history(task.id), run),
        commit=foresee(workspace, pair, worktree, runs[0].head_commit if runs else None),
        merged=merged,
        suggestion=render_suggestion(run, merged),
        reasons=reasons_to_ask(workspace, image.history(task.id), run),
        options=workspace.call_options,
        since_request=_since_request(workspace, image, run, runs),
        other_branch=other_branch(workspace, run),
    )


def other_branch(workspace: Workspace, run: Run) -> OtherBranch | None:
    """Say whether HEAD has left the branch that a run worked on; None where it has not, or nobody knows."""
    if run.branch is None:
        return None
    now = head(workspace.repo).branch
    return None if now == run.branch else OtherBranch(run.branch, now)


def pending_checkpoint(workspace: Workspace, task_id: str) -> Checkpoint:
    """Put together the checkpoint of a task on which a decision is due, as plan and records are now.

    Raises RequestError when none is due.
    """
    image = workspace.store.image()
    task = find_task(image.plan, task_id)
    return build_checkpoint(workspace, image, task, find_pending(image, task.id, None))


def reasons_to_ask(workspace: Workspace, history: History, run: Run) -> tuple[str, ...]:
    """Say why a person is to decide on a run whatever the checkpoints; nothing if only they ask for it."""
    if not run.is_pending:
        return ()
    return (CHANGED_NOTHING,) if run.no_change else _uncleared(workspace, history, run)


def _uncleared(workspace: Workspace, history: History, run: Run) -> tuple[str, ...]:
    """Say why the reviews of a run's change did not clear it; nothing if they did, or there were none."""
    merged = readable_merged(run)
    most, number = workspace.settings.number("reviews.maxIterations"), run.review_round or 1
    if merged is None:
        return ()
    if merged.missing:
        return missing_texts(merged, reviews_about(workspace.store.records.reviews(run.task_id).runs, run))
    if next_after(merged, round_number=number, max_rounds=number) is Next.PROCEED:
        return (_CLEARED,)
    if number >= most:
        return (f"issues are left after round {number} of {most} (reviews.maxIterations)",)
    obstacle = request_obstacle(workspace, history, run)
    return () if obstacle is None else (f"cannot request fixes: {obstacle}",)


def _since_request(workspace: Workspace, image: Image, run: Run, runs: Sequence[Run]) -> SinceRequest | None:
    requested = requested_change(runs)
    if requested is None:
        return None
    pair, summary = change_of(workspace, image, run, requested.runs)
    return SinceRequest(requested.text, summary, pair)


def change_of(
    workspace: Workspace, image: Image, run: Run, runs: Sequence[Run]
) -> tuple[TreePair | None, Summary]:
    """Give the change that these runs of one task make together, and its summary."""
    legs = [one.leg for one in runs if one.leg is not None]
    if len(legs) <= 1 and run.review_summary is not None:
        return run.leg, run.review_summary
    if not legs:
        return None, run.review_summary or Summary(minimal="no snapshots of this run are left")
    try:
        pair = compose(workspace.repo, own_legs(workspace, runs))
        summary = summarize(workspace.repo, pair)
        between = tuple(_between(workspace, image, runs, pair))
    except BlackbirdError as error:
        return None, Summary(minimal=error.message)
    own = run.review_summary.left_out if run.review_summary is not None else ()
    return pair, replace(
        summary,
        between=between,
        left_out=own,
        outside=joined_outside(runs),
        submodules=joined_submodules(runs),
    )


def _between(workspace: Workspace, image: Image, runs: Sequence[Run], pair: TreePair) -> Iterator[Between]:
    """Find paths of the change that another task's run touched after these runs began."""
    paths = touched(workspace.repo, pair)
    first, last, own = runs[0].sort_key, runs[-1].sort_key, runs[0].task_id
    for other in _others(image, own):
        if other.leg is not None and first < other.sort_key < last:
            for path in sorted(paths & touched(workspace.repo, other.leg)):
                yield Between(path=path.decode(errors="replace"), task=other.task_id, run=other.id)


def _others(image: Image, own: TaskId) -> Iterator[Run]:
    for task_id in sorted(image.histories.keys() - {own}):
        yield from image.histories[task_id].own


def worktree_tree(workspace: Workspace, pair: TreePair) -> str | None:
    """Take the worktree as it is now, to compare a change with; None when it cannot be recorded."""
    try:
        return snapshot(workspace, since=pair.head).tree
    except GitStoppedError:
        raise
    except BlackbirdError:
        # Without a snapshot nothing can be compared; taking one is tried again, aloud, by the next run.
        return None


def moved_in(workspace: Workspace, pair: TreePair | None, worktree: str | None) -> tuple[str, ...]:
    """Name the paths of a change that differ in the worktree by now; what is approved is the change."""
    if pair is None or worktree is None:
        return ()
    try:
        return differs(workspace.repo, worktree, pair)
    except BlackbirdError:
        # The snapshots of the change are gone: then the summary says that it is minimal.
        return ()


def request_obstacle(workspace: Workspace, history: History, run: Run) -> str | None:
    """Say why changes cannot be requested of this run's session; None when they can, as far as is known."""
    if run.provider_session_ref is None:
        return f"run {run.id} ({run.provider or 'no agent'}) has no session to go on in"
    if is_session_lost(history, run):
        return f"{run.provider} no longer knows session {run.provider_session_ref} of run {run.id}"
    try:
        agent = agent_of(workspace, run)
    except RequestError as error:
        return error.message
    if not agent.accepts_session(run.provider_session_ref):
        return f"{run.provider_session_ref!a} of run {run.id} is no session of {run.provider}"
    return None

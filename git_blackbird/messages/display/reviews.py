"""Describe reviews."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from git_blackbird.messages.display.format import format_decision, verdict_word
from git_blackbird.messages.display.quantities import format_moment, render_cost, render_duration
from git_blackbird.messages.document import (
    Line,
    Section,
    Span,
    Style,
    Table,
    block,
    facts,
    line,
    section,
    styled,
    table,
)
from git_blackbird.model.base.next_steps import EXECUTE, MESSAGE, Sentence, TaskCommand, dismiss_command
from git_blackbird.model.change.work import decide_run_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import (
    ChangeReviewView,
    GateState,
    ReviewView,
    allows_done,
    merged_or_none,
    missing_texts,
    result_of,
)
from git_blackbird.model.run.parent_verdict import ChildResult, ChildStatus, excerpt
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_PLAN,
    SUPERSEDED_BY_UNAVAILABLE,
    DecisionState,
    Requester,
    ReviewState,
    RunStatus,
    RunType,
)

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.run.findings import MergedReview

NO_REASON = "it gave no verdict"
UNREADABLE = "what they found cannot be read"


def render_review_end(run: Run, seconds: float) -> Iterator[str]:
    """Describe what a reviewer found, or why there is no result."""
    if run.superseded_by == SUPERSEDED_BY_PLAN:
        yield f"the review of {run.task_id} does not count: the work it reviewed has changed since"
    elif run.superseded_by == SUPERSEDED_BY_UNAVAILABLE:
        yield f"could not review {run.task_id}: {run.error or NO_REASON}"
    elif run.parent_review_passed is None:
        yield render_no_verdict(run.task_id, run.error or NO_REASON)
    elif run.parent_review_passed:
        cost = (render_cost(run.cost_usd),) if run.cost_usd else ()
        yield f"parent review passed for {run.task_id}: {', '.join((*cost, render_duration(seconds)))}"
    else:
        text = excerpt(run.parent_review_feedback or "")
        yield from render_failing(run.task_id, run.parent_review_resume_task_ids, text)


def render_failing(task_id: str, resume: Sequence[str], feedback: str) -> Iterator[str]:
    """Describe a failed review, the children it flags, and the beginning of its feedback."""
    yield f"parent review failed for {task_id}"
    yield f"resume tasks: {', '.join(resume)}"
    yield f"feedback: {feedback}"


def render_no_verdict(task_id: str, fault: str) -> str:
    """Describe why a reviewer gave no verdict."""
    return f"no verdict on {task_id}: {fault}"


def result_lines(run: Run) -> Iterator[Line]:
    """Format the findings of one reviewer of a change; empty for a run without a result."""
    result = result_of(run)
    if result is not None:
        # Imported on demand, because only a single run needs it.
        from git_blackbird.messages.display import merged_review  # only a review pays

        yield from merged_review.result_lines(result)


def merged_lines(run: Run) -> Iterator[Line]:
    """Format the findings of both reviewers of a run's change; empty for a run without reviews."""
    merged = merged_or_none(run)
    if merged is not None:
        from git_blackbird.messages.display.merged_review import review_lines

        yield from review_lines(merged)


def overall_word(merged: "MergedReview | None") -> str:
    """Return the result of both reviews of a change in a word; None for an unreadable record."""
    if merged is None:
        return UNREADABLE
    return "a review is missing" if merged.missing else str(merged.overall)


_SWITCH = "execution.parentReviewEnabled"
_STATES = {
    GateState.REVIEW_DUE: "due",
    GateState.REVIEWING: "a reviewer is at work",
    GateState.FAILING: "failed",
    GateState.UNREADABLE: "one of its records cannot be used",
}


def dismissal_lines(parent: Task, dropped: Sequence[str]) -> Iterator[Line]:
    """Return what became of a parent whose review was dismissed, and of the feedback that was due."""
    yield line(f"dismissed the review of {parent.id}; it is {parent.status.value}")
    if dropped:
        yield line(f"  its feedback is no longer pending for: {', '.join(dropped)}")


def _parent_facts(view: ReviewView) -> Iterator[tuple[str, str]]:
    """Describe the state of a parent's review in a few words."""
    yield "status", view.parent.status.value
    yield "children", ", ".join(view.parent.children)
    if view.skipped:
        yield "skipped", ", ".join(view.skipped)
    yield "review", _parent_state(view)
    if view.said is not None:
        yield "run", _run_of(view.said)
        yield "about", f"the children as they {'are now' if view.is_present else 'were before'}"
    if len(view.reviews) > 1:
        yield "rounds", Sentence(f"{len(view.reviews)} (", TaskCommand("runs", view.parent.id), ")")


def _run_of(run: Run) -> str:
    agent = f" by {run.provider}" if run.provider else ""
    return f"{run.id}, {format_moment(run.started_at)}{agent}"


def _parent_state(view: ReviewView) -> str:
    if view.gate is None:
        waits = ", ".join(view.open_children)
        return f"not due until these are done: {waits}" if waits else "not due: all children are skipped"
    if view.gate is GateState.REVIEW_DUE and view.parent.status is Status.DONE:
        return "none since its children changed; it is done anyway"
    if view.gate in _STATES:
        return _STATES[view.gate]
    if view.said is None or not view.is_present:
        return f"off ({_SWITCH})"
    return verdict_word(view.said) if allows_done(view.said) else f"failed, but blocks nothing ({_SWITCH})"


def parent_document(view: ReviewView) -> Iterator[Section | Table]:
    """Yield the state of a parent's review, its criteria, the findings, and pending feedback."""
    yield facts(_parent_facts(view), "  ")
    criteria = view.parent.acceptance_criteria
    yield section("acceptance criteria", (f"- {criterion}" for criterion in criteria))
    if view.said is not None:
        yield section("verdict", verdict_lines(view.said))
        yield section("dismissed", _dismissal(view.said))
    attempts = (
        (f"run {run.id}, {format_moment(run.started_at)}", f"    {run.error or NO_REASON}")
        for run in view.attempts
    )
    yield section("without a verdict", chain.from_iterable(attempts))
    yield section("open feedback", _open_feedback(view))


_VERDICTS = {ChildStatus.PASSED: Style.DONE, ChildStatus.FAILED: Style.FAILED}


def verdict_lines(run: Run) -> Iterator[Line]:
    """Format a review's results for each child, and its feedback; empty for a run without a verdict."""
    results = [result for _, result in sorted((run.parent_review_results or {}).items())]
    if not results:
        # Early records only name the children to be resumed.
        flagged = run.parent_review_resume_task_ids
        results = [ChildResult(task_id=task_id, status=ChildStatus.FAILED) for task_id in flagged]
    width = max((len(result.task_id) for result in results), default=0)
    for result in results:
        name = result.task_id.ljust(width)
        yield line(f"{name}  ", Span(result.status.value, _VERDICTS[result.status]))
        yield from block(result.feedback or "", indent="    ")
    texts = {result.feedback for result in results}
    if run.parent_review_feedback and run.parent_review_feedback not in texts:
        yield line("of all")
        yield from block(run.parent_review_feedback, indent="    ")


def _dismissal(review: Run) -> Iterator[Line]:
    dismissed = review.dismissed
    if dismissed is not None:
        by = f" by {dismissed.by}" if dismissed.by else ""
        yield line(f"{format_moment(dismissed.at)}{by}")
        yield from block(dismissed.reason)


def _open_feedback(view: ReviewView) -> Iterator[Line]:
    for feedback in view.outstanding:
        yield line(f"{feedback.task.id}  {feedback.task.title} ({feedback.task.status.value})")
        yield from block(feedback.feedback.feedback, indent="    ")
        yield line("      ", feedback.command)


def parent_steps(view: ReviewView) -> tuple[str, ...]:
    """Return the commands to continue with a parent blocked by its review."""
    parent = view.parent
    steps = [feedback.command for feedback in view.outstanding]
    if len(view.outstanding) > 1:
        steps.append(TaskCommand("resume --all", parent.id, remark="all of them"))
    is_due = view.gate is GateState.REVIEW_DUE and parent.status is not Status.DONE
    if is_due and not view.outstanding:
        steps.append(TaskCommand("review run", parent.id, remark=Sentence("or ", EXECUTE)))
    is_held = is_due or view.gate is GateState.FAILING or bool(view.outstanding)
    # A child that is not done any more is what holds it then.
    if is_held and all(feedback.task.is_over for feedback in view.outstanding):
        steps.append(dismiss_command(parent.id))
    return tuple(steps)


def _change_facts(view: ChangeReviewView) -> Iterator[tuple[str, str]]:
    """Describe the state of the reviews of a leaf's change in a few words."""
    yield "status", view.task.status.value
    if view.run is not None:
        yield "run", _run_of(view.run)
    yield "reviews", _change_state(view)


REQUESTERS = {
    Requester.REVIEWERS: "its reviewers",
    Requester.CHECK: "its check",
    Requester.LANDING: "its landing",
}


def _change_state(view: ChangeReviewView) -> str:
    run = view.run
    if run is None:
        return "none: the task has not run"
    if run.review_state is ReviewState.DUE and not run.is_superseded:
        return "due"
    if view.merged is None:
        return _state_without(view, run)
    after = ""
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        by = run.requested_by
        after = f"; changes requested by {'a person' if by is None else REQUESTERS[by]}"
    elif run.decision_state is not None:
        after = f"; decision: {'none' if run.was_superseded_undecided else run.decision_state.words}"
    return f"{overall_word(view.merged)}, round {run.review_round or 1} of {view.max_rounds}{after}"


def _state_without(view: ChangeReviewView, run: Run) -> str:
    """Describe the state of reviews without any result."""
    if run.is_superseded:
        return "none: the run was superseded"
    if run.review_state is ReviewState.BY_HAND:
        return "requested by hand, not finished"
    if run.merged_review is not None:
        return overall_word(None)
    return "none" if view.is_on else "none (reviews.mode is off)"


def change_document(view: ChangeReviewView) -> Iterator[Section | Table]:
    """Yield the state of the reviews of a leaf's change, why one is missing, and all rounds of several."""
    yield facts(_change_facts(view), "  ")
    missing = () if view.merged is None else missing_texts(view.merged, view.about)
    yield section("missing", (styled(text, Style.WARNING) for text in missing))
    has_several = len(view.rounds) > 1 or any(run is not view.run for run in view.rounds)
    rounds = map(_round, view.rounds if has_several else ())
    yield section("rounds", [table(rounds, None)])


def _round(run: Run) -> tuple[str, ...]:
    number, overall = str(run.review_round or 1), overall_word(merged_or_none(run))
    return number, f"run {run.id}", overall, format_decision(run)


def change_steps(view: ChangeReviewView) -> tuple[str, ...]:
    """Return the commands to continue with a change that is or could be reviewed."""
    run = view.run
    if run is None or run.is_superseded:
        return ()
    if run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        return ()
    again = TaskCommand("review run", view.task.id)
    if run.is_pending:
        return (decide_run_command(run), *(() if run.no_change else (again,)))
    if run.awaits_verdict or run.decision_state is DecisionState.CHANGES_REQUESTED:
        return (EXECUTE,)
    fix = TaskCommand("resume", view.task.id, blank=MESSAGE)
    return (again, fix) if view.merged is not None and view.merged.findings else (again,)

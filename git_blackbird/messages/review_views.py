"""What is said of how the reviews of a parent, or of a leaf's change, stand; faces differ in the looks of it.

Facts are pairs of a name and a text, sections pairs of a title and lines; all of it is cleaned.
"""

from collections.abc import Callable, Iterator

from git_blackbird.messages.review_text import NO_REASON, overall_word, verdict_word
from git_blackbird.messages.run_text import shown_decision, shown_moment
from git_blackbird.model.commands import EXECUTE, decide_run_command, dismiss_command, task_command
from git_blackbird.model.gate import GateState, lets_go
from git_blackbird.model.plan import Status
from git_blackbird.model.review import ChildResult, ChildStatus
from git_blackbird.model.review_views import ChangeReviewView, ReviewView
from git_blackbird.model.run import DecisionState, ReviewState, Run, RunStatus, RunType
from git_blackbird.model.task_review import BY_REVIEWERS, missing_texts, readable_merged
from git_blackbird.model.text import clean, clean_line

Section = tuple[str, list[str]]
Paint = Callable[[ChildStatus], str]
_LONGEST_FAULT = 400
_SWITCH = "execution.parentReviewEnabled"
_STATES = {
    GateState.OWED: "owed",
    GateState.REVIEWING: "a reviewer is at work",
    GateState.FAILING: "failed",
    GateState.UNREADABLE: "a record of it cannot be used",
}


def parent_facts(view: ReviewView) -> Iterator[tuple[str, str]]:
    """Say how a parent's review stands, in few words."""
    yield "status", view.parent.status.value
    yield "children", ", ".join(view.parent.children)
    if view.skipped:
        yield "skipped", ", ".join(view.skipped)
    yield "review", _parent_state(view)
    said = view.said
    if said is not None:
        yield "run", _run_of(said)
        about = "the children as they are now" if view.is_present else "the children as they were before"
        yield "about", about
    if len(view.reviews) > 1:
        yield "rounds", f"{len(view.reviews)} ({task_command('runs', view.parent.id)})"


def _run_of(run: Run) -> str:
    agent = f" by {clean_line(run.provider)}" if run.provider else ""
    return f"{run.id}, {shown_moment(run.started_at)}{agent}"


def _parent_state(view: ReviewView) -> str:
    if view.gate is None:
        waits = ", ".join(view.open_children)
        return f"not due before they are done: {waits}" if waits else "not due: all children are skipped"
    if view.gate is GateState.OWED and view.parent.status is Status.DONE:
        return "none of its children as they are now; it is done anyway"
    return _STATES.get(view.gate) or _open_state(view.said if view.is_present else None)


def _open_state(said: Run | None) -> str:
    if said is None:
        return f"not asked for ({_SWITCH})"
    return verdict_word(said) if lets_go(said) else f"failed; it blocks nothing ({_SWITCH})"


def parent_sections(view: ReviewView, paint: Paint = str) -> Iterator[Section]:
    """Say what a parent is reviewed against, what was found, and what is owed; ``paint`` writes a verdict."""
    yield "acceptance criteria", [f"- {clean_line(one)}" for one in view.parent.acceptance_criteria]
    if view.said is not None:
        yield "verdict", list(verdict_lines(view.said, paint))
        yield "dismissed", list(_dismissal(view.said))
    yield "without a verdict", list(_attempts(view))
    yield "owed", list(_owed(view))


def verdict_lines(run: Run, paint: Paint = str) -> Iterator[str]:
    """Write what a review says of each child, and of all; nothing for a run without a verdict."""
    results = _results(run)
    width = max((len(result.task_id) for result in results), default=0)
    for result in results:
        yield f"{clean_line(result.task_id).ljust(width)}  {paint(result.status)}"
        yield from (f"    {line}" for line in clean(result.feedback or "").splitlines())
    said = {result.feedback for result in results}
    if run.parent_review_feedback and run.parent_review_feedback not in said:
        yield "of all"
        yield from (f"    {line}" for line in clean(run.parent_review_feedback).splitlines())


def _results(run: Run) -> list[ChildResult]:
    """Give what is said of each child; early records only name those that are to be resumed."""
    if run.parent_review_results:
        return [result for _, result in sorted(run.parent_review_results.items())]
    flagged = run.parent_review_resume_task_ids
    return [ChildResult(task_id=task_id, status=ChildStatus.FAILED) for task_id in flagged]


def _dismissal(said: Run) -> Iterator[str]:
    dismissed = said.parent_review_dismissed
    if dismissed is not None:
        by = f" by {clean_line(dismissed.by)}" if dismissed.by else ""
        yield f"{shown_moment(dismissed.at)}{by}"
        yield from clean(dismissed.reason).splitlines()


def _attempts(view: ReviewView) -> Iterator[str]:
    for run in view.attempts:
        yield f"run {run.id}, {shown_moment(run.started_at)}"
        yield f"    {clean_line(run.error or NO_REASON)}"


def _owed(view: ReviewView) -> Iterator[str]:
    for one in view.owed:
        yield f"{one.task.id}  {clean_line(one.task.title)} ({one.task.status.value})"
        yield from (f"    {line}" for line in clean(one.feedback.feedback).splitlines())
        yield f"      {one.command}"


def parent_steps(view: ReviewView) -> tuple[str, ...]:
    """Give the commands that get on with a parent that its review holds back."""
    parent = view.parent
    steps = [one.command for one in view.owed]
    if len(view.owed) > 1:
        steps.append(task_command("resume --all", parent.id, remark="all of them"))
    is_owed = view.gate is GateState.OWED and parent.status is not Status.DONE
    if is_owed and not view.owed:
        steps.append(task_command("review run", parent.id, remark="or `git blackbird execute`"))
    if is_owed or view.gate is GateState.FAILING or view.owed:
        steps.append(dismiss_command(parent.id))
    return tuple(steps)


def change_facts(view: ChangeReviewView) -> Iterator[tuple[str, str]]:
    """Say how the reviews of a leaf's change stand, in few words."""
    yield "status", view.task.status.value
    if view.run is not None:
        yield "run", _run_of(view.run)
    yield "reviews", _change_state(view)


def _change_state(view: ChangeReviewView) -> str:
    run = view.run
    if run is None:
        return "it never ran"
    if run.review_state is ReviewState.DUE and run.superseded_at is None:
        return "due"
    if view.merged is None:
        return _state_without(view, run)
    return f"{overall_word(view.merged)}, round {run.review_round or 1} of {view.max_rounds}{_after(run)}"


def _state_without(view: ChangeReviewView, run: Run) -> str:
    """Say how the reviews of a change stand of which none has come to anything."""
    if run.superseded_at is not None:
        return "none: the run was superseded"
    if run.review_state is ReviewState.BY_HAND:
        return "requested by hand, not finished"
    if run.merged_review is not None:
        return overall_word(None)
    return "none" if view.is_on else "none (reviews.mode is off)"


def _after(run: Run) -> str:
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        return f"; changes requested by {'its reviewers' if run.requested_by == BY_REVIEWERS else 'a person'}"
    return f"; decision: {run.decision_state.value}" if run.decision_state is not None else ""


def change_missing(view: ChangeReviewView) -> tuple[str, ...]:
    """Say of each review that is missing why it is."""
    texts = () if view.merged is None else missing_texts(view.merged, view.about)
    return tuple(clean_line(text, _LONGEST_FAULT) for text in texts)


def change_rounds(view: ChangeReviewView) -> list[tuple[str, str, str, str]]:
    """Give the rounds as rows: number, run, what the reviews came to, decision; none where one is all."""
    if len(view.rounds) <= 1 and all(run is view.run for run in view.rounds):
        return []
    return [
        (
            str(run.review_round or 1),
            f"run {run.id}",
            overall_word(readable_merged(run)),
            shown_decision(run),
        )
        for run in view.rounds
    ]


def change_steps(view: ChangeReviewView) -> tuple[str, ...]:
    """Give the commands that get on with a change that is reviewed, or could be."""
    run = view.run
    if run is None or run.superseded_at is not None:
        return ()
    if run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        return ()
    again = task_command("review run", view.task.id)
    if run.is_pending:
        return (decide_run_command(run), again)
    if run.review_state is ReviewState.DUE or run.decision_state is DecisionState.CHANGES_REQUESTED:
        return (EXECUTE,)
    mend = task_command("resume", view.task.id, " -m TEXT")
    return (again, mend) if view.merged is not None and view.merged.findings else (again,)

"""Texts that interfaces share: changes, paths, checks, decisions; light, as reading commands import it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from git_blackbird.clean import one_line
from git_blackbird.messages.display.quantities import counted, format_moment, some_of
from git_blackbird.messages.document import Line, Span, Style, block, line, plain
from git_blackbird.model.base.next_steps import ADOPT, Sentence
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import result_of
from git_blackbird.model.rules.status import StatusChange
from git_blackbird.model.run.history import Adoptable, AdoptableKind
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import (
    Landed,
    LandingBlocked,
    Question,
    ReviewComment,
    Ruling,
    Side,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    REVIEWER_TYPES,
    SUPERSEDED_BY_PLAN,
    DecisionState,
    ReviewerVerdict,
    RunStatus,
    RunType,
)
from git_blackbird.model.run.summary import Summary

MAX_LISTED = 10


def bulleted_lines(items: Sequence[str], most: int) -> list[str]:
    """Return a line for each of the first items, and one that counts the others."""
    more = [f"and {len(items) - most} more"] if len(items) > most else []
    return [f"- {item}" for item in (*items[:most], *more)]


_LABELS = {
    "DONE": Style.DONE,
    "READY": Style.READY,
    "IN_PROGRESS": Style.WORKING,
    "WAITING_USER": Style.WAITING,
    "FAILED": Style.FAILED,
    "BLOCKED": Style.BLOCKED,
}


def label_span(label: str) -> Span:
    """Return a task's label."""
    return Span(label, _LABELS.get(label, Style.PLAIN))


def dependency_title(dep: Task, reason: str | None) -> str:
    """Return the title of a dependency, and why it is one."""
    because = f", because {reason}" if reason else ""
    return f"{dep.title}{because}"


def unblocks_text(count: int) -> str:
    """Say after other words how many tasks an answer unblocks; "" for none."""
    return f", unblocks {counted(count, 'task')}" if count else ""


def redacted_text(run: Run) -> str | None:
    """Count the secrets that were masked in a run's output; None if none were."""
    counts = run.masked_secrets
    if not counts:
        return None
    kinds = (kind if count == 1 else f"{kind} ({count})" for kind, count in sorted(counts.items()))
    return f"{counted(sum(counts.values()), 'secret')} in its output: {', '.join(kinds)}"


def masked_text(where: str, kinds: Sequence[str]) -> str:
    """Say what stands behind the marks in a text that is acted on."""
    named = (f"the value of {kind}" if kind.startswith("$") else kind for kind in kinds)
    return f"masked in {where}: {', '.join(named)}"


def render_totals(summary: Summary) -> str:
    """Count the files and lines of a change."""
    totals = summary.totals
    files = max(totals.files, len(summary.files))
    if not files:
        return "no changes" if summary.minimal is None else "changes unknown"
    return f"{counted(files, 'file')}, +{totals.additions} -{totals.deletions}"


def question_line(question: Question) -> str:
    """Return what an agent asks, with the options, in one line."""
    return one_line(f"{question.id}: {question_text(question)}")


def question_text(question: Question) -> str:
    """Return a question with its options, as they were written."""
    options = f" ({', '.join(question.options)})" if question.options else ""
    return question.prompt + options


def ruling_lines(ruling: Ruling) -> Iterator[str]:
    """Return what an agent decided itself and why, and below that the question."""
    why = f" ({ruling.reason})" if ruling.reason else ""
    decided = ruling.decision or "it did not say what it decided"
    yield f"{ruling.question.id}: {decided}{why}"
    yield f"  asked: {question_text(ruling.question)}"


def bare_quote_error(rulings: Iterable[Ruling], request: str) -> str | None:
    """Say of which ruling a change request has the quotation alone; None where there is none."""
    bare = (quoted(ruling.question.id) for ruling in rulings if ruling.is_bare_in(request))
    return next((f"write your ruling below the quote of {name}" for name in bare), None)


def message_lines(messages: PendingMessages) -> Iterator[str]:
    """Return what the agent of a task is to be told: feedback of a parent review, requests, answers."""
    review = messages.review
    if review is not None:
        where = f"{review.parent_task_id} (run {review.review_run_id})"
        yield f"from the review of {where}:"
        yield from (f"  {line}" for line in plain(block(review.feedback)))
    for text in messages.texts:
        yield from plain(block(text))
    for answer in messages.answers:
        yield f"{answer.id}: {answer.value}"


def render_path(path: str) -> str:
    """Return a path on one line; quoted if it contains what a terminal cannot show."""
    return path if path.isprintable() else json.dumps(path)


def place_words(comment: ReviewComment) -> str:
    """Return path and lines of a comment, as an agent and a person read them."""
    if comment.is_on_file:
        return render_path(comment.path)
    lines = f"{comment.start}" if comment.start == comment.end else f"{comment.start}-{comment.end}"
    when = " (before the change)" if comment.side is Side.OLD else ""
    return f"{render_path(comment.path)}:{lines}{when}"


def agent_words(task: Task) -> str:
    """Return the agent and the model that a task names, in a few words; "" for none."""
    return " ".join(filter(None, (task.agent, task.model)))


def agent_text(run: Run) -> str:
    """Return the agent of a run, and the worker that it ran on; "" if neither is known."""
    on = f"on {run.worker}" if run.worker else ""
    return f"{run.provider} {on}".strip()


def review_word(run_type: RunType) -> str:
    """Return the kind of review of a run; "" if it is not a review."""
    return run_type.value.replace("_", " ") if run_type in REVIEWER_TYPES else ""


def landing_text(run: Run) -> str:
    """Say whether a change has landed, which in place is its commit alone, and when, or why not."""
    match run.landing:
        case Landed():
            both = f", both added in {', '.join(run.landing_additions)}" if run.landing_additions else ""
            word = "landed" if not run.is_in_place else "in place" if run.uncommitted_landing else "committed"
            text = f"{word} {format_moment(run.landed_at or '')}".rstrip() + both
        case LandingBlocked():
            text = "blocked"
        case _:
            text = "due" if stage_of(run) is Stage.LANDING else "not yet"
    return f"{text}: {run.landing_reason}" if run.landing_reason else text


def run_seconds(run: Run, now: str) -> float | None:
    """Return the duration of a run, so far or in total; None if unknown."""
    if run.completed_at is not None:
        return seconds_between(run.started_at, run.completed_at)
    return seconds_between(run.started_at, now) if run.status is RunStatus.RUNNING else None


def format_decision(run: Run) -> str:
    """Return the decision on a run, or a review's verdict, in a word; ``-`` if there is none."""
    if run.is_review:
        return verdict_word(run)
    if run.was_superseded_undecided:
        return "superseded"
    if run.decision_state is None:
        return "-"
    return "changes" if run.decision_state is DecisionState.CHANGES_REQUESTED else run.decision_state.words


def _verdict_of_reviewer(verdict: ReviewerVerdict) -> str:
    match verdict:
        case ReviewerVerdict.APPROVED:
            return "approved"
        case ReviewerVerdict.APPROVED_WITH_MINOR:
            return "minor"
        case ReviewerVerdict.ISSUES:
            return "issues"
        case _:
            assert_never(verdict)


def verdict_word(run: Run) -> str:
    """Return the result of a review in a word; ``-`` without a verdict."""
    if run.is_of_change:
        result = result_of(run)
        return "-" if result is None else _verdict_of_reviewer(result.counted_verdict)
    if run.dismissed is not None:
        return "dismissed"
    if run.parent_review_passed is None:
        return "-"
    word = "passed" if run.parent_review_passed else "failed"
    return f"{word}, void" if run.superseded_by == SUPERSEDED_BY_PLAN else word


def reset_lines(reset: StatusChange) -> Iterator[Line]:
    """Describe the effects of a status change; nothing if there were none."""
    yield from map(line, reset.commits)
    for run in reset.overtaken:
        if run.decision_state is DecisionState.PENDING:
            yield line(f"the decision due on run {run.id} is dropped")
        if run.decision_state is DecisionState.CHANGES_REQUESTED and run.decision_feedback in reset.pending:
            yield line(f"the change request on run {run.id} stays pending: it is sent with the next start")
    if reset.let_go is not None:
        parent = reset.let_go.parent_task_id
        yield line(f"feedback from the review of {parent} was dropped; it was never sent")
    if reset.reopened:
        yield line(f"also changed: {', '.join(reset.reopened)}")
    if reset.dependents:
        yield line(f"not reset, although they depend on it: {', '.join(reset.dependents)}")


def undo_lines(commands: Iterable[str]) -> Iterator[str]:
    """Name the commands that take a rejected change back."""
    return (f"to take the change back: {command}" for command in commands)


def moved_lines(paths: Iterable[str]) -> Iterator[Line]:
    """Return each path of a change that looks different in the worktree by now."""
    return (line(f"the worktree differs from the change in {path}") for path in paths)


def some_paths(paths: Sequence[str]) -> str:
    """List the first of these paths, or other names, and count the rest."""
    return some_of([*map(render_path, paths)], MAX_LISTED)


_ADOPTABLE_NOUNS = {
    AdoptableKind.RUN: "run",
    AdoptableKind.REVIEW: "review of a parent",
    AdoptableKind.DECISION: "decision",
    AdoptableKind.FEEDBACK: "feedback",
}


def adoptable_text(items: Sequence[Adoptable]) -> str:
    """Say in a line what lies below ``.blackbird/`` and could be adopted; "" for nothing."""
    if not items:
        return ""
    counts = adoptable_counts(items)
    return Sentence(f"of another program or clone, not counted: {counts}; ", ADOPT, f" {ADOPT.remark}")


def adoptable_counts(items: Sequence[Adoptable]) -> str:
    """Count by kind what could be adopted."""
    kinds = [item.kind for item in items]
    return ", ".join(
        counted(kinds.count(kind), noun) for kind, noun in _ADOPTABLE_NOUNS.items() if kind in kinds
    )


def adoptable_lines(items: Sequence[Adoptable]) -> Iterator[Line]:
    """Say in a line for each what would count if it were adopted, with all that would be acted on."""
    for item in items:
        becomes = f"; {item.task_id} would be {item.becomes}" if item.becomes is not None else ""
        yield line(f"{item.task_id}  {_adoptable_words(item)}{becomes}")


def adopted_text(item: Adoptable, status: Status) -> str:
    """Say what was adopted, and what its task is now."""
    return f"adopted for {item.task_id}: {_adoptable_words(item)}; {item.task_id} is {status}"


def _adoptable_words(item: Adoptable) -> str:
    found = item.found
    if isinstance(found, Feedback):
        return f"feedback of the review of {found.parent_task_id}: {_quote(found.feedback)}"
    if item.kind is AdoptableKind.REVIEW:
        verdict = {True: "passed", False: "failed", None: "no verdict"}[found.parent_review_passed]
        flagged = f" {', '.join(found.parent_review_resume_task_ids)}"
        said = f": {_quote(found.parent_review_feedback)}" if found.parent_review_feedback else ""
        return f"review {found.id} of {format_moment(found.started_at)}, {verdict}{flagged.rstrip()}{said}"
    state = "" if found.decision_state is None else f", {found.decision_state.words}"
    asked = f": {_quote(found.decision_feedback)}" if found.decision_feedback else ""
    if item.kind is AdoptableKind.DECISION:
        return f"decision on run {found.id}{state}{asked}"
    session = found.provider_session_ref
    ours = f", session {session} of {found.provider}" if session else ""
    return f"run {found.id} of {format_moment(found.started_at)}, {found.status}{state}{asked}{ours}"


def _quote(text: str) -> str:
    return f'"{text}"'

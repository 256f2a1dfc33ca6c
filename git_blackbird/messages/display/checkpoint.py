"""The lines of a checkpoint; user interfaces only add colours."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from git_blackbird.messages.display.events import render_reason
from git_blackbird.messages.display.format import (
    MAX_LISTED,
    UsageCost,
    check_lines,
    check_word,
    counted,
    format_seconds,
    notes_on_head,
    place_words,
    render_cost,
    render_path,
    render_spent,
    render_totals,
    run_seconds,
    submodule_lines,
)
from git_blackbird.messages.display.merged_review import render_merged_text
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.base.sanitize import clean_line, escape_controls, strip_controls
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.check import CheckOutcome
from git_blackbird.model.run.comment import ReviewComment
from git_blackbird.model.run.findings import MergedReview, MergedVerdict
from git_blackbird.model.run.summary import MAX_FILES, FileChange, Summary
from git_blackbird.model.views.checkpoint import Checkpoint, CommentOutcome, CommitPreview, SinceRequest

TITLE = "Task review checkpoint"
SUBMODULES = "Submodules (edits inside them are neither approved nor committed here):"
# The last ones: what was done and what is left comes at the end.
_MAX_RESULT_LINES = 4
# If nothing was changed, the decision depends on this alone.
_MAX_RESULT_LINES_WITHOUT_CHANGE = 20
_MAX_REVIEW_LINES = 60
_MAX_REQUEST_LINES = 12
_MAX_CRITERIA = 20
_LONGEST_CRITERION = 400
_LONGEST_QUOTED = 400
# What they leave out is with the task; what was done comes below them.
_MAX_TASK_LINES = 6
_LONGEST_TASK_TEXT = 400
_LONGEST_PATH = 1000


class Style(StrEnum):
    """The kind of a line, for colouring."""

    PLAIN = "plain"
    HEADING = "heading"
    ADDED = "added"
    REMOVED = "removed"
    PLACE = "place"
    WARNING = "warning"
    FAINT = "faint"


_DIFF_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.PLACE}


@dataclass(frozen=True)
class StyledLine:
    """One line, sanitized for a terminal: interfaces show whatever it is made of."""

    text: str
    tone: Style = Style.PLAIN

    def __post_init__(self) -> None:
        """Clean the text, which costs little where that was done before."""
        object.__setattr__(self, "text", strip_controls(self.text))


def render_checkpoint(checkpoint: Checkpoint) -> list[StyledLine]:
    """Return everything needed for the decision, except the title."""
    return [
        *_task(checkpoint.task),
        *_outcome(checkpoint),
        *_findings(checkpoint),
        *_account(checkpoint),
        *_since_request(checkpoint.since_request),
        *_both_added(checkpoint.both_added),
        *_summary(checkpoint.summary),
        *_warnings(checkpoint),
    ]


def checkpoint_facts(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield agent, time, tokens, cost and round of a change, and what its check said, as far as known."""
    run = checkpoint.run
    if run.provider:
        yield clean_line(run.provider) + (f" on {clean_line(run.worker)}" if run.worker else "")
    seconds = run_seconds(run, run.completed_at or "")
    if seconds is not None:
        yield format_seconds(seconds)
    spent = UsageCost().updated(run.own.agent.usage, checkpoint.cost_usd)
    if spent:
        yield render_spent(spent)
    if checkpoint.round_number > 1:
        yield f"round {checkpoint.round_number}"
    yield str(run.status)
    if run.own.check is not None:
        yield f"check {check_word(run.own.check)}"
    if checkpoint.merged is not None:
        yield f"reviews: {overall_word(checkpoint.merged)}"
    if checkpoint.behind:
        yield f"{checkpoint.behind} more behind this"


def render_overview(checkpoint: Checkpoint, unsent: Iterable[ReviewComment] = ()) -> list[StyledLine]:
    """Return the same without files and snippets, for where the whole diff stands beside it.

    What the task asks for comes in addition, and the comments that are not sent yet.
    """
    if checkpoint.pair is not None:
        checkpoint = replace(checkpoint, summary=checkpoint.summary.model_copy(update={"cut": ()}))
    return [
        *_task(checkpoint.task),
        *_outcome(checkpoint),
        *_unsent(unsent),
        *_texts_of(checkpoint.task),
        *_findings(checkpoint),
        *_account(checkpoint),
        *_since_request(checkpoint.since_request),
        *_both_added(checkpoint.both_added),
        *(() if checkpoint.pair is not None else _summary(checkpoint.summary)),
        *_warnings(checkpoint),
    ]


def _task(task: Task) -> Iterator[StyledLine]:
    """Say what was to be done."""
    yield StyledLine(f"Task: {task.id} - {clean_line(task.title)}", Style.HEADING)
    yield from _criteria(task)


def _texts_of(task: Task) -> Iterator[StyledLine]:
    """Show the beginnings of what the task says."""
    for title, text in (("Description:", task.description), ("Prompt:", task.prompt)):
        whole = strip_controls(text).strip()
        lines = whole[:_LONGEST_TASK_TEXT].splitlines()[:_MAX_TASK_LINES]
        if lines:
            yield StyledLine(title, Style.HEADING)
            yield from (StyledLine(f"  {_kept_indent(line)}") for line in lines)
        if left := len(whole) - len("\n".join(lines)):
            yield StyledLine(f"  ({left} more characters)", Style.FAINT)


def _unsent(comments: Iterable[ReviewComment]) -> Iterator[StyledLine]:
    """List the comments on lines that wait for a request to be sent with."""
    lines = [f"{place_words(comment)}: {clean_line(comment.text)}" for comment in comments]
    yield from _bulleted("Your comments, not sent yet:", lines, Style.WARNING)


def _outcome(checkpoint: Checkpoint) -> Iterator[StyledLine]:
    """Say how the run ended, and what the check proves."""
    run = checkpoint.run
    why = f" ({clean_line(run.error)})" if run.error else ""
    tone = Style.PLAIN if run.error is None else Style.WARNING
    yield StyledLine(f"Run status: {run.status}{why}", tone)
    if run.own.check is not None:
        lines = list(check_lines(run.own.check))
        tone = Style.PLAIN if run.own.check.outcome is CheckOutcome.PASSED else Style.WARNING
        yield StyledLine(f"Check: {lines[0]}", tone)
        yield from (StyledLine(f"  {line}", Style.FAINT) for line in lines[1:])
    if checkpoint.conflict is not None:
        yield StyledLine(f"Careful: {clean_line(checkpoint.conflict)}", Style.WARNING)


def _findings(checkpoint: Checkpoint) -> Iterator[StyledLine]:
    """Show the reviewers' findings and why a person must judge."""
    merged = checkpoint.merged
    if merged is not None:
        is_clear = merged.overall is MergedVerdict.APPROVED and not merged.missing
        yield StyledLine(f"Reviews: {overall_word(merged)}", Style.PLAIN if is_clear else Style.WARNING)
        yield from _review_lines(merged, checkpoint.task)
    yield from _reasons(checkpoint)


def _review_lines(merged: MergedReview, task: Task) -> Iterator[StyledLine]:
    lines = strip_controls(render_merged_text(merged)).splitlines()
    for line in lines[:_MAX_REVIEW_LINES]:
        yield StyledLine(line, Style.PLAIN if line.startswith(" ") else Style.HEADING)
    if len(lines) > _MAX_REVIEW_LINES:
        rest = task_command("review show", task.id)
        yield StyledLine(f"({len(lines) - _MAX_REVIEW_LINES} more lines: {rest})", Style.FAINT)


def _reasons(checkpoint: Checkpoint) -> Iterator[StyledLine]:
    """Return why a person decides, also where no checkpoint asks."""
    tone = Style.WARNING if checkpoint.is_doubtful else Style.PLAIN
    yield from (StyledLine(render_reason(reason), tone) for reason in checkpoint.reasons)


def _account(checkpoint: Checkpoint) -> Iterator[StyledLine]:
    """Say which run it was, at what cost, and what its agent says of it."""
    run = checkpoint.run
    if facts := list(_facts(checkpoint)):
        yield StyledLine(", ".join(facts), Style.FAINT)
    if checkpoint.worktree is not None:
        yield StyledLine(f"Worktree: {clean_line(checkpoint.worktree, _LONGEST_PATH)}", Style.FAINT)
    if checkpoint.behind:
        waits = "decision waits" if checkpoint.behind == 1 else "decisions wait"
        yield StyledLine(f"{checkpoint.behind} more {waits} behind this one", Style.FAINT)
    if run.own.agent.result:
        most = _MAX_RESULT_LINES_WITHOUT_CHANGE if run.own.no_change else _MAX_RESULT_LINES
        yield StyledLine("Agent says:", Style.HEADING)
        yield from _last(map(clean_line, strip_controls(run.own.agent.result).strip().splitlines()), most)


def _first(texts: Iterable[str], most: int, more: str = "more lines") -> Iterator[StyledLine]:
    """Yield the first lines of a text, indented, and how many there are besides."""
    lines = list(texts)
    yield from (StyledLine(f"  {line}") for line in lines[:most])
    if len(lines) > most:
        yield StyledLine(f"  ({len(lines) - most} {more})", Style.FAINT)


def _last(texts: Iterable[str], most: int) -> Iterator[StyledLine]:
    """Yield how many lines of a text come before its last ones, and those, indented."""
    lines = list(texts)
    if len(lines) > most:
        yield StyledLine(f"  ({counted(len(lines) - most, 'line')} before)", Style.FAINT)
    yield from (StyledLine(f"  {line}") for line in lines[-most:])


def _kept_indent(line: str) -> str:
    """Return a cleaned line as it is, as far as there is room for it: it may be code."""
    shown = line.expandtabs().rstrip()
    return shown if len(shown) <= _LONGEST_QUOTED else f"{shown[: _LONGEST_QUOTED - 3]}..."


def _criteria(task: Task) -> Iterator[StyledLine]:
    if task.acceptance_criteria:
        yield StyledLine("Acceptance criteria:", Style.HEADING)
        texts = (f"- {clean_line(text, _LONGEST_CRITERION)}" for text in task.acceptance_criteria)
        yield from _first(texts, _MAX_CRITERIA, f"more: {task_command('show', task.id)}")


def _since_request(since: SinceRequest | None) -> Iterator[StyledLine]:
    """Quote the last request, and list what was done since."""
    if since is None:
        return
    yield StyledLine("Changes requested:", Style.HEADING)
    lines = strip_controls(since.request).strip().splitlines()
    yield from _first((f"> {_kept_indent(line)}".rstrip() for line in lines), _MAX_REQUEST_LINES)
    yield from _outcomes(since.comments)
    yield StyledLine("Changed since the request:", Style.HEADING)
    if since.summary.minimal is not None:
        yield StyledLine(f"  not known: {clean_line(since.summary.minimal)}", Style.WARNING)
    else:
        yield from _files(since.summary, "  ")


def _outcomes(comments: Iterable[CommentOutcome]) -> Iterator[StyledLine]:
    """Tell of each comment on lines whether these were changed since."""
    outcomes = list(comments)
    if outcomes:
        yield StyledLine("Your comments:", Style.HEADING)
    for comment, is_taken_up in outcomes[:MAX_FILES]:
        word, tone = ("changed", Style.PLAIN) if is_taken_up else ("not changed", Style.WARNING)
        yield StyledLine(f"  {word:<11}  {place_words(comment)}: {clean_line(comment.text)}", tone)


def _facts(checkpoint: Checkpoint) -> Iterator[str]:
    yield f"Run {checkpoint.run.id}"
    if checkpoint.run.provider:
        yield clean_line(checkpoint.run.provider)
    if checkpoint.runs > 1:
        yield f"{checkpoint.runs} runs together"
    if checkpoint.cost_usd:
        yield f"cost {render_cost(checkpoint.cost_usd)}"


def _summary(summary: Summary) -> Iterator[StyledLine]:
    yield StyledLine("Review summary:", Style.HEADING)
    if summary.minimal is not None:
        yield StyledLine(f"  this summary is minimal: {clean_line(summary.minimal)}", Style.WARNING)
    yield StyledLine("  Files:", Style.HEADING)
    yield from _files(summary, "    ")
    yield StyledLine("  Snippets:", Style.HEADING)
    yield from _snippets(summary, "    ")
    if not summary.snippets:
        yield StyledLine("    (none)", Style.FAINT)


def _both_added(summary: Summary | None) -> Iterator[StyledLine]:
    """Show the lines that are to land beside others."""
    if summary is None:
        return
    yield StyledLine("Both added here (your lines stay above those of the task):", Style.WARNING)
    yield from _files(summary, "  ")
    yield from _snippets(summary, "  ")


def _snippets(summary: Summary, indent: str) -> Iterator[StyledLine]:
    for snippet in summary.snippets:
        yield StyledLine(f"{indent}{render_path(snippet.file)}", Style.PLACE)
        for line in escape_controls(snippet.snippet).split("\n"):
            yield StyledLine(f"{indent}  {line}", _DIFF_STYLES.get(line[:1], Style.PLAIN))


def _files(summary: Summary, indent: str) -> Iterator[StyledLine]:
    """List each path once, with its status and the number of changed lines."""
    if summary.changes:
        texts = [_file(change) for change in summary.changes]
    elif lines := strip_controls(summary.diffstat).splitlines():
        # The Go program only has the numbers as formatted by git.
        texts = [line.strip() for line in lines]
    else:
        texts = [render_path(path) for path in summary.files]
    yield from (StyledLine(indent + text) for text in texts[:MAX_FILES])
    if not texts:
        yield StyledLine(f"{indent}(none)", Style.FAINT)
    if summary.totals.files > 1:
        yield StyledLine(f"{indent}together: {render_totals(summary)}", Style.FAINT)


def _file(change: FileChange) -> str:
    name = render_path(change.path)
    if change.old_path is not None:
        name = f"{render_path(change.old_path)} -> {name}"
    lines = "binary" if change.binary else f"+{change.additions} -{change.deletions}"
    mode = f" (mode {change.old_mode} -> {change.new_mode})" if change.new_mode else ""
    return f"{change.status} {name}  {lines}{mode}"


def _warnings(checkpoint: Checkpoint) -> Iterator[StyledLine]:
    """Return warnings that may affect the decision, and what the summary omits."""
    summary, run = checkpoint.summary, checkpoint.run
    cut = [clean_line(part) for part in summary.cut]
    left_out = [f"{render_path(left.path)} ({clean_line(left.reason)})" for left in summary.left_out]
    between = [f"{render_path(edit.path)} by run {edit.run} of {edit.task}" for edit in summary.between]
    yield from _bulleted("Not all is shown:", cut, Style.FAINT)
    yield from _bulleted("Left out of the snapshot:", left_out, Style.WARNING)
    yield from _bulleted(SUBMODULES, submodule_lines(summary), Style.WARNING)
    yield from _bulleted("Also touched by another task in between:", between, Style.WARNING)
    for heading, lines in notes_on_head(summary):
        yield from _bulleted(heading, lines, Style.WARNING)
    yield from _bulleted(
        "The worktree no longer matches the change in:", map(render_path, checkpoint.moved), Style.WARNING
    )
    edited = "Edited in its worktree after the run, and part of what is decided on:"
    yield from _bulleted(edited, map(render_path, checkpoint.edited), Style.WARNING)
    yield from _bulleted(
        "The plan changed during the run:", map(clean_line, run.own.edits.plan), Style.WARNING
    )
    yield from _bulleted(
        "The configuration changed during the run:", map(clean_line, run.own.edits.config), Style.WARNING
    )
    if run.own.decision.hook_output is not None:
        yield from _bulleted(
            "A hook refused the commit:",
            strip_controls(run.own.decision.hook_output).splitlines(),
            Style.WARNING,
        )
    yield from _bulleted("Notes:", map(clean_line, run.own.notes), Style.WARNING)
    if checkpoint.other_branch is not None:
        yield StyledLine(f"Another branch: {checkpoint.other_branch.text}", Style.WARNING)
    if checkpoint.commit is not None:
        yield from _outlook(checkpoint.commit)


def _outlook(commit: CommitPreview) -> Iterator[StyledLine]:
    """Describe what approving would commit at present."""
    heading = "Cannot commit this change yet:"
    yield from _bulleted(heading, map(clean_line, commit.obstacles), Style.WARNING)
    if not commit.obstacles:
        where = "a detached HEAD" if commit.branch is None else clean_line(commit.branch)
        paths = f"{counted(commit.paths, 'path')} on {where}"
        what = paths if commit.paths else "nothing: HEAD already has the whole change"
        yield StyledLine(f"Approving commits {what}", Style.FAINT)


def _bulleted(heading: str, texts: Iterable[str], tone: Style) -> Iterator[StyledLine]:
    lines = list(texts)
    if not lines:
        return
    yield StyledLine(heading, tone)
    yield from (StyledLine(f"  {text}", tone) for text in lines[:MAX_LISTED])
    if len(lines) > MAX_LISTED:
        yield StyledLine(f"  and {len(lines) - MAX_LISTED} more", tone)

"""What a checkpoint says, line by line; faces differ only in how they colour it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from git_blackbird.messages.amounts import render_cost, render_path, render_totals
from git_blackbird.messages.event_text import render_reason
from git_blackbird.messages.merged_review import render_merged_text
from git_blackbird.messages.review_text import overall_word
from git_blackbird.model.change import MAX_FILES, FileChange, OutsideMove, Summary
from git_blackbird.model.checkpoint import Checkpoint, CommitOutlook, SinceRequest
from git_blackbird.model.commands import task_command
from git_blackbird.model.findings import Overall
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean, clean_line, visible

TITLE = "Task review checkpoint"
OUTSIDE = "Meanwhile in HEAD, not by this run, and not in the change:"
OUTSIDE_UNKNOWN = "Meanwhile in HEAD, and in the change, since whose they are is not known:"
SUBMODULES = "Submodules (edits inside them are neither approved nor committed here):"
_MAX_LISTED = 10
_MAX_RESULT_LINES = 4
# Where nothing was changed, this is all there is to decide by.
_MAX_RESULT_LINES_WITHOUT_CHANGE = 20
_MAX_REVIEW_LINES = 60
_MAX_REQUEST_LINES = 12
_MAX_CRITERIA = 20
_LONGEST_CRITERION = 400


class Tone(StrEnum):
    """What a line is, for who shows colours."""

    PLAIN = "plain"
    HEADING = "heading"
    ADDED = "added"
    REMOVED = "removed"
    PLACE = "place"
    WARNING = "warning"
    FAINT = "faint"


@dataclass(frozen=True)
class Line:
    """One line, cleaned for a terminal."""

    text: str
    tone: Tone = Tone.PLAIN


def render_checkpoint(checkpoint: Checkpoint) -> list[Line]:
    """Say everything a person needs for the decision, less the title."""
    return [
        *_head(checkpoint),
        *_since_request(checkpoint.since_request),
        Line("Review summary:", Tone.HEADING),
        *_summary(checkpoint.summary),
        *_reviews(checkpoint),
        *_warnings(checkpoint),
    ]


def _head(checkpoint: Checkpoint) -> Iterator[Line]:
    run, task = checkpoint.run, checkpoint.task
    yield Line(f"Task: {task.id} - {clean_line(task.title)}", Tone.HEADING)
    yield from _criteria(task)
    failed = run.error is not None
    yield Line(f"Run status: {run.status}{_reason(run)}", Tone.WARNING if failed else Tone.PLAIN)
    if checkpoint.merged is None:
        yield from _reasons(checkpoint)
    else:
        # What they found stands below what they looked at, and may not be in view.
        is_clear = checkpoint.merged.overall is Overall.APPROVED and not checkpoint.merged.missing
        yield Line(f"Reviews: {overall_word(checkpoint.merged)}", Tone.PLAIN if is_clear else Tone.WARNING)
    if facts := list(_facts(checkpoint)):
        yield Line(", ".join(facts), Tone.FAINT)
    if run.result:
        lines = clean(run.result).strip().splitlines()
        most = _MAX_RESULT_LINES_WITHOUT_CHANGE if run.no_change else _MAX_RESULT_LINES
        yield Line("Agent says:", Tone.HEADING)
        yield from (Line(f"  {clean_line(line)}") for line in lines[:most])
        if len(lines) > most:
            yield Line(f"  ({len(lines) - most} more lines)", Tone.FAINT)


def _criteria(task: Task) -> Iterator[Line]:
    criteria = task.acceptance_criteria
    if not criteria:
        return
    yield Line("Acceptance criteria:", Tone.HEADING)
    yield from (Line(f"  - {clean_line(text, _LONGEST_CRITERION)}") for text in criteria[:_MAX_CRITERIA])
    if len(criteria) > _MAX_CRITERIA:
        rest = task_command("show", task.id)
        yield Line(f"  ({len(criteria) - _MAX_CRITERIA} more: {rest})", Tone.FAINT)


def _since_request(since: SinceRequest | None) -> Iterator[Line]:
    """Quote what was asked for, and list what was done since."""
    if since is None:
        return
    yield Line("Changes requested:", Tone.HEADING)
    lines = clean(since.request).strip().splitlines()
    yield from (Line(f"  > {clean_line(line)}".rstrip()) for line in lines[:_MAX_REQUEST_LINES])
    if len(lines) > _MAX_REQUEST_LINES:
        yield Line(f"  ({len(lines) - _MAX_REQUEST_LINES} more lines)", Tone.FAINT)
    yield Line("Changed since the request:", Tone.HEADING)
    if since.summary.minimal is not None:
        yield Line(f"  not known: {clean_line(since.summary.minimal)}", Tone.WARNING)
    else:
        yield from _files(since.summary, "  ")


def _reason(run: Run) -> str:
    return f" ({clean_line(run.error)})" if run.error else ""


def _facts(checkpoint: Checkpoint) -> Iterator[str]:
    yield f"Run {checkpoint.run.id}"
    if checkpoint.run.provider:
        yield clean_line(checkpoint.run.provider)
    if checkpoint.runs > 1:
        yield f"{checkpoint.runs} runs together"
    if checkpoint.cost_usd:
        yield f"cost {render_cost(checkpoint.cost_usd)}"


def _summary(summary: Summary) -> Iterator[Line]:
    if summary.minimal is not None:
        yield Line(f"  this summary is minimal: {clean_line(summary.minimal)}", Tone.WARNING)
    yield Line("  Files:", Tone.HEADING)
    yield from _files(summary, "    ")
    yield Line("  Snippets:", Tone.HEADING)
    for snippet in summary.snippets:
        yield Line(f"    {render_path(snippet.file)}", Tone.PLACE)
        yield from (_diff_line(line) for line in visible(snippet.snippet).split("\n"))
    if not summary.snippets:
        yield Line("    (none)", Tone.FAINT)


def _files(summary: Summary, indent: str) -> Iterator[Line]:
    """List each path once, with its status and how many lines changed."""
    texts = list(_file_texts(summary))
    yield from (Line(indent + text) for text in texts[:MAX_FILES])
    if not texts:
        yield Line(f"{indent}(none)", Tone.FAINT)
    if summary.totals.files > 1:
        yield Line(f"{indent}together: {render_totals(summary)}", Tone.FAINT)


def _file_texts(summary: Summary) -> Iterator[str]:
    if summary.changes:
        return (_file(change) for change in summary.changes)
    # The Go program knows the numbers only as git writes them.
    lines = clean(summary.diffstat).splitlines()
    return (line.strip() for line in lines) if lines else (render_path(path) for path in summary.files)


def _file(change: FileChange) -> str:
    name = render_path(change.path)
    if change.old_path is not None:
        name = f"{render_path(change.old_path)} -> {name}"
    lines = "binary" if change.binary else f"+{change.additions} -{change.deletions}"
    mode = f" (mode {change.old_mode} -> {change.new_mode})" if change.new_mode else ""
    return f"{change.status} {name}  {lines}{mode}"


def _diff_line(text: str) -> Line:
    tones = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.PLACE}
    return Line(f"      {text}", tones.get(text[:1], Tone.PLAIN))


def _reviews(checkpoint: Checkpoint) -> Iterator[Line]:
    """Show what the reviewers found, as spec 4 presents it, and why that is for a person to judge."""
    if checkpoint.merged is None:
        return
    lines = clean(render_merged_text(checkpoint.merged)).splitlines()
    for line in lines[:_MAX_REVIEW_LINES]:
        yield Line(line, Tone.PLAIN if line.startswith(" ") else Tone.HEADING)
    if len(lines) > _MAX_REVIEW_LINES:
        rest = task_command("review show", checkpoint.task.id)
        yield Line(f"({len(lines) - _MAX_REVIEW_LINES} more lines: {rest})", Tone.FAINT)
    yield from _reasons(checkpoint)


def _reasons(checkpoint: Checkpoint) -> Iterator[Line]:
    """Say why a person decides, also where no checkpoint asks."""
    tone = Tone.WARNING if checkpoint.is_doubtful else Tone.PLAIN
    yield from (Line(render_reason(reason), tone) for reason in checkpoint.reasons)


def _warnings(checkpoint: Checkpoint) -> Iterator[Line]:
    """Everything that may change a person's mind, and what the summary does not show."""
    summary, run = checkpoint.summary, checkpoint.run
    cut = [clean_line(part) for part in summary.cut]
    left_out = [f"{render_path(left.path)} ({clean_line(left.reason)})" for left in summary.left_out]
    between = [f"{render_path(one.path)} by run {one.run} of {one.task}" for one in summary.between]
    yield from _listed("Not all is shown:", cut, Tone.FAINT)
    yield from _listed("Left out of the snapshot:", left_out, Tone.WARNING)
    yield from _listed(SUBMODULES, submodule_lines(summary), Tone.WARNING)
    yield from _listed("Also touched by another task in between:", between, Tone.WARNING)
    yield from _listed(OUTSIDE, outside_lines(summary, in_change=False), Tone.WARNING)
    yield from _listed(OUTSIDE_UNKNOWN, outside_lines(summary, in_change=True), Tone.WARNING)
    yield from _listed(
        "The worktree no longer matches the change in:", map(render_path, checkpoint.moved), Tone.WARNING
    )
    yield from _listed("The plan changed during the run:", map(clean_line, run.plan_changes), Tone.WARNING)
    yield from _listed(
        "The configuration changed during the run:", map(clean_line, run.config_changes), Tone.WARNING
    )
    if run.hook_output is not None:
        yield from _listed("A hook refused the commit:", clean(run.hook_output).splitlines(), Tone.WARNING)
    yield from _listed("Notes:", map(clean_line, run.notes), Tone.WARNING)
    if checkpoint.other_branch is not None:
        yield Line(f"Another branch: {checkpoint.other_branch.text}", Tone.WARNING)
    if checkpoint.commit is not None:
        yield from _outlook(checkpoint.commit)


def submodule_lines(summary: Summary) -> list[str]:
    """Name the submodules of a change and what is new in each, in git's words."""
    return [
        f"submodule {render_path(one.path)}: "
        + ", ".join(
            (*(["new commits"] if one.commits else []), *(["modified content"] if one.content else []))
        )
        for one in summary.submodules
    ]


def outside_lines(summary: Summary, *, in_change: bool) -> list[str]:
    """Name what others did to HEAD during the run, in git's words, and where the change is in it as well."""
    return [
        f"{one.new[:10]} {clean_line(one.text)}{_also_changed(one)}"
        for one in summary.outside
        if one.in_change is in_change
    ]


def _also_changed(one: OutsideMove) -> str:
    if not one.paths:
        return ""
    more = f" and {len(one.paths) - _MAX_LISTED} more" if len(one.paths) > _MAX_LISTED else ""
    return f"; also changed by it: {', '.join(map(render_path, one.paths[:_MAX_LISTED]))}{more}"


def _outlook(commit: CommitOutlook) -> Iterator[Line]:
    """Say what approving commits, as things stand."""
    heading = "Cannot commit this change yet:"
    yield from _listed(heading, map(clean_line, commit.obstacles), Tone.WARNING)
    if not commit.obstacles:
        where = "a detached HEAD" if commit.branch is None else clean_line(commit.branch)
        paths = f"{commit.paths} path{'' if commit.paths == 1 else 's'}"
        what = f"{paths} on {where}" if commit.paths else "nothing: all of the change is in HEAD already"
        yield Line(f"Approving commits {what}", Tone.FAINT)


def _listed(heading: str, texts: "Iterator[str] | map[str] | list[str]", tone: Tone) -> Iterator[Line]:
    lines = list(texts)
    if not lines:
        return
    yield Line(heading, tone)
    yield from (Line(f"  {text}", tone) for text in lines[:_MAX_LISTED])
    if len(lines) > _MAX_LISTED:
        yield Line(f"  and {len(lines) - _MAX_LISTED} more", tone)

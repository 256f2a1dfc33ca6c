"""The lines of a checkpoint; user interfaces only add colours."""

from collections.abc import Iterable, Iterator

from git_blackbird.messages.display.change import (
    both_added_passages,
    notes_on_change,
    since_request_passages,
    summary_passages,
)
from git_blackbird.messages.display.events import render_reason
from git_blackbird.messages.display.evidence import (
    check_details,
    check_word,
    coverage_lines,
    edit_lines,
    evidence_word,
    proof_lines,
    red_green_lines,
)
from git_blackbird.messages.display.fitting import (
    Height,
    Passage,
    Rank,
    bulleted,
    fit,
    lines_of,
    one_line,
)
from git_blackbird.messages.display.format import (
    agent_text,
    place_words,
    redacted_text,
    render_path,
    render_totals,
    ruling_lines,
    run_seconds,
)
from git_blackbird.messages.display.merged_review import review_lines
from git_blackbird.messages.display.quantities import (
    counted,
    format_seconds,
    render_cost,
    render_spent,
)
from git_blackbird.messages.display.reviews import REQUESTERS, overall_word
from git_blackbird.messages.display.task import text_sections
from git_blackbird.messages.document import Line, Style, block, plain, styled
from git_blackbird.model.base.next_steps import Blank, Sentence, TaskCommand
from git_blackbird.model.change.change import Asked
from git_blackbird.model.change.decision import SPECS
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.spending import Spent
from git_blackbird.model.run.findings import MergedReview, MergedVerdict
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice, Requester
from git_blackbird.model.run.summary import Summary
from git_blackbird.model.views.checkpoint import Checkpoint, CommitPreview

TITLE = "Task review checkpoint"
GOES_BACK = "the change goes back to its session while it has rounds left (landing.maxRounds)"
# The last ones: what was done and what is left comes at the end.
_MAX_RESULT_LINES = 4
# If nothing was changed, the decision depends on this alone.
_MAX_RESULT_LINES_WITHOUT_CHANGE = 20
_MAX_REVIEW_LINES = 60
_MAX_REQUEST_LINES = 12
_MAX_CRITERIA = 20
_LONGEST_QUOTED = 400
_LONGEST_TASK_TEXT = 50_000


_OF_CHANGE = frozenset({Rank.SNIPPETS, Rank.FILES})


def render_checkpoint(checkpoint: Checkpoint) -> list[Line]:
    """Return everything needed for the decision, except the title."""
    return lines_of(_passages(checkpoint))


def fit_checkpoint(checkpoint: Checkpoint, rows: int, height: Height) -> tuple[list[Line], Checkpoint]:
    """Return what fits into so many rows, and the checkpoint, which knows where that is not all of it."""
    passages = fit(_passages(checkpoint), rows, height)
    is_cut = any(one.left_out and one.rank in _OF_CHANGE for one in passages)
    return lines_of(passages), checkpoint._replace(is_shown=False) if is_cut else checkpoint


def render_overview(checkpoint: Checkpoint, unsent: Iterable[ReviewComment] = ()) -> list[Line]:
    """Return the same without files and snippets, for where the whole diff stands beside it.

    Totals and all that the task says come in addition, and the comments that are not sent yet.
    """
    return lines_of(_passages(checkpoint, unsent, beside_diff=True))


def _passages(
    checkpoint: Checkpoint, unsent: Iterable[ReviewComment] = (), *, beside_diff: bool = False
) -> Iterator[Passage]:
    task = checkpoint.task
    key = f"{SPECS[Choice.REQUEST_CHANGES].digit}"
    criteria, texts = _texts_of(task) if beside_diff else (_criteria(task), ())
    yield from _rulings(checkpoint, key if beside_diff else "")
    yield one_line(f"Task: {task.id} - {task.title}", Style.HEADING)
    yield from _unproven(checkpoint.run)
    if beside_diff:
        yield one_line(f"Change: {_totals(checkpoint)}")
    yield from criteria
    yield from _outcome(checkpoint)
    yield from _unsent(unsent)
    yield from _findings(checkpoint, None if beside_diff else _MAX_REVIEW_LINES)
    yield from _account(checkpoint)
    yield from _told(checkpoint)
    yield from _asked(checkpoint)
    yield from since_request_passages(checkpoint.since_request)
    yield from both_added_passages(checkpoint.both_added)
    if not beside_diff or checkpoint.pair is None:
        yield from summary_passages(_unnoticed_first(checkpoint))
    yield from _warnings(checkpoint)
    yield from texts


def checkpoint_facts(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield agent, time, tokens and cost of the last run, and what its check said, as far as known."""
    run = checkpoint.run
    if agent := agent_text(run):
        yield agent
    seconds = run_seconds(run, run.completed_at or "")
    if seconds is not None:
        yield format_seconds(seconds)
    if spent := render_spent(Spent().updated(run.usage, run.cost_usd)):
        yield spent
    if checkpoint.round_number > 1:
        yield f"round {checkpoint.round_number}"
    yield str(run.status)
    if checkpoint.rulings:
        yield counted(len(checkpoint.rulings), "ruling")
    if run.evidence is not None:
        yield f"check: {evidence_word(run.evidence)}"
    if checkpoint.merged is not None:
        yield f"reviews: {overall_word(checkpoint.merged)}"
    if checkpoint.behind:
        yield f"{checkpoint.behind} more behind this"
    if checkpoint.unblocks:
        yield f"unblocks {counted(checkpoint.unblocks, 'task')}"


def _totals(checkpoint: Checkpoint) -> str:
    found = None if checkpoint.merged is None else counted(len(checkpoint.merged.findings), "finding")
    return ", ".join(filter(None, (render_totals(checkpoint.summary), found)))


def _rulings(checkpoint: Checkpoint, key: str) -> Iterator[Passage]:
    """List what the agent decided itself, with the key or the command that overrules it."""
    if not checkpoint.rulings:
        return
    heading = styled(f"{counted(len(checkpoint.rulings), 'ruling')} by the agent:", Style.WARNING)
    lines = (styled(f"  {line}") for ruling in checkpoint.rulings for line in ruling_lines(ruling))
    blank = Blank(" --overrule ID=TEXT", " -e")
    command = TaskCommand("decide", checkpoint.task.id, " --request-changes", "asks for another", blank=blank)
    overrule = styled(f"  {f'{key} asks for another' if key else command}", Style.FAINT)
    yield Passage((heading, *lines, overrule), Rank.REQUEST, _run_command(checkpoint.run), least=2)


def _criteria(task: Task) -> Iterator[Passage]:
    """Yield the first of what has to be met."""
    if task.acceptance_criteria:
        command = TaskCommand("show", task.id).command
        texts = (f"- {text}" for text in task.acceptance_criteria)
        lines = _first(texts, _MAX_CRITERIA, f"more: {command}")
        heading = styled("Acceptance criteria:", Style.HEADING)
        yield Passage((heading, *lines), Rank.CRITERIA, command)


def _texts_of(task: Task) -> tuple[Iterable[Passage], Iterable[Passage]]:
    """Return the acceptance criteria of a task, and its texts, each below its name."""
    criteria, texts = list[Passage](), list[Passage]()
    for title, parts in text_sections(task, _LONGEST_TASK_TEXT):
        lines = [part.behind("  ") for part in parts if isinstance(part, Line)]
        if lines:
            kind = criteria if title == "acceptance criteria" else texts
            kind.append(Passage((styled(f"{title.capitalize()}:", Style.HEADING), *lines)))
    return criteria, texts


def _unsent(comments: Iterable[ReviewComment]) -> Iterator[Passage]:
    """List the comments on lines that wait for a request to be sent with."""
    lines = [f"{place_words(comment)}: {comment.text}" for comment in comments]
    yield from bulleted("Your comments, not sent yet:", lines, Style.WARNING)


def _outcome(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Say how the run ended, and what the check proves."""
    run = checkpoint.run
    why = f" ({run.error})" if run.error else ""
    yield one_line(f"Run status: {run.status}{why}", Style.PLAIN if run.error is None else Style.WARNING)
    for check in () if run.evidence is None else run.evidence.checks:
        verdict = f"{_as_sentence(check.title)}: {check_word(check)}"
        style = Style.PLAIN if check.has_passed else Style.WARNING
        lines = (styled(f"  {line}", Style.FAINT) for line in check_details(check))
        yield Passage((styled(verdict, style), *lines), Rank.CHECK, _run_command(run), 1)
    if known := [*coverage_lines(run.coverage)]:
        where = (styled(f"  {line}", Style.FAINT) for line in known[1:])
        yield Passage((styled(f"Lines: {known[0]}", Style.PLAIN), *where), Rank.CHECK, _run_command(run), 1)
    if run.evidence is not None and (found := run.evidence.red_green) is not None:
        first, *names = red_green_lines(found)
        style = Style.PLAIN if found.red else Style.WARNING
        more = (styled(text, Style.FAINT) for text in names)
        yield Passage((styled(_as_sentence(first), style), *more), Rank.CHECK, _run_command(run), 1)
    programs = None if run.evidence is None else run.evidence.edited_programs
    for text in edit_lines(checkpoint.edited_tests, programs or ()):
        yield one_line(_as_sentence(text), Style.WARNING)
    if checkpoint.conflict is not None:
        goes_back = "" if stage_of(run) is Stage.BLOCKED else f"; approved as it is, {GOES_BACK}"
        yield one_line(f"Careful: {checkpoint.conflict}{goes_back}", Style.WARNING)


def _unproven(run: Run) -> Iterator[Passage]:
    """Begin with what no check is known to notice."""
    if run.evidence is None or run.evidence.proof is None:
        return
    first, *parts = proof_lines(run.evidence.proof)
    style = Style.WARNING if parts else Style.PLAIN
    rest = TaskCommand("runs", run.task_id, " --diff --unproven").command
    lines = (styled(_as_sentence(first), style), *map(styled, parts))
    yield Passage(lines, Rank.REVIEWS, rest)


def _unnoticed_first(checkpoint: Checkpoint) -> Summary:
    """Return the summary with the files first in which nothing notices some lines."""
    summary, evidence = checkpoint.summary, checkpoint.run.evidence
    parts = () if evidence is None else evidence.by_nothing
    first = {hunk.path for part in parts for hunk in part.hunks}
    return summary.updated(
        changes=tuple(sorted(summary.changes, key=lambda change: change.path not in first)),
        snippets=tuple(sorted(summary.snippets, key=lambda snippet: snippet.file not in first)),
    )


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _run_command(run: Run) -> str:
    return TaskCommand("runs", run.task_id, f" {run.id}").command


def _findings(checkpoint: Checkpoint, most: int | None) -> Iterator[Passage]:
    """Show the reviewers' findings and why a person must judge."""
    merged = checkpoint.merged
    if merged is not None:
        is_clear = merged.overall is MergedVerdict.APPROVED and not merged.missing
        style = Style.PLAIN if is_clear else Style.WARNING
        lines = (
            styled(f"Reviews: {overall_word(merged)}", style),
            *_review_lines(merged, checkpoint.task, most),
        )
        yield Passage(lines, Rank.REVIEWS, TaskCommand("review show", checkpoint.task.id).command)
    yield from _reasons(checkpoint)


def _review_lines(merged: MergedReview, task: Task, most: int | None) -> Iterator[Line]:
    lines = review_lines(merged)
    yield from lines[:most]
    if most is not None and len(lines) > most:
        rest, left_out = TaskCommand("review show", task.id), len(lines) - most
        yield styled(f"({left_out} more lines: {rest})", Style.FAINT, left_out)


def _reasons(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Return why a person decides, also where no checkpoint asks."""
    style = Style.WARNING if checkpoint.has_objections else Style.PLAIN
    yield from (one_line(render_reason(reason), style) for reason in checkpoint.reasons)
    if checkpoint.work_elsewhere is not None:
        yield one_line(Sentence("Careful: ", checkpoint.work_elsewhere.text), Style.WARNING)


def _account(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Say which run it was, at what cost, and what its agent says of it."""
    run = checkpoint.run
    if facts := list(_facts(checkpoint)):
        yield one_line(", ".join(facts), Style.FAINT)
    if checkpoint.worktree is not None:
        yield one_line(f"Worktree: {checkpoint.worktree}", Style.FAINT, Rank.FACTS)
    if checkpoint.behind:
        waits = "decision waits" if checkpoint.behind == 1 else "decisions wait"
        yield one_line(f"{checkpoint.behind} more {waits} behind this one", Style.FAINT, Rank.FACTS)
    if checkpoint.unblocks:
        waits = "task waits" if checkpoint.unblocks == 1 else "tasks wait"
        yield one_line(f"{checkpoint.unblocks} {waits} for this alone", Style.FAINT, Rank.FACTS)
    if run.final_text:
        most, rank = _MAX_RESULT_LINES, Rank.AGENT
        if run.no_change:
            most, rank = _MAX_RESULT_LINES_WITHOUT_CHANGE, Rank.ANSWER
        said = _last(map(_kept_indent, plain(block(run.final_text.strip()))), most)
        heading = styled("Agent says:", Style.HEADING)
        yield Passage((heading, *said), rank, _run_command(run), keeps_end=True)


def _first(texts: Iterable[str], most: int, more: str = "more lines") -> Iterator[Line]:
    """Yield the first lines of a text, indented, and how many there are besides."""
    lines = list(texts)
    yield from (styled(f"  {line}") for line in lines[:most])
    if len(lines) > most:
        yield styled(f"  ({len(lines) - most} {more})", Style.FAINT, len(lines) - most)


def _last(texts: Iterable[str], most: int) -> Iterator[Line]:
    """Yield how many lines of a text come before its last ones, and those, indented."""
    lines = list(texts)
    if len(lines) > most:
        before = len(lines) - most
        yield styled(f"  ({counted(before, 'line')} before)", Style.FAINT, before)
    yield from (styled(f"  {line}") for line in lines[-most:])


def _kept_indent(line: str) -> str:
    """Return a cleaned line as it is, as far as there is room for it: it may be code."""
    shown = line.expandtabs().rstrip()
    return shown if len(shown) <= _LONGEST_QUOTED else f"{shown[: _LONGEST_QUOTED - 3]}..."


def _told(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Quote what the agent was told while it worked."""
    for told in checkpoint.told:
        when = "when it had just ended" if told.is_late else "while it worked"
        later = "" if told.is_sent else ", and not sent yet: it goes with what its session is sent next"
        yield _quoted(checkpoint, f"Told {when}{later}:", told.text)


def _asked(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Quote what was asked for last, and say who asked, if it was not a person here."""
    asked = checkpoint.asked
    if asked is not None:
        yield _quoted(checkpoint, f"Changes requested{_asker(asked)}:", asked.text)


def _quoted(checkpoint: Checkpoint, heading: str, text: str) -> Passage:
    lines = list(plain(block(text.strip())))
    quoted = _first((f"> {_kept_indent(line)}".rstrip() for line in lines), _MAX_REQUEST_LINES)
    title = styled(heading, Style.HEADING)
    return Passage((title, *quoted), Rank.REQUEST, _run_command(checkpoint.run), least=2)


def _asker(asked: Asked) -> str:
    if isinstance(asked.by, Requester):
        return f" by {REQUESTERS[asked.by]}"
    return "" if asked.by is None else f" by the review of {asked.by}"


def _facts(checkpoint: Checkpoint) -> Iterator[str]:
    yield f"Run {checkpoint.run.id}"
    if agent := agent_text(checkpoint.run):
        yield agent
    if checkpoint.runs > 1:
        yield f"{checkpoint.runs} runs together"
    if checkpoint.round_number > 1:
        yield f"round {checkpoint.round_number}"
    if checkpoint.cost_usd:
        yield f"cost {render_cost(checkpoint.cost_usd)}"


def _warnings(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Return warnings that may affect the decision."""
    matches, edited = "The worktree no longer matches the change in:", checkpoint.edited
    yield from bulleted(matches, map(render_path, checkpoint.moved), Style.WARNING)
    by_hand = "Edited in its worktree after the run, and part of what is decided on:"
    yield from bulleted(by_hand, map(render_path, edited), Style.WARNING)
    for title, texts in notes_on_change(checkpoint.run, checkpoint.summary, checkpoint.outside):
        yield from bulleted(f"{_as_sentence(title)}:", texts, Style.WARNING)
    if (redacted := redacted_text(checkpoint.run)) is not None:
        yield one_line(f"Redacted: {redacted}", Style.FAINT)
    if checkpoint.other_branch is not None:
        yield one_line(f"Another branch: {checkpoint.other_branch.text}", Style.WARNING)
    if checkpoint.commit is not None:
        yield from _outlook(checkpoint.commit)


def _outlook(commit: CommitPreview) -> Iterator[Passage]:
    """Describe what approving would commit at present."""
    heading = "Cannot commit this change yet:"
    yield from bulleted(heading, commit.obstacles, Style.WARNING)
    if not commit.obstacles:
        where = "a detached HEAD" if commit.branch is None else commit.branch
        paths = f"{counted(commit.paths, 'path')} on {where}"
        if commit.with_status:
            paths += ", its status in the plan included"
        what = paths if commit.paths else "nothing: HEAD already has the whole change"
        yield one_line(f"Approving commits {what}", Style.FAINT)

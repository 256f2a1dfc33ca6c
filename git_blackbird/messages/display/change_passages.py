"""The lines of a checkpoint that are about files: what was changed, and what may affect the decision."""

from collections.abc import Iterable, Iterator
from enum import IntEnum, auto
from itertools import islice

from git_blackbird.messages.display.change import (
    file_lines,
    notes_on_change,
    snippet_lines,
)
from git_blackbird.messages.display.fitting import Passage, lines_of
from git_blackbird.messages.display.format import (
    MAX_LISTED,
    place_words,
    redacted_text,
    render_path,
)
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.change.decision import SPECS
from git_blackbird.model.run.states import Choice
from git_blackbird.model.run.summary import MAX_FILES, Summary
from git_blackbird.model.views.checkpoint import Checkpoint, CommentOutcome, CommitPreview, SinceRequest


class Rank(IntEnum):
    """What gives way first where a terminal has few rows."""

    SNIPPETS = auto()
    CRITERIA = auto()
    HEADING = auto()
    SINCE_REQUEST = auto()
    AGENT = auto()
    FILES = auto()
    FACTS = auto()
    CHECK = auto()
    REVIEWS = auto()
    WARNINGS = auto()
    ANSWER = auto()
    REQUEST = auto()


def one_line(text: str, style: Style = Style.PLAIN, rank: Rank | None = None) -> Passage:
    """Return a passage of one line."""
    return Passage((styled(text, style),), rank)


def since_request_passages(since: SinceRequest | None) -> Iterator[Passage]:
    """List what was done since a person's last request."""
    if since is None:
        return
    rest = _shown_by(Choice.VIEW_SINCE_REQUEST)
    if since.comments:
        heading = styled("Your comments:", Style.HEADING)
        yield Passage((heading, *_outcomes(since.comments)), Rank.SINCE_REQUEST, rest)
    lines: Iterable[Line] = file_lines(since.summary, "  ")
    if since.summary.minimal is not None:
        lines = (styled(f"  not known: {clean_line(since.summary.minimal)}", Style.WARNING),)
    heading = styled("Changed since the request:", Style.HEADING)
    yield Passage((heading, *lines), Rank.SINCE_REQUEST, rest)


def _shown_by(choice: Choice) -> str:
    return f"{SPECS[choice].digit} shows the diff"


def _outcomes(comments: Iterable[CommentOutcome]) -> Iterator[Line]:
    """Yield a line for each comment, with whether the lines that it is on were changed since."""
    for comment, is_taken_up in islice(comments, MAX_FILES):
        word, style = ("changed", Style.PLAIN) if is_taken_up else ("not changed", Style.WARNING)
        yield styled(f"  {word:<11}  {place_words(comment)}: {clean_line(comment.text)}", style)


def summary_passages(summary: Summary) -> Iterator[Passage]:
    """Show the files and snippets, and what the summary omits."""
    yield Passage((styled("Review summary:", Style.HEADING),), Rank.HEADING, least=0)
    if summary.minimal is not None:
        yield one_line(f"  this summary is minimal: {clean_line(summary.minimal)}", Style.WARNING)
    *files, last = file_lines(summary, "    ")
    rest, heading = _shown_by(Choice.VIEW_DIFF), styled("  Files:", Style.HEADING)
    yield Passage((heading, *files), Rank.FILES, rest)
    yield Passage((last,))
    snippets = tuple(snippet_lines(summary, "    ")) or (styled("    (none)", Style.FAINT),)
    cut = lines_of(bulleted("Not all is shown:", map(clean_line, summary.cut), Style.FAINT))
    yield Passage((styled("  Snippets:", Style.HEADING), *snippets, *cut), Rank.SNIPPETS, rest)


def both_added_passages(summary: Summary | None) -> Iterator[Passage]:
    """Show the lines that are to land beside others."""
    if summary is not None:
        heading = "Both added here (your lines stay above those of the task):"
        lines = (
            styled(heading, Style.WARNING),
            *file_lines(summary, "  "),
            *snippet_lines(summary, "  "),
        )
        yield Passage(lines, Rank.FILES, _shown_by(Choice.VIEW_DIFF))


def warning_passages(checkpoint: Checkpoint) -> Iterator[Passage]:
    """Return warnings that may affect the decision."""
    matches, edited = "The worktree no longer matches the change in:", checkpoint.edited
    yield from bulleted(matches, map(render_path, checkpoint.moved), Style.WARNING)
    by_hand = "Edited in its worktree after the run, and part of what is decided on:"
    yield from bulleted(by_hand, map(render_path, edited), Style.WARNING)
    for title, texts in notes_on_change(checkpoint.run, checkpoint.summary, checkpoint.outside):
        yield from bulleted(f"{title[:1].upper()}{title[1:]}:", texts, Style.WARNING)
    if (redacted := redacted_text(checkpoint.run)) is not None:
        yield one_line(f"Redacted: {redacted}", Style.FAINT)
    if checkpoint.other_branch is not None:
        yield one_line(f"Another branch: {checkpoint.other_branch.text}", Style.WARNING)
    if checkpoint.commit is not None:
        yield from _outlook(checkpoint.commit)


def _outlook(commit: CommitPreview) -> Iterator[Passage]:
    """Describe what approving would commit at present."""
    heading = "Cannot commit this change yet:"
    yield from bulleted(heading, map(clean_line, commit.obstacles), Style.WARNING)
    if not commit.obstacles:
        where = "a detached HEAD" if commit.branch is None else clean_line(commit.branch)
        paths = f"{counted(commit.paths, 'path')} on {where}"
        if commit.with_status:
            paths += ", its status in the plan included"
        what = paths if commit.paths else "nothing: HEAD already has the whole change"
        yield one_line(f"Approving commits {what}", Style.FAINT)


def bulleted(
    heading: str, texts: Iterable[str], style: Style, rank: Rank = Rank.WARNINGS
) -> Iterator[Passage]:
    """List texts below a heading; nothing without any."""
    lines = [styled(f"  {text}", style) for text in texts]
    if not lines:
        return
    left_out = len(lines) - MAX_LISTED
    more = [styled(f"  and {left_out} more", style, left_out)] if left_out > 0 else []
    yield Passage((styled(heading, style), *lines[:MAX_LISTED], *more), rank)

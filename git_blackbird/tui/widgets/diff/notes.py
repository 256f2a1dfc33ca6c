"""Notes under the lines of a diff: comments of the person, and findings of reviewers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from rich.cells import get_character_cell_size

from git_blackbird.messages.document import block, wrapped
from git_blackbird.messages.patch.comments import file_at, is_as_quoted, line_of_comment
from git_blackbird.messages.patch.layout import Row, RowKind
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.run.findings import Finding, MergedReview, MinorIssue
from git_blackbird.model.run.parts import ReviewComment, Side
from git_blackbird.model.views.checkpoint import CommentOutcome
from git_blackbird.tui.widgets.diff.painter import NoteRow

_LONGEST = 4_000
_MOST_ROWS = 40
_FEWEST_COLUMNS = 10


class Note(NamedTuple):
    """A text under a line of a patch; ``comment`` is that of the person, None for one of a reviewer.

    ``advice`` is a finding in the words of a comment; "" where it is about no file of the patch.
    """

    line: int
    text: str
    comment: ReviewComment | None = None
    advice: str = ""

    @property
    def tone(self) -> str:
        """The name of its style."""
        return "finding" if self.comment is None else "comment-note"


def comment_notes(patch: Patch, comments: Iterable[ReviewComment]) -> Iterator[Note]:
    """Yield the comments on files of the patch, those on lines that it does not have at their heads."""
    for comment in comments:
        file, line = file_at(patch, comment.path), line_of_comment(patch, comment)
        if file is not None:
            is_short = line is not None and comment.start == comment.end
            where = "" if is_short else f" ({_lines(comment)}{', not in this diff' if line is None else ''})"
            text = f"you{where}: {comment.text.strip()}"
            yield Note(file.start if line is None else line, text, comment)


def _lines(comment: ReviewComment) -> str:
    when = " before the change" if comment.side is Side.OLD else ""
    is_one = comment.start == comment.end
    return f"line {comment.start}{when}" if is_one else f"lines {comment.start}-{comment.end}{when}"


def earlier_notes(patch: Patch, outcomes: Iterable[CommentOutcome]) -> Iterator[Note]:
    """Yield the comments of earlier requests whose lines are as they were."""
    for comment, is_taken_up in outcomes:
        line = None if is_taken_up else line_of_comment(patch, comment)
        if line is not None and is_as_quoted(patch, line, comment):
            yield Note(line, f"requested before, not changed: {comment.text.strip()}")


def finding_notes(patch: Patch, merged: MergedReview | None) -> Iterator[Note]:
    """Yield what the reviewers found, under its line; else under the head of its file, or of the patch."""
    if merged is None or not patch.files:
        return
    issues: tuple[Finding | MinorIssue, ...] = (*merged.findings, *merged.minor)
    for issue in issues:
        file, line = _found(patch, issue)
        if line is not None:
            yield Note(line, _words(issue), advice=_advice(issue))
        else:
            number = "" if issue.line is None else f"line {issue.line}: "
            advice = "" if file is None else f"{number}{_advice(issue)}"
            text = f"{_place(issue, is_here=file is not None)}{_words(issue)}"
            yield Note(line_of_finding(patch, issue), text, advice=advice)


def line_of_finding(patch: Patch, issue: Finding | MinorIssue) -> int:
    """Return the line of a patch with files under which a finding is shown."""
    file, line = _found(patch, issue)
    return (file or patch.files[0]).start if line is None else line


def _found(patch: Patch, issue: Finding | MinorIssue) -> tuple[FilePatch | None, int | None]:
    """Return the file and the line that a finding is about, as far as the patch has them."""
    file = None if issue.file is None else file_at(patch, issue.file)
    return file, None if file is None or issue.line is None else patch.line_of(file, issue.line)


def _place(issue: Finding | MinorIssue, *, is_here: bool) -> str:
    """Say what an issue is about whose line is not shown; ``is_here``: its file is the one above."""
    number = "" if issue.line is None else f"line {issue.line}, not in this diff"
    if is_here or issue.file is None:
        return f"{number}: " if number else ""
    return f"{issue.file}{f', {number}' if number else ', not in this diff'}: "


def _words(issue: Finding | MinorIssue) -> str:
    if isinstance(issue, MinorIssue):
        return f"reviewer, minor: {_advice(issue)}"
    return f"{issue.source} reviewer, {issue.severity}: {_advice(issue)}"


def _advice(issue: Finding | MinorIssue) -> str:
    """Return what a finding says and how to fix it."""
    fix = None if isinstance(issue, MinorIssue) else issue.fix
    return f"{issue.description}\nfix: {fix}" if fix else issue.description


def notes_at(notes: Iterable[Note], row: Row, columns: int) -> Sequence[Note]:
    """Return the note that a row is a part of, or all notes under its line."""
    under = [note for note in notes if note.line == row.line]
    if row.kind is not RowKind.NOTE:
        return under
    ends = accumulate(len(_rows(note, columns)) for note in under)
    return [next(note for note, end in zip(under, ends, strict=True) if row.part < end)]


def note_rows(notes: Sequence[Note], columns: int) -> Mapping[int, Sequence[NoteRow]]:
    """Return the rows under each line that has notes, wrapped."""
    rows: dict[int, list[NoteRow]] = {}
    for note in notes:
        rows.setdefault(note.line, []).extend(_rows(note, columns))
    return rows


def _rows(note: Note, columns: int) -> Sequence[NoteRow]:
    columns = max(_FEWEST_COLUMNS, columns)
    parts = (
        part
        for line in block(note.text[:_LONGEST])
        for part in wrapped(line.without_tabs(), columns, get_character_cell_size)
    )
    return [NoteRow(part.text, note.tone) for part in islice(parts, _MOST_ROWS)]

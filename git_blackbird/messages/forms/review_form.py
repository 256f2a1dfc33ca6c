"""A change request as a file to edit: a text, and below it the diff with comments under its lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from git_blackbird.clean import one_line
from git_blackbird.messages.display.format import place_words
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.patch.comments import comment_on, line_of_comment
from git_blackbird.messages.patch.parse import NO_NEWLINE, Patch
from git_blackbird.model.run.parts import ReviewComment

_HELP = (
    "# Above this line: what should change, as a whole. It goes to the agent with the comments below.",
    "# To comment a line of the diff, write below it lines that begin with >.",
    "# Leave the other lines as they are; hunks, their ends and files may be deleted.",
    "# An empty request does nothing.",
)
_CUT = "# ------------------------ >8 ------------------------"
_MARK = ">"
_FILE, _HUNK = "diff --git ", "@@ "
_SHOWN = 60
_MOST_NAMED = 10


class ReviewForm(NamedTuple):
    """What was understood of a form."""

    text: str
    comments: tuple[ReviewComment, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is requested."""
        return not self.text.strip() and not self.comments

    @property
    def words(self) -> str:
        """What was understood, on one line."""
        places = [place_words(comment) for comment in self.comments[:_MOST_NAMED]]
        more = [f"and {len(self.comments) - _MOST_NAMED} more"] if len(self.comments) > _MOST_NAMED else []
        named = f": {', '.join([*places, *more])}" if places else ""
        lines = counted(len(self.text.strip().splitlines()), "line")
        return one_line(f"a text of {lines}, {counted(len(self.comments), 'comment')}{named}", 2_000)


class ReviewFormError(Exception):
    """A line of the form that is not understood, and what was understood before it."""

    def __init__(self, number: int, why: str, understood: ReviewForm) -> None:
        super().__init__(f"line {number}: {why}")
        self.understood = understood


def render_review_form(text: str, patch: Patch, comments: Iterable[ReviewComment]) -> str:
    """Return the form, with what was written before."""
    below: dict[int, list[str]] = {}
    for comment in comments:
        line = line_of_comment(patch, comment)
        if line is not None:
            below.setdefault(line, []).extend(f"> {part}" for part in comment.text.strip().splitlines())
    diff = (part for number, line in enumerate(patch.lines) for part in (line, *below.get(number, ())))
    return "\n".join([text.strip("\n"), "", *_HELP, _CUT, *diff, ""])


def parse_review_form(form: str, patch: Patch, comments: Sequence[ReviewComment] = ()) -> ReviewForm:
    """Read a form; comments that were there before keep their ranges. Raises ReviewFormError."""
    lines = [line.rstrip("\r") for line in form.split("\n")]
    end = lines.index(_CUT) if _CUT in lines else len(lines)
    top = end
    while end < len(lines) and top > 0 and lines[top - 1].startswith("#"):
        top -= 1
    text = "\n".join(line for line in lines[:top] if line not in _HELP).strip("\n")
    before = {line_of_comment(patch, comment): comment for comment in comments}
    found: list[ReviewComment] = []
    try:
        for anchor, said in _commented(lines, end + 1, patch):
            found.append(_comment(patch, anchor, before.get(anchor), said))
    except _LineError as error:
        raise ReviewFormError(error.number, error.why, ReviewForm(text, tuple(found))) from None
    return ReviewForm(text, tuple(found))


class _LineError(Exception):
    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number
        self.why = why


class _Said(NamedTuple):
    """A comment, and the number of its last line in the form."""

    text: str
    number: int


def _commented(lines: Sequence[str], start: int, patch: Patch) -> Iterator[tuple[int, _Said]]:
    """Yield each comment with the line of the patch above it."""
    expected, said = 0, list[str]()
    for index in range(start, len(lines) + 1):
        line = lines[index] if index < len(lines) else ""
        if line.startswith(_MARK):
            said.append(line.removeprefix(_MARK).removeprefix(" "))
            continue
        if any(part.strip() for part in said):
            yield expected - 1, _Said("\n".join(said).strip(), index)
        said = []
        expected = _after(line, expected, patch, index + 1)


def _after(line: str, expected: int, patch: Patch, number: int) -> int:
    """Return the line of the patch that comes next, after one of the form."""
    is_next = expected < len(patch.lines) and _is_same(line, patch.lines[expected])
    if is_next:
        return expected + 1
    if not line.strip():
        return expected
    end = len(patch.lines)
    if line.startswith(_HUNK) and expected:
        end = patch.files[patch.file_index(expected - 1)].end
    if line.startswith((_FILE, _HUNK)):
        for place in range(expected, end):
            if _is_same(line, patch.lines[place]):
                return place + 1
    shown = one_line(line, _SHOWN)
    raise _LineError(number, f"is no line of the diff here, nor a comment, which begins with >: {shown}")


def _is_same(line: str, other: str) -> bool:
    """Whether two lines are the same; editors may remove blanks at the end."""
    return line.rstrip() == other.rstrip()


def _comment(patch: Patch, anchor: int, before: ReviewComment | None, said: _Said) -> ReviewComment:
    if before is not None:
        return before.model_copy(update={"text": said.text})
    is_end = anchor >= 0 and patch.marks[anchor] == NO_NEWLINE
    comment = comment_on(patch, anchor - is_end, anchor) if anchor >= 0 else None
    if comment is None:
        raise _LineError(said.number, "a comment stands below a line that is none of a file")
    return comment.model_copy(update={"text": said.text})

"""Find the form in the answer of a spec or code reviewer: the one part of it that is read as a verdict.

A form is a root tag to its end tag, whatever it holds. It is quoted if it begins in a fence of Markdown, in
a line that begins with ``>`` or in a code span; what a form holds is no Markdown.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from git_blackbird.clean import one_line
from git_blackbird.messages.incoming.json_answer import AnswerError

_ROOTS = "spec-review|code-review"
_ROOT_TAG = re.compile(
    rf"(?<=`)</?(?:{_ROOTS})[^<>`]*>(?=`)|<(?P<opened>{_ROOTS})(?:\s[^<>]*)?>|</(?P<closed>{_ROOTS})\s*>"
)
# Stands for each character of a form; the text itself has no control characters.
_HELD = "\0"
_NAMED = rf"\s{{0,9}}/?\s{{0,9}}(?:\w{{1,20}}:)?(?:{_ROOTS}|verdict|issues?)\b"
_PIECE = re.compile(rf"[<\uff1c]{_NAMED}|<!(?:ENTITY\b|DOCTYPE\s{{1,9}}(?:{_ROOTS})\b)", re.IGNORECASE)
_ESCAPED_PIECE = re.compile(rf"&(?:amp;){{0,9}}(?:lt|#0{{0,9}}60|#x0{{0,9}}3c);{_NAMED}", re.IGNORECASE)
_BEFORE_BLOCK = r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"^({_BEFORE_BLOCK})(`{{3,}}(?=[^`\n]*$)|~{{3,}})[^\n]*$", re.MULTILINE)
_QUOTE = re.compile(rf"^{_BEFORE_BLOCK}>[^\n]*$", re.MULTILINE)
_END_OF_PARAGRAPH = re.compile(r"\n[ \t\n]*\n|\n(?=[ \t]*(?:[-*+]|[0-9]{1,9}[.)]|#{1,6})[ \t])")
_TICKS = re.compile("`+")
_ONE_FORM = re.compile(rf"\s*(?:<\?xml[^<>]*\?>\s*)?{_HELD}+\s*")


class NoReviewError(AnswerError):
    """An answer that has no review and no piece of one, but perhaps a quotation."""


def find_forms(text: str) -> tuple[list[str], str]:
    """Return the forms that count, and the text without all forms; ``text`` has no control characters.

    Those are all that are not quoted. Without any, a fence at the end that holds one form and nothing else
    counts, if the answer has no other. Raises NoReviewError if there are only quoted ones,
    AnswerError if a part of a form that is not complete is left, unquoted or escaped.
    """
    forms = list(_find_elements(text))
    beside = _fill(text, forms, _HELD)
    fences = list(_find_fences(beside))
    blocks = [*fences, *(quote.span() for quote in _QUOTE.finditer(beside))]
    without_blocks = _fill(beside, blocks, "\n")
    unquoted = _fill(without_blocks, _find_code_spans(without_blocks), " ")
    piece = _PIECE.search(unquoted) or _ESCAPED_PIECE.search(beside)
    if piece is not None:
        shown = text[piece.start() : piece.end() + 1]
        raise AnswerError(
            f'"{one_line(shown)}" is part of no complete form: the answer is cut off, or a tag is broken'
        )
    counted = [form for form in forms if unquoted[form[0]] == _HELD]
    if not counted and len(forms) == 1 and any(_is_answer(beside, fence) for fence in fences):
        counted = forms
    if forms and not counted:
        raise NoReviewError(
            "the answer has its form only as a quotation: in a code block, after > or between backticks"
        )
    return [text[start:end] for start, end in counted], beside.replace(_HELD, "")


def _find_elements(text: str) -> Iterator[tuple[int, int]]:
    """Yield each root element; a tag that has backticks around it is none."""
    opened: re.Match[str] | None = None
    for tag in _ROOT_TAG.finditer(text):
        if tag["opened"]:
            opened = tag
        elif opened is not None and opened["opened"] == tag["closed"]:
            yield opened.start(), tag.end()
            opened = None


def _fill(text: str, spans: Iterable[tuple[int, int]], char: str) -> str:
    """Replace each character in the spans."""
    parts, at = [], 0
    for start, end in sorted(spans):
        parts += [text[at:start], char * (end - max(at, start))]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _find_fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield each fence as in CommonMark, also in lists; one that is not closed is none."""
    at = 0
    unclosed: set[str] = set()
    while opening := _FENCE.search(text, at):
        before, marks = opening.groups()
        at = opening.end()
        indent = "[ ]{0,3}" if before in ("", " ", "  ", "   ") else r"[ \t]*"
        end = rf"^{indent}{marks}{marks[0]}*[ \t]*$"
        closing = None if end in unclosed else re.compile(end, re.MULTILINE).search(text, at)
        if closing is None:
            unclosed.add(end)
        else:
            at = closing.end()
            yield opening.start(), at


def _is_answer(text: str, fence: tuple[int, int]) -> bool:
    """Whether a fence holds one form and nothing else, and nothing follows it."""
    start, end = fence
    inside = text[start:end].partition("\n")[2].rpartition("\n")[0]
    return _ONE_FORM.fullmatch(inside) is not None and not text[end:].strip()


def _find_code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield what is between backticks in one paragraph, with them."""
    edges = [0, *(end.end() for end in _END_OF_PARAGRAPH.finditer(text)), len(text)]
    for paragraph in pairwise(edges):
        marks = list(_TICKS.finditer(text, *paragraph))
        last = {len(mark[0]): at for at, mark in enumerate(marks)}
        at = 0
        while at < len(marks):
            length, start = len(marks[at][0]), marks[at].start()
            if last[length] > at:
                at = next(i for i in range(at + 1, len(marks)) if len(marks[i][0]) == length)
                yield start, marks[at].end()
            at += 1

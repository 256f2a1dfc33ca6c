"""Syntax colours of the lines of a patch, found in a thread for the lines that are looked at."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from git_blackbird.messages.patch.parse import ADDED, CONTEXT, REMOVED, Patch
from git_blackbird.messages.patch.text import display_text

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_CHUNK = 200
# Lexers may take the square of a line's length.
_LONGEST_LINE = 400
_MOST_CHUNKS = 100
_CLASSES = {
    "Comment": "comment",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Literal.String": "string",
    "Literal.Number": "number-literal",
    "Name.Function": "name",
    "Name.Class": "name",
    "Name.Tag": "name",
    "Name.Builtin": "builtin",
    "Name.Decorator": "builtin",
    "Name.Attribute": "builtin",
}
SYNTAX = frozenset(_CLASSES.values())
"""What the parts of a line may be."""


class Token(NamedTuple):
    """A part of the displayed text of a line, and what it is."""

    start: int
    end: int
    kind: str


_Colors = Mapping[int, Sequence[Token]]


class SyntaxColors:
    """The colours of some lines of a patch; others are asked for where they are drawn."""

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self._known: OrderedDict[int, _Colors] = OrderedDict()
        self._wanted: list[int] = []
        self._lexers: dict[str, Lexer | None] = {}

    def of_line(self, line: int) -> Sequence[Token]:
        """Return the colours of a line; none as long as ``find`` has not been called for it."""
        chunk = self._chunk(line)
        known = self._known.get(chunk)
        if known is None:
            if chunk not in self._wanted:
                self._wanted.append(chunk)
            return ()
        return known.get(line, ())

    @property
    def is_wanted(self) -> bool:
        """Whether lines were drawn that have no colours yet."""
        return bool(self._wanted)

    def find(self) -> None:
        """Find the colours of the lines that were asked for, the last ones first. Runs in a thread."""
        while self._wanted:
            chunk = self._wanted[-1]
            self._known[chunk] = self._colors_of(chunk)
            if len(self._known) > _MOST_CHUNKS:
                self._known.popitem(last=False)
            self._wanted.remove(chunk)

    def _chunk(self, line: int) -> int:
        """Return the first line of the part of a hunk that is coloured at once."""
        hunk = self._patch.hunk_at(line)
        return -1 if hunk is None else line - (line - hunk.start) % _CHUNK

    def _colors_of(self, chunk: int) -> _Colors:
        hunk = self._patch.hunk_at(chunk) if chunk >= 0 else None
        if hunk is None:
            return {}
        lexer = self._lexer(self._patch.files[self._patch.file_index(chunk)].path)
        if lexer is None:
            return {}
        lines = range(chunk, min(hunk.end, chunk + _CHUNK))
        # The old lines first: those of the context are told by the new ones.
        return {
            line: tokens
            for marks in (CONTEXT + REMOVED, CONTEXT + ADDED)
            for line, tokens in self._side(
                [line for line in lines if self._patch.marks[line] in marks], lexer
            )
        }

    def _side(self, lines: Sequence[int], lexer: "Lexer") -> Iterator[tuple[int, Sequence[Token]]]:
        shown = (display_text(self._patch.text_of(line)) for line in lines)
        texts = [text if len(text) <= _LONGEST_LINE else "" for text in shown]
        return zip(lines, _split(texts, _tokens(lexer, "\n".join(texts))), strict=True)

    def _lexer(self, path: str) -> "Lexer | None":
        name = path.rpartition("/")[2]
        if name not in self._lexers:
            self._lexers[name] = _lexer_for(name)
        return self._lexers[name]


def _lexer_for(name: str) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename  # only diffs with code pay

    found: Callable[..., Lexer] | None = find_lexer_class_for_filename(name)
    return None if found is None else found(stripnl=False, ensurenl=False)


def _tokens(lexer: "Lexer", text: str) -> Iterable[tuple[int, Any, str]]:
    try:
        return list(lexer.get_tokens_unprocessed(text))
    except Exception:  # noqa: BLE001  # a lexer that cannot read a text: it is shown without colours
        return ()


def _split(texts: Sequence[str], tokens: Iterable[tuple[int, Any, str]]) -> list[Sequence[Token]]:
    """Return the parts of each line; a lexer may leave characters out."""
    lines: list[list[Token]] = [[] for _ in texts]
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    for place, token, value in tokens:
        kind = _kind(token)
        at = place
        for part in value.split("\n") if kind is not None else ():
            row = bisect_right(starts, at) - 1
            if part and kind is not None and row < len(lines):
                lines[row].append(Token(at - starts[row], at - starts[row] + len(part), kind))
            at += len(part) + 1
    return [*lines]


def _kind(token: Any) -> str | None:
    name = str(token).removeprefix("Token.")
    while name:
        if name in _CLASSES:
            return _CLASSES[name]
        name = name.rpartition(".")[0]
    return None

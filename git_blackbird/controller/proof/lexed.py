"""What lines of code say besides comments and white space, and the names that they introduce and use."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_MOST_BYTES = 512 * 1024
_LONGEST_LINE = 2_000
_NAME = re.compile(r"[^\W\d][\w-]*\w|[^\W\d]")
_PROSE = frozenset({"markdown", "restructuredtext", "asciidoc"})
# Where the depth of a line says what it belongs to.
_INDENTED = frozenset({"python", "yaml", "make", "coffeescript", "haskell", "nim", "fsharp", "pug", "sass"})
_PROGRAMS = re.compile(rb"#!.*\b(sh|bash|dash|zsh|ksh|python|node|ruby|perl|lua|php)[\d.]*\s")
# The name after one of these is introduced by it.
_CALLABLES = frozenset({"def", "func", "function", "fn", "fun", "sub", "macro"})
_TYPES = frozenset({"class", "struct", "enum", "union", "interface", "trait", "type", "typedef", "record"})
_MODULES = frozenset({"object", "module", "mod", "namespace", "package", "protocol"})
_VARIABLES = frozenset(
    {"const", "let", "var", "val", "mut", "local", "declare", "export", "readonly", "static"}
)
_INTRODUCE = _CALLABLES | _TYPES | _MODULES | _VARIABLES | {"for", "as"}
_IMPORTS = frozenset({"import", "from", "use", "require", "using", "include"})
_ASSIGNED = frozenset({"=", ":="})
_OPENING, _CLOSING = frozenset("(["), frozenset(")]")


class _Token(NamedTuple):
    line: int
    kind: Any
    text: str
    is_comment: bool = False


class Name(NamedTuple):
    """A name in a line: whether it may be introduced there, as a callable or type too, and be used."""

    text: str
    is_introduced: bool
    is_used: bool
    is_definition: bool = False


class Lexed:
    """The lines of a file; of a kind that no lexer knows each line says what is in it, and has no names."""

    def __init__(self, path: str, content: bytes) -> None:
        self.lines = content.decode(errors="replace").split("\n")
        lexer = _lexer_of(path, content) if len(content) <= _MOST_BYTES else None
        self.is_prose = lexer is not None and not _PROSE.isdisjoint(lexer.aliases)
        self._is_indented = lexer is None or not _INDENTED.isdisjoint(lexer.aliases)
        self._tokens = None if lexer is None or self.is_prose else _tokens(lexer, self.lines)

    def said(self, start: int, count: int) -> Sequence[tuple[str, ...]]:
        """Return what some lines say; those that say nothing are left out."""
        lines = range(start, min(start + count, len(self.lines)))
        found = (self._said(line) for line in lines)
        return [each for each in found if each]

    def _said(self, line: int) -> tuple[str, ...]:
        text = self.lines[line]
        if self._tokens is None:
            return (text.rstrip(),) if text.strip() else ()
        parts = tuple(token.text for token in self._by_line[line] if not token.is_comment)
        depth = text[: len(text) - len(text.lstrip())]
        return (depth, *parts) if parts and self._is_indented else parts

    @cached_property
    def _by_line(self) -> Sequence[Sequence[_Token]]:
        found: list[list[_Token]] = [[] for _ in self.lines]
        for token in self._tokens or ():
            found[token.line].append(token)
        return found

    @cached_property
    def _names(self) -> Sequence[Sequence[Name]]:
        found: list[list[Name]] = [[] for _ in self.lines]
        for line, name in _names([token for token in self._tokens or () if not token.is_comment]):
            found[line].append(name)
        return found

    def blocks(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of some lines, as start and count, each after a blank line and least indented.

        So each function of a new file is a part. Lines that say nothing belong to what stands above.
        """
        lines = range(start, min(start + count, len(self.lines)))
        depths = {line: self._depth(line) for line in lines if self._tokens and self._by_line[line]}
        least, begin = min(depths.values(), default=0), start
        for line in lines[1:]:
            first = self._by_line[line][0] if line in depths else None
            is_free = not self.lines[line - 1].strip() and depths.get(line) == least
            if is_free and first is not None and not _is_string(first.kind) and first.text[0] not in ")]}":
                yield begin, line - begin
                begin = line
        yield begin, start + count - begin

    def _depth(self, line: int) -> int:
        text = self.lines[line].expandtabs()
        return len(text) - len(text.lstrip())

    def names(self, start: int, count: int) -> Iterator[Name]:
        for line in self._names[start : start + count]:
            yield from line

    @cached_property
    def all_names(self) -> frozenset[str]:
        return frozenset(name.text for line in self._names for name in line)


def _lexer_of(path: str, content: bytes) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name  # late: it takes long
    from pygments.util import ClassNotFound

    found = find_lexer_class_for_filename(path.rpartition("/")[2])
    program = _PROGRAMS.match(content) if found is None else None
    if program is not None:
        try:
            return get_lexer_by_name(program[1].decode(), stripnl=False, ensurenl=False)
        except ClassNotFound:
            return None
    return None if found is None else found(stripnl=False, ensurenl=False)


def _tokens(lexer: "Lexer", lines: Sequence[str]) -> list[_Token] | None:
    """Return what is neither a comment nor white space, line by line; None where it cannot be told."""
    # A carriage return would count as an end of a line.
    texts = [line.replace("\r", " ") if len(line) <= _LONGEST_LINE else "" for line in lines]
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    found = [_Token(line, None, text) for line, text in enumerate(lines) if len(text) > _LONGEST_LINE]
    try:
        for place, kind, value in lexer.get_tokens_unprocessed("\n".join([*texts, ""])):
            if str(kind).endswith("String.Doc"):
                continue
            parts = enumerate(value.split("\n"), bisect_right(starts, place) - 1)
            found += [
                _Token(at, kind, part if _is_string(kind) else part.strip(), _is_comment(kind))
                for at, part in parts
                if part.strip() and at < len(lines)
            ]
    except Exception:  # noqa: BLE001  # a lexer that cannot read a text
        return None
    return sorted(found, key=lambda token: token.line)


def _is_comment(kind: Any) -> bool:
    name = str(kind)
    return name.startswith("Token.Comment") and "Preproc" not in name and "Hashbang" not in name


def _is_string(kind: Any) -> bool:
    return "String" in str(kind)


def _names(tokens: Sequence[_Token]) -> Iterator[tuple[int, Name]]:
    """Yield the names in code, with their lines, by what stands beside them, in most languages alike.

    A name is introduced after a word such as ``def``, before ``=``, as a parameter, beside a type, by an
    import, and before ``(…) {``. As a key it may be either; in the arguments of a call it is used.
    """
    depth, parameters, first = 0, 0, 0
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else _NOTHING
        after = tokens[index + 1] if index + 1 < len(tokens) else _NOTHING
        if token.line != before.line:
            first = index
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth = max(0, depth - 1)
            parameters = parameters if depth >= parameters else 0
        if not _is_name(token):
            continue
        begins = tokens[first].text
        is_body = index == first and after.text == "(" and _ends(tokens, index) == "{"
        is_method = before.text == ")" and begins in _CALLABLES and after.text == "("
        is_callable = before.text in _CALLABLES or is_body or is_method
        is_kind = str(token.kind) in {"Token.Name.Function", "Token.Name.Class"}
        is_beside = before.line == token.line and (_is_type(before) or (_is_name(before) and not parameters))
        is_first_of_two = after.line == token.line and _is_type(after)
        is_definition = is_callable or (is_kind and (before.text in _INTRODUCE or is_beside))
        is_assigned = after.text in _ASSIGNED and (depth == 0 or parameters > 0)
        is_key = after.text == ":" and (before.text in {"{", ","} or index == first) and not parameters
        is_introduced = (
            is_definition
            or is_assigned
            or is_key
            or parameters > 0
            or is_beside
            or is_first_of_two
            or before.text in _INTRODUCE
            or begins in _IMPORTS
        )
        if is_definition and after.text == "(":
            parameters = depth + 1
        for text in _NAME.findall(token.text):
            yield token.line, Name(text, is_introduced, is_key or not is_introduced, is_definition)


_NOTHING = _Token(-1, None, "")


def _is_name(token: _Token) -> bool:
    kind = str(token.kind)
    if kind == "Token.Text":
        # A word of a shell.
        return _NAME.fullmatch(token.text) is not None
    return kind.startswith("Token.Name") and "Builtin" not in kind


def _is_type(token: _Token) -> bool:
    return str(token.kind) == "Token.Keyword.Type"


def _ends(tokens: Sequence[_Token], index: int) -> str:
    """Return the last token of a line."""
    line = tokens[index].line
    while index + 1 < len(tokens) and tokens[index + 1].line == line:
        index += 1
    return tokens[index].text


def introduced(names: Iterable[Name]) -> Iterator[Name]:
    return (name for name in names if name.is_introduced)


def used(names: Iterable[Name]) -> Iterator[str]:
    """Yield what is used of names in order, but for what is introduced before."""
    known = set[str]()
    for name in names:
        if name.is_used and name.text not in known:
            yield name.text
        if name.is_introduced and not name.is_used:
            known.add(name.text)

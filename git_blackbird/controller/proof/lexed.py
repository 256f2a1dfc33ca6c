"""What lines of code say besides comments and white space, and the names that they introduce and use."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_MOST_BYTES = 512 * 1024
_LONGEST_LINE = 2_000
_LONGEST_HEAD = 200
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
_WIDE = frozenset({"private", "public", "protected", "internal", "static", "export", "pub"})
_MEMBERS = frozenset({".", "->", "?.", "::"})
_IMPORTS = frozenset({"import", "from", "use", "require", "using", "include"})
_ASSIGNED = frozenset({"=", ":="})
_BRACES = frozenset("{}")
_TURNS = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}


class _Token(NamedTuple):
    line: int
    kind: Any
    text: str
    is_comment: bool = False


class Scope(IntEnum):
    """How far a name is known that a line introduces."""

    LOCAL = 1
    IMPORTED = 2
    PARAMETER = 3
    WIDE = 4


class Use(Enum):
    PLAIN = "name"
    MEMBER = ".name"
    KEYWORD = "name="


class Name(NamedTuple):
    """A name in a line, which may introduce it, as a callable or type too, and use it."""

    text: str
    scope: Scope | None
    use: Use | None
    is_definition: bool = False


class Lexed:
    """The lines of a file; of a kind that no lexer knows each line says what is in it, and has no names."""

    def __init__(self, path: str, content: bytes) -> None:
        self.lines = content.decode(errors="replace").split("\n")
        lexer = _lexer_of(path, content) if len(content) <= _MOST_BYTES else None
        self.is_prose = lexer is not None and not _PROSE.isdisjoint(lexer.aliases)
        self._is_indented = lexer is None or not _INDENTED.isdisjoint(lexer.aliases)
        is_code = lexer is not None and not self.is_prose
        self._tokens = _tokens(lexer, self.lines) if lexer is not None and is_code else None

    def said(self, start: int, count: int) -> Sequence[tuple[str, ...]]:
        """Return what some lines say; those that say nothing are left out."""
        return [*filter(None, map(self._said, range(start, start + count)))]

    def _said(self, line: int) -> tuple[str, ...]:
        text = self.lines[line]
        if self._tokens is None:
            return (text.rstrip(),) if text.strip() else ()
        parts = tuple(token.text for token in self._tokens[line] if not token.is_comment)
        return (text[: self._depth(line)], *parts) if parts and self._is_indented else parts

    @cached_property
    def _names(self) -> Sequence[Sequence[Name]]:
        found: list[list[Name]] = [[] for _ in self.lines]
        code = [token for line in self._tokens or () for token in line if not token.is_comment]
        for line, name in _names(code, [not line[:1].isspace() for line in self.lines]):
            found[line].append(name)
        return found

    def trimmed(self, start: int, count: int) -> tuple[int, int]:
        """Return lines without those before and after what they say, as start and count."""
        said = [line for line in range(start, start + count) if self._said(line)]
        return (said[0], said[-1] + 1 - said[0]) if said else (start, count)

    def blocks(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of some lines, as start and count, each after a blank line and least indented.

        So each function of a new file is a part. What ends within brackets or a block is one part.
        """
        by_line = self._tokens or [()] * len(self.lines)
        code = {line: by_line[line] for line in range(start, start + count) if by_line[line]}
        least = min(map(self._depth, code), default=0)
        after = next((line for line in range(start + count, len(self.lines)) if by_line[line]), None)
        turns = [*accumulate(_turn(token) for tokens in code.values() for token in tokens)]
        is_closed = bool(turns) and min(turns) == turns[-1] == 0
        begin, last, depth = start, None, 0
        for line, tokens in (
            code.items() if is_closed and (after is None or self._depth(after) <= least) else ()
        ):
            is_free = depth == 0 and line > start and not self.lines[line - 1].strip()
            if is_free and last is not None and self._depth(line) == least and not _is_string(tokens[0].kind):
                yield begin, line - begin
                begin = line
            last, depth = line, depth + sum(map(_turn, tokens))
        yield begin, start + count - begin

    def _depth(self, line: int) -> int:
        return len(self.lines[line]) - len(self.lines[line].lstrip())

    def names(self, start: int, count: int) -> Iterator[Name]:
        for line in self._names[start : start + count]:
            yield from line

    @cached_property
    def all_names(self) -> frozenset[str]:
        return frozenset(name.text for line in self._names for name in line)

    @cached_property
    def introduced(self) -> frozenset[str]:
        """The names that it introduces anywhere, which it therefore has from nowhere else."""
        return frozenset(name.text for line in self._names for name in line if name.scope is not None)


def _lexer_of(path: str, content: bytes) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name  # late: it takes long
    from pygments.util import ClassNotFound

    found = find_lexer_class_for_filename(path.rpartition("/")[2])
    program = _PROGRAMS.match(content[:_LONGEST_HEAD]) if found is None else None
    if program is not None:
        try:
            return get_lexer_by_name(program[1].decode(), stripnl=False, ensurenl=False)
        except ClassNotFound:
            return None
    return None if found is None else found(stripnl=False, ensurenl=False)


def _tokens(lexer: "Lexer", lines: Sequence[str]) -> Sequence[Sequence[_Token]] | None:
    """Return what the lines say, without white space; None where it cannot be told."""
    # A carriage return would count as an end of a line.
    texts = [line.replace("\r", " ") if len(line) <= _LONGEST_LINE else "" for line in lines]
    starts = [0, *accumulate(len(text) + 1 for text in texts)]
    found = [[_Token(at, None, line)] if len(line) > _LONGEST_LINE else [] for at, line in enumerate(lines)]
    try:
        for place, kind, value in lexer.get_tokens_unprocessed("\n".join(texts)):
            is_text, first = _is_string(kind), bisect_right(starts, place) - 1
            for at, part in enumerate(() if str(kind).endswith("String.Doc") else value.split("\n"), first):
                if part.strip():
                    text = part if is_text else part.strip()
                    found[at].append(_Token(at, kind, text, _is_comment(kind)))
    except Exception:  # noqa: BLE001  # a lexer that cannot read a text
        return None
    return found


def _is_comment(kind: Any) -> bool:
    name = str(kind)
    return name.startswith("Token.Comment") and "Preproc" not in name and "Hashbang" not in name


def _is_string(kind: Any) -> bool:
    return "String" in str(kind)


def _names(tokens: Sequence[_Token], is_outer: Sequence[bool]) -> Iterator[tuple[int, Name]]:
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
        if token.text not in _BRACES:
            depth = max(0, depth + _turn(token))
            parameters = parameters if depth >= parameters else 0
        if not _is_name(token):
            continue
        begins, is_member = tokens[first].text, before.text in _MEMBERS
        is_body = index == first and after.text == "(" and _has_body(tokens, index)
        is_method = before.text == ")" and begins in _CALLABLES and after.text == "("
        is_beside = before.line == token.line and (_is_type(before) or (_is_name(before) and not parameters))
        is_kind = str(token.kind) in {"Token.Name.Function", "Token.Name.Class"}
        is_named = is_kind and (before.text in _INTRODUCE or is_beside)
        is_definition = before.text in _CALLABLES | _TYPES or is_body or is_method or is_named
        is_assigned = after.text in _ASSIGNED and depth == 0
        is_key = after.text == ":" and (before.text in {"{", ","} or index == first) and not parameters
        is_first_of_two = after.line == token.line and _is_type(after)
        scope, use = None, Use.MEMBER if is_member else Use.PLAIN
        if begins in _IMPORTS:
            # The names of modules are in a from clause.
            if begins != "from" or str(token.kind) != "Token.Name.Namespace":
                yield token.line, Name(token.text, Scope.IMPORTED, Use.PLAIN)
            continue
        if is_definition or is_key or (is_first_of_two and not parameters) or (is_assigned and is_member):
            scope = Scope.WIDE
        elif parameters:
            scope = Scope.PARAMETER
        elif is_assigned or is_beside or before.text in _INTRODUCE:
            is_wide = is_outer[token.line] or begins in _WIDE or token.text.isupper()
            scope = Scope.WIDE if is_wide else Scope.LOCAL
        elif after.text == "=" and depth:
            use = Use.KEYWORD
        if is_definition and after.text == "(":
            parameters = depth + 1
        for text in _NAME.findall(token.text):
            yield token.line, Name(text, scope, use if is_key or scope is None else None, is_definition)


_NOTHING = _Token(-1, None, "")


def _is_name(token: _Token) -> bool:
    kind = str(token.kind)
    if kind == "Token.Text":
        # A word of a shell.
        return _NAME.fullmatch(token.text) is not None
    return kind.startswith("Token.Name") and "Builtin" not in kind


def _is_type(token: _Token) -> bool:
    return str(token.kind) == "Token.Keyword.Type"


def _turn(token: _Token) -> int:
    """Return by how much a token changes the depth of brackets."""
    # A shell has ``$(``.
    return 0 if _is_string(token.kind) else _TURNS.get(token.text.removeprefix("$"), 0)


def _has_body(tokens: Sequence[_Token], index: int) -> bool:
    """Whether ``(…) {`` follows a token, with nothing but a type between, in the line where that closes."""
    depth, closed = 0, None
    for token in tokens[index + 1 : index + _LONGEST_HEAD]:
        if closed is not None and (token.line != closed or token.text in {"{", ";"}):
            return token.line == closed and token.text == "{"
        depth += _turn(token)
        if depth == 0 and closed is None:
            closed = token.line
    return False


def used(names: Iterable[Name]) -> Iterator[tuple[str, Use]]:
    """Yield what is used of names in order, but for what is introduced before."""
    known = set[str]()
    for name in names:
        if name.use is not None and name.text not in known:
            yield name.text, name.use
        elif name.scope is not None:
            known.add(name.text)

"""The lines of a patch above the first hunk of a file: its paths, and what happened besides its lines."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_blackbird.messages.display.format import render_path

_SUBMODULE, _LINK = "160000", "120000"
_KINDS = {
    _SUBMODULE: "a submodule",
    _LINK: "a symbolic link",
    "100755": "an executable file",
    "100644": "a file",
}
_HASH_COLUMNS = 12
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class FileHeader(NamedTuple):
    """What a patch says about a file: its path, one word, and the facts that no line shows.

    ``blob`` is the abbreviated id of its content after the change, "" where its content is as before.
    """

    path: str
    old_path: str | None
    word: str
    facts: tuple[str, ...]
    blob: str


def parse_header(lines: Sequence[str]) -> FileHeader:
    """Read the lines from ``diff --git`` to the first hunk, without it."""
    if len(lines) == _PLAIN and (path := _edited_path(lines)) is not None:
        return FileHeader(path, None, "modified", (), _blob(lines[1].removeprefix("index ")))
    fields = dict(filter(None, map(_field, lines[1:])))
    old, new = _paths(lines[0], fields)
    is_binary = "Binary files" in fields or "GIT binary patch" in fields
    return FileHeader(
        new,
        old if old != new else None,
        _word(fields, is_binary=is_binary),
        tuple(_facts(old, fields, is_binary)),
        _blob(fields.get("index", "")),
    )


def _blob(index: str) -> str:
    """Return the second id of ``OLD..NEW MODE``; that of a deleted file has zeros alone."""
    return index.partition("..")[2].partition(" ")[0]


_PLAIN = 4


def _edited_path(lines: Sequence[str]) -> str | None:
    """Return the path of a file of which only lines were changed: there may be many thousands."""
    _, index, old, new = lines
    is_plain = index.startswith("index ") and old.startswith("--- a/") and new.startswith("+++ b/")
    is_same = is_plain and old[6:] == new[6:] and not index.endswith(_SUBMODULE)
    return new[6:].removesuffix("\t") if is_same else None


_NAMES = (
    "--- ",
    "+++ ",
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "similarity index ",
    "Binary files ",
    "GIT binary patch",
)


def _field(line: str) -> tuple[str, str] | None:
    return next(((name.strip(), line[len(name) :]) for name in _NAMES if line.startswith(name)), None)


def _paths(first: str, fields: dict[str, str]) -> tuple[str, str]:
    """Return both paths; a file that was added or deleted has the same twice."""
    for verb in ("rename", "copy"):
        if f"{verb} from" in fields and f"{verb} to" in fields:
            return unquoted(fields[f"{verb} from"]), unquoted(fields[f"{verb} to"])
    sides = [_side(fields[mark]) for mark in ("---", "+++") if mark in fields]
    named = [path for path in sides if path is not None] or [_twice(first.removeprefix("diff --git "))]
    return named[0], named[-1]


def _side(text: str) -> str | None:
    # Git ends a path that has spaces with a tab.
    path = unquoted(text.removesuffix("\t"))
    return None if path == "/dev/null" else path.partition("/")[2]


def _twice(text: str) -> str:
    """Return the path of ``a/PATH b/PATH``, where nothing else names it."""
    half = text[: len(text) // 2]
    return unquoted(half).partition("/")[2]


def unquoted(text: str) -> str:
    """Undo git's quoting of a path."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    return _ESCAPE.sub(_unescaped, text[1:-1].encode()).decode(errors="replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)


def _word(fields: dict[str, str], *, is_binary: bool) -> str:
    words = {
        "new file mode": "added",
        "deleted file mode": "deleted",
        "rename from": "renamed",
        "copy from": "copied",
    }
    word = next((word for name, word in words.items() if name in fields), "")
    if not word:
        is_mode_alone = "old mode" in fields and "index" not in fields
        word = "mode changed" if is_mode_alone else "modified"
    modes = (
        f"{fields.get('index', '')} {fields.get('new file mode', '')} {fields.get('deleted file mode', '')}"
    )
    if _SUBMODULE in modes:
        return f"submodule {word}"
    return f"{word}, binary" if is_binary else word


def _facts(old: str, fields: dict[str, str], is_binary: bool) -> Iterator[str]:  # noqa: FBT001  # as the caller has it
    same = fields.get("similarity index")
    for verb, word in (("rename", "renamed"), ("copy", "copied")):
        if f"{verb} from" in fields:
            yield f"{word} from {render_path(old)}" + (f", {same} the same" if same else "")
    if "old mode" in fields:
        modes = fields["old mode"], fields.get("new mode", "")
        was, is_now = map(_kind, modes)
        yield f"mode {modes[0]} -> {modes[1]}: {was}, now {is_now}"
    for name, word in (("new file mode", "added"), ("deleted file mode", "deleted")):
        if fields.get(name, "100644") != "100644":
            yield f"{word} as {_kind(fields[name])} (mode {fields[name]})"
    if is_binary:
        yield "a binary file: its content is not shown"
    elif fields.get("new file mode") and "---" not in fields and "+++" not in fields:
        yield "an empty file"


def _kind(mode: str) -> str:
    return _KINDS.get(mode.strip(), "something else")


def submodule_line(text: str) -> str | None:
    """Return the words for a line of a submodule's hunk; None for any other."""
    name, _, commit = text.partition(" commit ")
    if name != "Subproject":
        return None
    commit, dash, state = commit.partition("-")
    return f"the submodule is at commit {commit[:_HASH_COLUMNS]}" + (
        " with edits of its own" if state and dash else ""
    )

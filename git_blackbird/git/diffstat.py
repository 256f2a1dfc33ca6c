"""Text that looks like ``git diff --stat``, bounded."""

from collections.abc import Sequence
from dataclasses import dataclass

from git_blackbird.model.change import MAX_DIFFSTAT_BYTES

_WIDTH = 80
_NAME_WIDTH = 50
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


@dataclass(frozen=True)
class StatLine:
    """One file of a diffstat; ``name`` as ``quoted`` gives it."""

    name: str
    additions: int
    deletions: int
    is_binary: bool


def quoted(path: bytes) -> str:
    """Give a path as git shows it with ``core.quotePath`` off: in quotes only where it must be."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and text.isprintable() and not any(char in text for char in '"\\'):
        return text
    return '"' + "".join(_quoted_char(char) for char in path.decode(errors="surrogateescape")) + '"'


def _quoted_char(char: str) -> str:
    code = ord(char)
    if code in _ESCAPES:
        return "\\" + _ESCAPES[code]
    if char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))


def render_diffstat(files: Sequence[StatLine]) -> tuple[str, int]:
    """Render the files and their sum in at most ``MAX_DIFFSTAT_BYTES``; gives also how many are shown."""
    if not files:
        return "", 0
    total = _total(files)
    lines = _file_lines(files)
    if len("\n".join([*lines, total]).encode()) <= MAX_DIFFSTAT_BYTES:
        return "\n".join([*lines, total]), len(files)
    shown: list[str] = []
    room = MAX_DIFFSTAT_BYTES - len(total.encode()) - len(f"\n ... and {len(files)} more files".encode())
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    note = f" ... and {len(files) - len(shown)} more files"
    return "\n".join([*shown, note, total]), len(shown)


def _file_lines(files: Sequence[StatLine]) -> list[str]:
    names = [_shortened(file.name) for file in files]
    widest = max(len(name) for name in names)
    most = max(file.additions + file.deletions for file in files)
    digits = max(len(str(most)), 3 if any(file.is_binary for file in files) else 0)
    room = _WIDTH - widest - digits - len("  | ") - 1
    return [
        f" {name:<{widest}} | {'Bin' if file.is_binary else file.additions + file.deletions:>{digits}}"
        f" {_bar(file, most, room)}".rstrip()
        for name, file in zip(names, files, strict=True)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else "..." + name[3 - _NAME_WIDTH :]


def _bar(file: StatLine, most: int, room: int) -> str:
    additions, deletions = file.additions, file.deletions
    if most > room:
        additions, deletions = (_scaled(count, most, room) for count in (additions, deletions))
    return "+" * additions + "-" * deletions


def _scaled(count: int, most: int, room: int) -> int:
    """Shorten a bar, but never to nothing."""
    return 1 + count * (room - 2) // most if count else 0


def _total(files: Sequence[StatLine]) -> str:
    parts = [f" {_counted(len(files), 'file')} changed"]
    additions, deletions = (sum(file.additions for file in files), sum(file.deletions for file in files))
    if additions or not deletions:
        parts.append(f"{_counted(additions, 'insertion')}(+)")
    if deletions or not additions:
        parts.append(f"{_counted(deletions, 'deletion')}(-)")
    return ", ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

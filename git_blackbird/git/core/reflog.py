"""Read the moves of HEAD from its reflog."""

import re
from pathlib import Path

from git_blackbird.git.core.repository import Repository
from git_blackbird.model.entities.head_moves import HeadMove, LogSpan

_MOVE = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*> (?P<time>\d{1,12}) [-+]\d{4}\t?(?P<message>.*)"
)
_SECOND = 1_000_000_000
_LONGEST_BYTES = 16 * 1024 * 1024


def log_size(git_dir: Path) -> int:
    """Return the size of the reflog of HEAD; later entries are appended after it."""
    try:
        return _log(git_dir).stat().st_size
    except OSError:
        return 0


def read_moves(git_dir: Path) -> list[HeadMove]:
    """Return the moves of HEAD, oldest first, as far as the log is not too long."""
    size = log_size(git_dir)
    return _parse(_load(git_dir, max(0, size - _LONGEST_BYTES), size))


def moves_in(repo: Repository, span: LogSpan) -> list[HeadMove]:
    """Return the moves of HEAD in a part of the reflog, oldest first.

    If the log was rewritten since that part began, return the moves since HEAD was last at its start.
    """
    first = max(0, span.end - _LONGEST_BYTES)
    data = _load(repo.git_dir, first, span.end)
    begin = -1 if span.begin is None else span.begin - first
    if 0 <= begin <= len(data) and (begin == 0 or data[begin - 1 :][:1] == b"\n"):
        moves = _parse(data[begin:])
    else:
        moves = _parse(data)
        came = [place for place, move in enumerate(moves) if move.new == span.start]
        moves = moves[came[-1] + 1 :] if came else []
    return [_bounded(repo, move) for move in moves]


def _log(git_dir: Path) -> Path:
    return git_dir / "logs" / "HEAD"


def _load(git_dir: Path, begin: int, end: int) -> bytes:
    """Return a part of the log; empty if there is none."""
    try:
        with _log(git_dir).open("rb") as log:
            log.seek(begin)
            return log.read(end - begin)
    except OSError:
        return b""


def _parse(data: bytes) -> list[HeadMove]:
    return [_read(match) for line in data.split(b"\n") if (match := _MOVE.fullmatch(line)) is not None]


def _read(match: re.Match[bytes]) -> HeadMove:
    old, new = match["old"].decode(), match["new"].decode()
    second = int(match["time"]) * _SECOND
    message = match["message"].decode(errors="replace")
    return HeadMove(old if old.strip("0") else None, new, message, second, second + _SECOND - 1)


def _bounded(repo: Repository, move: HeadMove) -> HeadMove:
    """Replace the time of a move by the time its commit was written, if that is a loose object."""
    if not move.makes_commit:
        return move
    try:
        written = (repo.common_dir / "objects" / move.new[:2] / move.new[2:]).stat().st_mtime_ns
    except OSError:
        return move
    return move._replace(first=written, last=written)

"""What the git commands of an agent leave of themselves: git's own trace, in the worktree's git directory.

Who may not write there cannot move HEAD either, and git says nothing where it cannot write. A trace that
the user has asked git for stays theirs; then there is none.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from git_blackbird.git.repository import Repository
from git_blackbird.model.head_moves import MOVERS, GitProcess

_TRACE = Path("blackbird", "git-trace")
# What was kept of a trace that had grown too long.
_KEPT = Path("blackbird", "git-trace.kept")
_ASIDE = Path("blackbird", "git-trace.old")
MAX_TRACE_BYTES = 256 * 1024
_TARGET = "GIT_TRACE2_EVENT"
_SHOWN = "GIT_TRACE2_ENV_VARS"
_DATE = "GIT_COMMITTER_DATE"
_EVENTS = {"start", "def_repo", "cmd_name", "def_param", "exit", "atexit", "signal"}
_WANTED = tuple(b'{"event":"%s"' % event.encode() for event in _EVENTS)


def start_trace(repo: Repository) -> Mapping[str, str]:
    """Begin a trace and give the variables by which an agent's git commands write it.

    None where the user has git write a trace of their own. Raises OSError.
    """
    drop_trace(repo)
    asked = repo.git("config", "--get", "trace2.eventTarget", check=False).out.strip()
    if _TARGET in repo.environ or asked:
        return {}
    path = repo.git_dir / _TRACE
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    variables = {_TARGET: os.fspath(path), "GIT_TRACE2_EVENT_NESTING": "1"}
    return variables if _SHOWN in repo.environ else {**variables, _SHOWN: _DATE}


def drop_trace(repo: Repository) -> None:
    """Remove what there is of a trace. Raises OSError."""
    for name in (_TRACE, _ASIDE, _KEPT):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            (repo.git_dir / name).unlink()


def shorten_trace(repo: Repository) -> None:
    """Keep only what matters of a trace that has grown long; git commands go on writing meanwhile.

    Those that were at work while it was put aside may end in either part. Raises OSError.
    """
    trace, aside, kept = (repo.git_dir / name for name in (_TRACE, _ASIDE, _KEPT))
    if aside.exists():
        with kept.open("ab") as file:
            file.writelines(_movers_lines(_load(aside)))
        aside.unlink()
    if trace.exists() and trace.stat().st_size > MAX_TRACE_BYTES:
        trace.rename(aside)
        trace.touch(mode=0o600)


def read_trace(repo: Repository) -> list[GitProcess] | None:
    """Give the commands that may have moved HEAD of this worktree; None where there is no trace."""
    if not (repo.git_dir / _TRACE).is_file():
        return None
    data = b"".join(_load(repo.git_dir / name) for name in (_KEPT, _ASIDE, _TRACE))
    top = os.path.realpath(repo.top)
    return [found for one in _by_process(data).values() if (found := _process(one, top)) is not None]


def _load(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except FileNotFoundError:
        return b""


def _movers_lines(data: bytes) -> Iterator[bytes]:
    """Give the lines of commands that may move HEAD, and of those that are not known to be others."""
    others = {
        sid
        for sid, events in _by_process(data).items()
        if (name := _last(events, "cmd_name")) is not None and name.get("name") not in MOVERS
    }
    for event in _events(data):
        if event["sid"] not in others:
            yield json.dumps(event, separators=(",", ":")).encode() + b"\n"


def _events(data: bytes) -> Iterator[dict[str, object]]:
    for line in data.split(b"\n"):
        if not line.startswith(_WANTED):
            continue
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event.get("sid"), str) and isinstance(event.get("time"), str):
                yield event


def _by_process(data: bytes) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for event in _events(data):
        found.setdefault(str(event["sid"]), []).append(event)
    return found


def _last(events: Iterable[dict[str, object]], *names: str) -> dict[str, object] | None:
    return next((one for one in reversed([*events]) if one["event"] in names), None)


def _process(events: list[dict[str, object]], top: str) -> GitProcess | None:
    """Put together one command; None for one that moves no HEAD, or one of another worktree."""
    name, start = _last(events, "cmd_name"), _last(events, "start")
    place, end = _last(events, "def_repo"), _last(events, "exit", "atexit", "signal")
    verb = str(name.get("name")) if name is not None else ""
    if verb not in MOVERS or start is None or place is None:
        return None
    if os.path.realpath(str(place.get("worktree"))) != top:
        return None
    began = _moment(start)
    if began is None:
        return None
    is_dated = any(one["event"] == "def_param" and one.get("param") == _DATE for one in events)
    failed = end is not None and end.get("code", 0) != 0
    return GitProcess(verb, began, None if end is None else _moment(end), failed, is_dated)


def _moment(event: Mapping[str, object]) -> int | None:
    """Give the time of an event, in nanoseconds since 1970."""
    try:
        return int(datetime.fromisoformat(str(event["time"])).timestamp() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        return None

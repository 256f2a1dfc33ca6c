"""Trace an agent's git commands with git's own trace, in the git directory of the worktree.

An agent that cannot write there cannot move HEAD either, and git ignores the failure. A trace that the user
configured is left alone; there is none of ours then.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from git_blackbird.git.core.repository import Repository
from git_blackbird.model.entities.head_moves import MOVERS, GitProcess

_TRACE = Path("blackbird", "git-trace")
# The kept part of a trace that had grown too long.
_KEPT = Path("blackbird", "git-trace.kept")
_ASIDE = Path("blackbird", "git-trace.old")
MAX_TRACE_BYTES = 256 * 1024
_TARGET = "GIT_TRACE2_EVENT"
_SHOWN = "GIT_TRACE2_ENV_VARS"
_DATE = "GIT_COMMITTER_DATE"
_EVENTS = {"start", "def_repo", "cmd_name", "def_param", "exit", "atexit", "signal"}
_WANTED = tuple(b'{"event":"%s"' % event.encode() for event in _EVENTS)


def start_trace(repo: Repository) -> Mapping[str, str]:
    """Start a trace and return the variables that make an agent's git commands write it.

    Return None if the user has configured a trace. Raises OSError.
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
    """Remove all parts of a trace. Raises OSError."""
    for name in (_TRACE, _ASIDE, _KEPT):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            (repo.git_dir / name).unlink()


def shorten_trace(repo: Repository) -> None:
    """Drop irrelevant lines of a long trace while git commands go on writing.

    A command that runs during the swap may end in either part. Raises OSError.
    """
    trace, aside, shortened = (repo.git_dir / name for name in (_TRACE, _ASIDE, _KEPT))
    if aside.exists():
        with shortened.open("ab") as file:
            file.writelines(_movers_lines(_load(aside)))
        aside.unlink()
    if trace.exists() and trace.stat().st_size > MAX_TRACE_BYTES:
        trace.rename(aside)
        trace.touch(mode=0o600)


def read_trace(repo: Repository) -> list[GitProcess] | None:
    """Return the commands that may have moved HEAD of this worktree; None if there is no trace."""
    if not (repo.git_dir / _TRACE).is_file():
        return None
    data = b"".join(_load(repo.git_dir / name) for name in (_KEPT, _ASIDE, _TRACE))
    top = os.path.realpath(repo.top)
    return [found for process in _by_process(data).values() if (found := _process(process, top)) is not None]


def _load(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except FileNotFoundError:
        return b""


def _movers_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of commands that may move HEAD, and of commands that are not known yet."""
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
    return next((event for event in reversed([*events]) if event["event"] in names), None)


def _process(events: list[dict[str, object]], top: str) -> GitProcess | None:
    """Assemble one command; None if it cannot move HEAD or ran in another worktree."""
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
    is_dated = any(event["event"] == "def_param" and event.get("param") == _DATE for event in events)
    failed = end is not None and end.get("code", 0) != 0
    return GitProcess(verb, began, None if end is None else _moment(end), failed, is_dated)


def _moment(event: Mapping[str, object]) -> int | None:
    """Return the time of an event, in nanoseconds since 1970."""
    try:
        return int(datetime.fromisoformat(str(event["time"])).timestamp() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        return None

"""Find who made the commits and moves of HEAD while agents work, by the hook's list and git's log."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.log import moves_in
from git_blackbird.model.entities.commits import (
    MOVERS,
    GitProcess,
    HeadMove,
    LogSpan,
    Mover,
    attribute_moves,
)

_LIST = Path("blackbird", "commits")
# Lists that were being removed when an agent began to work.
_OLD_LIST = Path("blackbird", "commits.old")
# Older hooks wrote more after it.
_NOTE = re.compile(r"(?P<owner>-|[0-9a-f]{16}) (?P<oid>[0-9a-f]{40,64})(?: |$)")
_ACTIVE = Path("blackbird", "active")
_MAIN = "main"
_LINKED = "linked-"


def list_commits(repo: Repository, run_id: str) -> tuple[str, ...]:
    """List the commits that only the hook of this run noted so far, in all worktrees, oldest first in each.

    Raises OSError.
    """
    oids = (
        oid for git_dir in _git_dirs(repo) for oid, owners in _owners(git_dir).items() if owners == {run_id}
    )
    return tuple(dict.fromkeys(oids))


def moves_of_others(repo: Repository, run_id: str, span: LogSpan) -> list[tuple[HeadMove, Mover]]:
    """Return the moves of HEAD during a run that the run did not make. Raises GitError, OSError."""
    moves = moves_in(repo, span)
    if not moves:
        return []
    movers = attribute_moves(moves, _owners(repo.git_dir), read_trace(repo), run_id)
    return [(move, mover) for move, mover in zip(moves, movers, strict=True) if mover is not Mover.RUN]


def mark_active(repo: Repository) -> None:
    """Make the hook list every commit from now on, because an agent begins to work in this worktree.

    Raises OSError.
    """
    marker = _marker(repo)
    while True:
        # There is no folder yet, or a run ending in another worktree has just removed it.
        with contextlib.suppress(FileNotFoundError):
            marker.touch()
            return
        marker.parent.mkdir(parents=True, exist_ok=True)


def unmark_active(repo: Repository) -> None:
    """Remove the mark of this worktree, if any; with the last mark of all worktrees, remove the lists.

    Raises OSError.
    """
    marker = _marker(repo)
    if not marker.exists():
        return
    marker.unlink(missing_ok=True)
    _sweep_markers(repo)
    active = repo.common_dir / _ACTIVE
    try:
        active.rmdir()
    except OSError:
        # Agents are at work in another worktree.
        return
    for git_dir in _git_dirs(repo):
        if (git_dir / _LIST).is_dir() and not (git_dir / _LIST).is_symlink():
            # An agent put it there.
            shutil.rmtree(git_dir / _LIST, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            (git_dir / _LIST).rename(git_dir / _OLD_LIST)
        # Only now is it certain that no agent that began meanwhile has a line in there.
        if not active.exists():
            (git_dir / _OLD_LIST).unlink(missing_ok=True)


def _marker(repo: Repository) -> Path:
    is_main = repo.git_dir == repo.common_dir
    return repo.common_dir / _ACTIVE / (_MAIN if is_main else _LINKED + repo.git_dir.name)


def _sweep_markers(repo: Repository) -> None:
    """Remove marks of deleted worktrees."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(repo.common_dir / _ACTIVE):
            linked = repo.common_dir / "worktrees" / name.removeprefix(_LINKED)
            if name.startswith(_LINKED) and not linked.exists():
                (repo.common_dir / _ACTIVE / name).unlink(missing_ok=True)


def _git_dirs(repo: Repository) -> Iterator[Path]:
    """Return the git directory of every worktree, this one's first."""
    yield repo.git_dir
    others = [repo.common_dir]
    with contextlib.suppress(FileNotFoundError):
        others += sorted((repo.common_dir / "worktrees").iterdir())
    yield from (path for path in others if path != repo.git_dir)


def _owners(git_dir: Path) -> dict[str, set[str]]:
    """Return the commits in the hook's list of a worktree, oldest first, with who is said to have made them.

    Invalid lines, such as one cut off by a full disk, are skipped.
    """
    data = b""
    for name in (_OLD_LIST, _LIST):
        with contextlib.suppress(FileNotFoundError):
            data += (git_dir / name).read_bytes()
    owners: dict[str, set[str]] = {}
    for line in data.decode(errors="replace").split("\n"):
        if (match := _NOTE.match(line)) is not None:
            owners.setdefault(match["oid"], set()).add(match["owner"])
    return owners


# A folder with one file for each of the agent's git processes, which git names by the time of its start.
_TRACE = Path("blackbird", "git-trace")
# One process leaves a few thousand bytes; what is longer is not git's.
_MAX_PROCESS_BYTES = 256 * 1024
_TARGET = "GIT_TRACE2_EVENT"
_ENV_VARS = "GIT_TRACE2_ENV_VARS"
_DATE = "GIT_COMMITTER_DATE"
_ENDS = ("exit", "atexit", "signal")
_EVENT_PREFIXES = tuple(
    b'{"event":"%s"' % event.encode() for event in ("start", "def_repo", "cmd_name", "def_param", *_ENDS)
)


def start_trace(repo: Repository) -> Mapping[str, str]:
    """Start a trace and return the variables that make an agent's git commands write it. Raises OSError.

    None are needed if the user has configured a trace: it is left alone.
    """
    drop_trace(repo)
    configured = {value.key: value.value for value in read_config(repo)}
    if _TARGET in repo.environ or configured.get("trace2.eventtarget"):
        return {}
    folder = repo.git_dir / _TRACE
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    variables = {_TARGET: os.fspath(folder), "GIT_TRACE2_EVENT_NESTING": "1"}
    return variables if _ENV_VARS in repo.environ else {**variables, _ENV_VARS: _DATE}


def drop_trace(repo: Repository) -> None:
    """Remove the trace. Raises OSError."""
    folder = repo.git_dir / _TRACE
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def shorten_trace(repo: Repository) -> None:
    """Remove the files of ended commands that cannot have moved HEAD of this worktree. Raises OSError."""
    top = os.path.realpath(repo.top)
    for path in _trace_files(repo) or ():
        events = _load_events(path)
        if _last(events, *_ENDS) is not None and _process(events, top) is None:
            path.unlink(missing_ok=True)


def read_trace(repo: Repository) -> list[GitProcess] | None:
    """Return the commands that may have moved HEAD of this worktree; None if there is no trace."""
    files = _trace_files(repo)
    if files is None:
        return None
    top = os.path.realpath(repo.top)
    return [command for path in files if (command := _process(_load_events(path), top)) is not None]


def _trace_files(repo: Repository) -> list[Path] | None:
    """Return the files of a trace, oldest process first; None if there is no trace."""
    folder = repo.git_dir / _TRACE
    if folder.is_symlink() or not folder.is_dir():
        return None
    return sorted(folder.iterdir())


def _load_events(path: Path) -> list[dict[str, object]]:
    """Return the events of one process; none if an agent put something else there."""
    events: list[dict[str, object]] = []
    if path.is_symlink() or not path.is_file():
        return events
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for line in file.read(_MAX_PROCESS_BYTES).split(b"\n"):
            if line.startswith(_EVENT_PREFIXES):
                with contextlib.suppress(ValueError, RecursionError):
                    events.append(json.loads(line))
    return events


def _last(events: Sequence[dict[str, object]], *names: str) -> dict[str, object] | None:
    return next((event for event in reversed(events) if event["event"] in names), None)


def _process(events: list[dict[str, object]], top: str) -> GitProcess | None:
    """Assemble one command; None if it cannot move HEAD or ran in another worktree."""
    name, start = _last(events, "cmd_name"), _last(events, "start")
    place, end = _last(events, "def_repo"), _last(events, *_ENDS)
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
        return int(datetime.fromisoformat(str(event.get("time"))).timestamp() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        return None

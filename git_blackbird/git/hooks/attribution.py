"""Find who made the commits and moves of HEAD while agents work, by the hook's list and git's log."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

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
    noted = (
        oid for git_dir in _git_dirs(repo) for oid, owners in _owners(git_dir).items() if owners == {run_id}
    )
    return tuple(dict.fromkeys(noted))


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
        marker.parent.mkdir(parents=True, exist_ok=True)
        # A run ending in another worktree may just have removed the folder.
        with contextlib.suppress(FileNotFoundError):
            marker.touch()
            return


def unmark_active(repo: Repository) -> None:
    """Remove the mark of this worktree, if any; with the last mark of all worktrees, remove the lists.

    Raises OSError.
    """
    if not _marker(repo).exists():
        return
    _marker(repo).unlink(missing_ok=True)
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
    """Start a trace and return the variables that make an agent's git commands write it. Raises OSError.

    None are needed if the user has configured a trace: it is left alone.
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
    return [
        command for process in _by_process(data).values() if (command := _process(process, top)) is not None
    ]


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
    processes: dict[str, list[dict[str, object]]] = {}
    for event in _events(data):
        processes.setdefault(str(event["sid"]), []).append(event)
    return processes


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

"""Find who made the commits and moves of HEAD while agents work, by the hook's list and git's log."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.git.core.repository import Repository, other_worktrees
from git_blackbird.git.worktree.log import moves_in
from git_blackbird.model.base.system import make_own_folder
from git_blackbird.model.run.commits import HeadMove, LogSpan, Mover, mover_of

_LIST = "blackbird/commits"
# Lists that were being removed when an agent began to work.
_OLD_LIST = "blackbird/commits.old"
# Older hooks wrote more after it.
_NOTE = re.compile(r"(?P<owner>-|[0-9a-f]{16}) (?P<oid>[0-9a-f]{40,64})(?: |$)")
_ACTIVE = "blackbird/active"
_PERSON = "-"
_MAIN = "main"
_LINKED = "linked-"


def list_commits(repo: Repository, run_id: str) -> tuple[str, ...]:
    """List the commits that only this run's hook noted so far, by worktree, oldest first. Raises OSError."""
    noted = ((oid, owners) for git_dir in _git_dirs(repo) for oid, owners in _owners(git_dir).items())
    return tuple(dict.fromkeys(oid for oid, owners in noted if owners == {run_id}))


def commits_elsewhere(repo: Repository) -> Iterator[tuple[str, Repository, frozenset[str]]]:
    """Yield the commits that the hook noted in other worktrees, and who made them. Raises OSError."""
    for worktree in other_worktrees(repo):
        for oid, owners in _owners(worktree.git_dir).items():
            yield oid, worktree, frozenset(owners)


def moves_of_others(repo: Repository, run_id: str, span: LogSpan) -> list[tuple[HeadMove, Mover]]:
    """Return the moves of HEAD during a run that the run did not make. Raises GitError, OSError."""
    moves = moves_in(repo, span)
    owners = _owners(repo.git_dir) if moves else {}
    movers = [(move, mover_of(move, owners, run_id)) for move in moves]
    return [(move, mover) for move, mover in movers if mover is not Mover.RUN]


def moves_of_people(repo: Repository, span: LogSpan) -> list[tuple[HeadMove, bool]]:
    """Return the moves of HEAD, each with whether a person made it, as far as can be told.

    A commit that no hook noted may be that of an agent that works in this worktree. Raises OSError.
    """
    moves = moves_in(repo, span)
    owners = _owners(repo.git_dir) if moves else {}
    may_be_agents = _marker(repo).exists()

    def is_of_person(move: HeadMove) -> bool:
        noted = owners.get(move.new)
        return noted == {_PERSON} if noted else not (move.makes_commit and may_be_agents)

    return [(move, is_of_person(move)) for move in moves]


def mark_active(repo: Repository) -> None:
    """Make the hook list commits from now on: an agent begins to work in this worktree. Raises OSError."""
    marker = _marker(repo)
    while True:
        # There is no folder yet, or a run ending in another worktree has just removed it.
        with contextlib.suppress(FileNotFoundError):
            marker.touch()
            return
        make_own_folder(marker.parent.parent)
        make_own_folder(marker.parent)


def unmark_active(repo: Repository) -> None:
    """Remove the mark of this worktree, and the lists with the last mark of all. Raises OSError."""
    marker = _marker(repo)
    if not marker.exists():
        return
    marker.unlink(missing_ok=True)
    active = marker.parent
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(active):
            linked = repo.common_dir / "worktrees" / name.removeprefix(_LINKED)
            if name.startswith(_LINKED) and not linked.exists():
                (active / name).unlink(missing_ok=True)
    try:
        active.rmdir()
    except OSError:
        # Agents are at work in another worktree.
        return
    for git_dir in _git_dirs(repo):
        noted, old = git_dir / _LIST, git_dir / _OLD_LIST
        if noted.is_dir() and not noted.is_symlink():
            # An agent put it there.
            shutil.rmtree(noted, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            noted.rename(old)
        # Only now is it certain that no agent that began meanwhile has a line in there.
        if not active.exists():
            old.unlink(missing_ok=True)


def _marker(repo: Repository) -> Path:
    is_main = repo.git_dir == repo.common_dir
    return Path(repo.common_dir, _ACTIVE, _MAIN if is_main else _LINKED + repo.git_dir.name)


def _git_dirs(repo: Repository) -> Iterator[Path]:
    """Return the git directory of every worktree, this one's first."""
    yield repo.git_dir
    others = [repo.common_dir]
    with contextlib.suppress(FileNotFoundError):
        folder = f"{repo.common_dir}/worktrees"
        others += (Path(folder, name) for name in sorted(os.listdir(folder)))
    yield from (path for path in others if path != repo.git_dir)


def _owners(git_dir: Path) -> dict[str, set[str]]:
    """Return the commits in a worktree's lists, oldest first, with who made them; skip invalid lines."""
    data = b""
    for name in (_OLD_LIST, _LIST):
        with contextlib.suppress(FileNotFoundError):
            data += (git_dir / name).read_bytes()
    owners: dict[str, set[str]] = {}
    for line in data.decode(errors="replace").split("\n"):
        if (match := _NOTE.match(line)) is not None:
            owners.setdefault(match["oid"], set()).add(match["owner"])
    return owners

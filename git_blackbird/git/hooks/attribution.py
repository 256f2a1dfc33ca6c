"""Find who made the commits and moves of HEAD while agents work, by the hook's list and git's log."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from git_blackbird.git.core.git_trace import read_trace
from git_blackbird.git.core.reflog import moves_in, read_moves
from git_blackbird.git.core.repository import Repository
from git_blackbird.model.entities.head_moves import (
    Claim,
    HeadMove,
    LogSpan,
    Mover,
    attribute_commits,
    attribute_moves,
    parse_claims,
)

_LIST = Path("blackbird", "commits")
# Lists that were being removed when an agent began to work.
_OLD_LIST = Path("blackbird", "commits.old")
_ACTIVE = Path("blackbird", "active")
_MAIN = "main"
_LINKED = "linked-"


def list_commits(repo: Repository, run_id: str, since: str | None) -> tuple[str, ...]:
    """List the commits of a run so far, in all worktrees, oldest first in each.

    ``since`` is the commit at HEAD when the run began. Raises GitError, OSError.
    """
    found: dict[str, None] = {}
    for git_dir in _git_dirs(repo):
        found |= dict.fromkeys(oid for oid, owner in _owners(git_dir, since).items() if owner == run_id)
    return tuple(found)


def moves_of_others(repo: Repository, run_id: str, span: LogSpan) -> list[tuple[HeadMove, Mover]]:
    """Return the moves of HEAD during a run that the run did not make. Raises GitError, OSError."""
    moves = moves_in(repo, span)
    if not moves:
        return []
    movers = attribute_moves(moves, _owners(repo.git_dir, span.start), read_trace(repo), run_id)
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
        _remove_folder(git_dir / _LIST)
        with contextlib.suppress(FileNotFoundError):
            (git_dir / _LIST).rename(git_dir / _OLD_LIST)
        # Only now is it certain that no agent that began meanwhile has a line in there.
        if not active.exists():
            (git_dir / _OLD_LIST).unlink(missing_ok=True)


def _remove_folder(path: Path) -> None:
    """Remove a folder that an agent put in the list's place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)


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


def _read_list(git_dir: Path) -> list[Claim]:
    found = b""
    for name in (_OLD_LIST, _LIST):
        with contextlib.suppress(FileNotFoundError):
            found += (git_dir / name).read_bytes()
    return list(parse_claims(found))


def _owners(git_dir: Path, since: str | None) -> Mapping[str, str]:
    """Return who made each commit in the list of a worktree, oldest first."""
    claims = _read_list(git_dir)
    return attribute_commits(claims, _moves_since(git_dir, claims, since)) if claims else {}


def _moves_since(git_dir: Path, claims: Sequence[Claim], since: str | None) -> list[HeadMove]:
    """Return the moves of a worktree's HEAD, as far back as an attribution may reach."""
    moves = read_moves(git_dir)
    claimed = {claim.oid for claim in claims}
    first = next((place for place, move in enumerate(moves) if move.new in claimed), len(moves))
    begun = max((place + 1 for place, move in enumerate(moves[:first]) if move.new == since), default=0)
    return moves[max(begun, first - len(claims)) :]

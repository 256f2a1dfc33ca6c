"""Read the hook's list of commits, and add what git's log says about them (DESIGN.md 10)."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.git.core.process import name_lines
from git_blackbird.git.core.repository import Repository
from git_blackbird.model.entities.attribution import Claim, HeadCommit, attribute, author_mark, parse_claims

_LIST = Path("blackbird", "commits")
# Lists that were being removed when an agent began to work.
_OLD_LIST = Path("blackbird", "commits.old")
_ACTIVE = Path("blackbird", "active")
_MAIN = "main"
_LINKED = "linked-"
_LONGEST_LOG_BYTES = 4 * 1024 * 1024
# Beginnings of reflog messages for moves of HEAD that run no post-commit hook; for a pull or a rebase, those
# that made no commit.
_NO_HOOK = re.compile(
    rb"(?:checkout|reset|merge|am|clone|branch|Branch|initial pull|update by push)\b"
    rb"|(?:pull|rebase)\b(?!.*\((?:pick|reword|edit|squash|fixup|continue)\))"
)
_LOG_LINE = re.compile(rb"[0-9a-f]+ [0-9a-f]+ ")
_AUTHOR = re.compile(rb"^author ([^\n]*>) (\d+ [-+]\d{4})$", re.MULTILINE)


@dataclass(frozen=True)
class HeadMove:
    """A commit that HEAD was moved to, and whether a post-commit hook may have run then."""

    oid: str
    by_commit: bool


def list_commits(repo: Repository, run_id: str, since: str | None) -> tuple[str, ...]:
    """List the commits of a run so far, in all worktrees, oldest first in each.

    ``since`` is the commit at HEAD when the run began. Raises GitError, OSError.
    """
    found: dict[str, None] = {}
    for git_dir in _git_dirs(repo):
        claims = _read_list(git_dir)
        if any(claim.owner == run_id for claim in claims):
            settled = attribute(claims, _load_made(repo, _moves_since(git_dir, claims, since)))
            found |= dict.fromkeys(commit.oid for commit in settled if commit.owner == run_id)
    return tuple(found)


def list_owners(repo: Repository, since: str | None) -> Mapping[str, str]:
    """Return who made each commit of this worktree in the hook's list; ``since`` as in ``list_commits``.

    Raises GitError, OSError.
    """
    claims = _read_list(repo.git_dir)
    if not claims:
        return {}
    settled = attribute(claims, _load_made(repo, _moves_since(repo.git_dir, claims, since)))
    return {commit.oid: commit.owner for commit in settled}


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


def _read_list(git_dir: Path) -> tuple[Claim, ...]:
    found = b""
    for name in (_OLD_LIST, _LIST):
        with contextlib.suppress(FileNotFoundError):
            found += (git_dir / name).read_bytes()
    return parse_claims(found)


def _moves_since(git_dir: Path, claims: Sequence[Claim], since: str | None) -> list[HeadMove]:
    """Return the moves of a worktree's HEAD, as far back as an attribution may reach."""
    moves = [HeadMove(line.split(b" ", 2)[1].decode(), _may_have_hook(line)) for line in _log_lines(git_dir)]
    claimed = {claim.oid for claim in claims}
    first = next((place for place, move in enumerate(moves) if move.oid in claimed), len(moves))
    begun = max((place + 1 for place, move in enumerate(moves[:first]) if move.oid == since), default=0)
    return moves[max(begun, first - len(claims)) :]


def _log_lines(git_dir: Path) -> list[bytes]:
    """Return the last whole lines of the reflog."""
    try:
        with (git_dir / "logs" / "HEAD").open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - _LONGEST_LOG_BYTES))
            lines = [line for line in log.read().split(b"\n")[:-1] if _LOG_LINE.match(line)]
    except FileNotFoundError:
        return []
    return lines


def _may_have_hook(line: bytes) -> bool:
    return _NO_HOOK.match(line.partition(b"\t")[2]) is None


def _load_made(repo: Repository, moves: Sequence[HeadMove]) -> list[HeadCommit]:
    """Read the commits that HEAD was moved to; an object may be gone by now."""
    if not moves:
        return []
    names = name_lines(move.oid for move in moves)
    found = _parse_objects(repo.git("cat-file", "--batch", stdin=names).out)
    return [replace(made, by_commit=move.by_commit) for move, made in zip(moves, found, strict=True)]


def _parse_objects(data: bytes) -> Iterator[HeadCommit]:
    """Parse the output of ``git cat-file --batch``."""
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        words = data[at:end].split(b" ")
        at = end + 1
        if len(words) != 3:
            yield HeadCommit(words[0].decode())
            continue
        size = int(words[2])
        yield _parse_commit(words[0].decode(), data[at : at + size])
        at += size + 1


def _parse_commit(oid: str, content: bytes) -> HeadCommit:
    head, _, message = content.partition(b"\n\n")
    author = _AUTHOR.search(head)
    mark = "" if author is None else author_mark(f"@{author[2].decode()}", author[1].decode(errors="replace"))
    return HeadCommit(oid, mark, message.partition(b"\n")[0].decode(errors="replace"))

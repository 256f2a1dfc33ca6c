"""Find and read commits, those of a run and the stash, and read the moves of HEAD from its reflog."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from git_blackbird.git.core.output import grouped, object_id_rows, object_ids
from git_blackbird.git.core.process import name_lines, operands, revisions
from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects
from git_blackbird.model.run.commits import RUN_TRAILER, TASK_TRAILER, Commit, HeadMove, LogSpan

_SHOW = ("log", "-1", "--no-show-signature", "--format=%T %P")
# A commit to exclude may be gone.
_REV_LIST = ("rev-list", "--ignore-missing")
_FIELDS = 4
_FORMAT = "%H%x00%s" + "".join(
    f"%x00%(trailers:key={key},valueonly,separator=%x1f)" for key in (TASK_TRAILER, RUN_TRAILER)
)


def find_commit(repo: Repository, name: str) -> str | None:
    if name.startswith("^"):  # what is to be excluded, which git verifies too
        return None
    # In two steps, because the text of a search (`:/TEXT`) extends to the end of the name.
    revision = name
    for asked in ("{}", "{}^{{commit}}"):
        asked_for = revisions(asked.format(revision))
        found = repo.git("rev-parse", "--quiet", "--verify", *asked_for, check=False)
        if found.code != 0:
            return None
        revision = found.oid()
    return revision


def tree_of(repo: Repository, commit: str) -> str:
    return repo.git("rev-parse", "--verify", *revisions(f"{commit}^{{tree}}")).oid()


def find_tree(repo: Repository, commit: str) -> str | None:
    """Return the tree of a commit; None if that is gone."""
    tree = revisions(f"{commit}^{{tree}}")
    found = repo.git("rev-parse", "--quiet", "--verify", *tree, check=False)
    return found.oid() if found.code == 0 else None


def commit_parts(repo: Repository, commit: str) -> tuple[str, tuple[str, ...]]:
    return repo.git(*_SHOW, *revisions(commit), *operands()).lines(_parts)


def _parts(lines: list[bytes]) -> tuple[str, tuple[str, ...]]:
    ((tree, *parents),) = object_id_rows(lines)
    return tree, tuple(parents)


def read_commits(repo: Repository, oids: Iterable[str]) -> dict[str, Commit]:
    """Read these commits in one process; missing ones are left out."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return {}
    listed = repo.git(
        "log",
        "-z",
        "--no-walk=unsorted",
        "--ignore-missing",
        "--no-show-signature",
        "--encoding=UTF-8",
        f"--format={_FORMAT}",
        "--stdin",
        stdin=name_lines(wanted),
    )
    return {commit.oid: commit for commit in listed.records(_commits)}


def _commits(records: list[bytes]) -> list[Commit]:
    fields = (record.decode(errors="replace") for record in records)
    return [
        Commit(oid, subject, _values(tasks), _values(runs))
        for oid, subject, tasks, runs in grouped(fields, _FIELDS)
    ]


def reachable(repo: Repository, oids: Iterable[str]) -> frozenset[str]:
    """Return those of existing commits that HEAD or a reference of any worktree reaches. Raises GitError."""
    wanted = frozenset(oids)
    return wanted - _beyond_references(repo, wanted)


def only_in_worktree(repo: Repository, oids: Iterable[str]) -> frozenset[str]:
    """Return the commits that no reference and no HEAD of another worktree reaches. Raises GitError."""
    return _beyond_references(repo, frozenset(oids), "--single-worktree")


def _beyond_references(repo: Repository, wanted: frozenset[str], *options: str) -> frozenset[str]:
    if not wanted:
        return wanted
    asked = ("rev-list", "--stdin", *options, "--not", "--exclude=refs/blackbird/*", "--all")
    left = repo.git(*asked, stdin=name_lines(sorted(wanted)))
    return wanted.intersection(left.lines(object_ids))


def commits_in_head(
    repo: Repository, oids: Iterable[str], since: str | None
) -> list[tuple[str, tuple[str, ...]]]:
    """Return those of the commits that HEAD reaches after ``since``, newest first, each with its parents."""
    wanted = frozenset(oids)
    if not wanted:
        return []
    within = revisions("HEAD", *_excluding(since))
    listed = repo.git(*_REV_LIST, "--topo-order", "--parents", *within, *operands(), check=False)
    return [(oid, tuple(above)) for oid, *above in listed.lines(object_id_rows) if oid in wanted]


def _excluding(commit: str | None) -> tuple[str, ...]:
    return () if commit is None else (f"^{commit}",)


def commits_between(repo: Repository, old: str | None, new: str) -> frozenset[str]:
    """Return the commits that ``new`` reaches and ``old`` does not; none if one of them is gone."""
    done = repo.git("rev-list", *revisions(new, *_excluding(old)), *operands(), check=False)
    return frozenset(done.lines(object_ids)) if done.code == 0 else frozenset()


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split("\x1f") if value.strip())


def commit_of_run(repo: Repository, run_id: str, since: str | None) -> str | None:
    """Find the newest commit in HEAD after ``since`` that names a run in its trailers."""
    grep = f"--grep={RUN_TRAILER}: {run_id}"
    within = revisions("HEAD", *_excluding(since))
    done = repo.git(*_REV_LIST, "--fixed-strings", grep, *within, *operands(), check=False)
    for commit in read_commits(repo, done.lines(object_ids)).values():
        if run_id in commit.runs:
            return commit.oid
    return None


_MOVE = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*> \d{1,12} [-+]\d{4}\t?(?P<message>.*)"
)
_LOG = "logs/HEAD"
_LONGEST_BYTES = 16 * 1024 * 1024


def log_size(git_dir: Path) -> int:
    """Return the size of the reflog of HEAD; later entries are appended after it."""
    with contextlib.suppress(OSError):
        return os.stat(f"{git_dir}/{_LOG}").st_size  # noqa: PTH116  # pathlib takes longer than the system
    return 0


def moves_in(repo: Repository, span: LogSpan) -> list[HeadMove]:
    """Return the moves of HEAD in a span of its log, oldest first; after a rewrite, those since its start."""
    first = max(0, span.end - _LONGEST_BYTES)
    data = b""
    with contextlib.suppress(OSError), (repo.git_dir / _LOG).open("rb") as log:
        log.seek(first)
        data = log.read(span.end - first)
    begin = -1 if span.begin is None else span.begin - first
    if 0 <= begin <= len(data) and (begin == 0 or data[begin - 1 :][:1] == b"\n"):
        return _parse(data[begin:])
    moves = _parse(data)
    came = [place for place, move in enumerate(moves) if move.new == span.start]
    return moves[came[-1] + 1 :] if came else []


def _parse(data: bytes) -> list[HeadMove]:
    moves: list[HeadMove] = []
    for match in filter(None, map(_MOVE.fullmatch, data.split(b"\n"))):
        old, new = match["old"].decode(), match["new"].decode()
        message = match["message"].decode(errors="replace")
        moves.append(HeadMove(old if old.strip("0") else None, new, message))
    return moves


class Stash(NamedTuple):
    """The newest entry: its tree, and the commit and the tree that it was made on."""

    tree: str
    base: str
    base_tree: str


def find_stash(repo: Repository) -> Stash | None:
    """Return the newest entry of the stash, if there is one. Raises UnusableError."""
    # The log of the stash goes with its last entry.
    if not os.path.exists(f"{repo.common_dir}/logs/refs/stash"):  # noqa: PTH110  # as above
        return None
    objects = open_libgit2(repo)
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    with using_objects(repo):
        reference = objects.references.get("refs/stash")
        if reference is None:
            return None
        commit = reference.peel(pygit2.Commit)
        if not commit.parents:
            return None
        base = commit.parents[0]
        return Stash(str(commit.tree_id), str(base.id), str(base.tree_id))

"""What the tests of git_blackbird.git share."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.snapshot import Snapshot, SnapshotLimits, take_snapshot
from git_blackbird.model.run.summary import Trees
from tests.support import git, repository_at

HIDDEN = (".blackbird", "blackbird.plan.json")
LIMITS = SnapshotLimits(timeout_seconds=60, max_untracked_bytes=50_000_000)
ODD = [
    "with space",
    'quo"te',
    "new\nline",
    "not\udcff utf8",
    "a -> b.txt",
    "-dash",
    "*?[glob]",
    ":top",
    "ü",
    "\\",
]


def found(path: Path) -> Repository:
    return repository_at(path, os.environ)


def snap(path: Path, limits: SnapshotLimits = LIMITS) -> Snapshot:
    return take_snapshot(found(path), limits=limits)


def tree_of(path: Path) -> str:
    return snap(path).tree


def names(repo: Path, tree: str) -> list[str]:
    """Every path of a tree, bytes that are not UTF-8 as surrogates."""
    listed = git(repo, "ls-tree", "-r", "-z", "--name-only", tree)
    return listed.split("\0")[:-1]


def listing(repo: Path, tree: str) -> dict[str, str]:
    """Mode and content of every file of a tree, a submodule's commit as its content."""
    result: dict[str, str] = {}
    for item in git(repo, "ls-tree", "-r", "-z", tree).split("\0")[:-1]:
        facts, _, name = item.partition("\t")
        mode, kind, oid = facts.split(" ")
        result[name] = f"{mode} {oid if kind == 'commit' else git(repo, 'cat-file', 'blob', oid)}"
    return result


def change_after(repo: Path, base: str) -> Trees:
    return Trees(base, tree_of(repo))


KEPT = "blackbird/snapshot"
"""Below the git directory: the index that one snapshot keeps for the next."""


def user_state(repo: Path) -> Mapping[str, object]:
    """All that a snapshot must leave as it is: index, references, HEAD, stash, configuration, worktree."""
    git_dir = Path(git(repo, "rev-parse", "--absolute-git-dir"))
    kept = {
        str(path.relative_to(git_dir)): path.read_bytes()
        for path in sorted(git_dir.rglob("*"))
        if path.is_file() and "objects" not in path.parts and KEPT not in path.as_posix()
    }
    index = git_dir / "index"
    times = index.stat().st_mtime_ns if index.exists() else None
    return {
        "files": kept,
        "index time": times,
        "status": git(repo, "--no-optional-locks", "status", "--porcelain", "-z"),
    }


def escaping(folder: Path) -> str:
    """Shell text that leaves its process group with all its pipes, until ``folder/release`` is there."""
    program = folder / "escape.py"
    program.write_text(
        "import os, time\n"
        "os.fork() and os._exit(0)\n"
        "os.setsid()\n"
        "end = time.monotonic() + 60\n"
        f"while not os.path.exists({str(folder / 'release')!r}) and time.monotonic() < end:\n"
        "    time.sleep(0.05)\n"
    )
    return f"'{sys.executable}' '{program}' "


def script(path: Path, text: str) -> Path:
    """Write a shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path

"""What of a repository lies outside the places of runs, read from its files without a git process."""

import contextlib
import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.linked import unowned_worktrees
from git_blackbird.model.run.summary import Subject, Surroundings, is_named_setting

_BY_PREFIX = {
    "refs/heads/": Subject.BRANCH,
    "refs/tags/": Subject.TAG,
    "refs/remotes/": Subject.REMOTE_BRANCH,
}
# Ours, those of one worktree alone, and what maintenance fetches.
_PASSED_OVER = frozenset({"blackbird", "bisect", "worktree", "rewritten", "prefetch"})
# Nobody is told of these by name; comparing very many is not worth its time.
_MOST_REFERENCES = 5000
_LONGEST_REFERENCE = 4096
_LARGEST_FILE = 1024 * 1024
_SETTINGS_OF_OURS = "blackbird."
# What only one process was given is no change for others.
_OF_A_CALL = "command"


def take_surroundings(repo: Repository) -> Surroundings:
    """Return what lies outside the places of runs now. Raises GitError."""
    files: dict[str, str] = {}
    # Hooks, and what says how git takes files.
    for folder in ("hooks", "info"):
        with contextlib.suppress(OSError), os.scandir(f"{repo.common_dir}/{folder}") as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                # Git runs no samples, and writes the list of references itself.
                if not entry.name.endswith(".sample") and name != "info/refs":
                    files[name] = _file_digest(entry.path)
    settings: dict[str, list[str]] = {}
    for scope, _, key, value in read_config(repo).values:
        if scope != _OF_A_CALL and not key.startswith(_SETTINGS_OF_OURS):
            # A key without a value means true, as in git.
            settings.setdefault(key, []).append("true" if value is None else value)
    return {
        **_references(repo.common_dir),
        # What is not named to people may be a secret.
        Subject.SETTING: {
            key: ", ".join(values) if is_named_setting(key) else _digest("\0".join(values).encode())
            for key, values in settings.items()
        },
        Subject.GIT_FILE: files,
        Subject.WORKTREE: {str(linked.top): linked.git_dir.name for linked in unowned_worktrees(repo)},
    }


def _references(common_dir: Path) -> dict[str, dict[str, str]]:
    """Return branches, tags and all other references by subject; of very many, the branches alone."""
    found: dict[str, dict[str, str]] = {subject: {} for subject in (*_BY_PREFIX.values(), Subject.REFERENCE)}
    # As git does, the files first: packing removes them last.
    loose, packed = dict(_loose(common_dir)), dict[str, str]()
    with contextlib.suppress(OSError):
        for line in (common_dir / "packed-refs").read_bytes().splitlines():
            commit, _, ref = line.partition(b" ")
            folder = ref.split(b"/", 2)[1:2]
            if ref.startswith(b"refs/") and os.fsdecode(folder[0]) not in _PASSED_OVER:
                packed[os.fsdecode(ref)] = commit.decode(errors="replace")
    for name, oid in {**packed, **loose}.items():
        prefix = next((prefix for prefix in _BY_PREFIX if name.startswith(prefix)), "")
        found[_BY_PREFIX.get(prefix, Subject.REFERENCE)][name.removeprefix(prefix)] = oid
    return {
        subject: names
        for subject, names in found.items()
        if subject == Subject.BRANCH or len(names) <= _MOST_REFERENCES
    }


def _loose(common_dir: Path) -> Iterator[tuple[str, str]]:
    folders = ["refs"]
    while folders:
        name = folders.pop()
        with contextlib.suppress(OSError), os.scandir(f"{common_dir}/{name}") as entries:
            for entry in entries:
                below = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders += [below] if name != "refs" or entry.name not in _PASSED_OVER else []
                elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(".lock"):
                    with contextlib.suppress(OSError), open(entry.path, "rb") as file:  # noqa: PTH123  # many of them
                        if text := file.read(_LONGEST_REFERENCE).strip():
                            yield below, text.decode(errors="replace")


def _file_digest(path: str) -> str:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return f"-> {os.readlink(path)}"  # noqa: PTH115
        if not stat.S_ISREG(status.st_mode):
            return "not a file"
        # Git runs a hook that is executable.
        kind = "x" if status.st_mode & stat.S_IXUSR else ""
        if status.st_size > _LARGEST_FILE:
            return f"{status.st_size} {status.st_mtime_ns}{kind}"
        return _digest(Path(path).read_bytes()) + kind
    except OSError:
        return "unreadable"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def misleading_settings(repo: Repository) -> Iterator[tuple[str, str]]:
    """Yield settings with which git finds no main worktree, or another one. Raises GitError."""
    common = repo.common_dir
    own = {value.key: value.value for value in read_config(repo).values if value.file == common / "config"}
    bare, worktree = own.get("core.bare", "false"), own.get("core.worktree")
    # Only a repository that has had a worktree has an index.
    if bare in {None, "true"} and (common / "index").exists():
        yield "core.bare", "true"
    if worktree is not None and common.name == ".git":
        there = os.path.realpath(common / worktree)
        if there != os.path.realpath(common.parent):
            yield "core.worktree", worktree

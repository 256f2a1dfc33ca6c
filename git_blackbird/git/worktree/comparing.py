"""Where trees are compared: content alone decides what has lines, and what governs other files comes first.

A change may bring attributes, and an agent may write settings and ``info/attributes`` into the git directory.
None of them counts here, whether git compares or libgit2.
"""

import contextlib
import fnmatch
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from git_blackbird.git.core.config import configured_paths
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.index import writing
from git_blackbird.model.base.system import make_own_folder

# Git asks these first, and no other attribute then.
_NO_ATTRIBUTES = b"* !diff\n"
_FOLDERS = ("refs", "info", "objects", "objects/info")
# What would bring in other attributes.
_FOREIGN = ("commondir", "index")
_ORDER = "order"
_GOVERNING = (".gitattributes", ".gitmodules", ".gitignore")
# Hooks, and lists of attributes and ignored files, wherever they are configured to be.
_CONFIGURED = ("core.hookspath", "core.attributesfile", "core.excludesfile")
# Settings of other programs, and of hooks.
_HIDDEN_AT_TOP = ".*"
# Larger files count as binary, whatever is in them: git's own default, which a setting may lower.
_LARGE = b"[core]\n\tbigFileThreshold = 512m\n"
# Git looks for a NUL in as many bytes.
_LOOKED_AT_BYTES = 8000
_SHOWING_ALL = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


@dataclass(frozen=True)
class Comparison:
    """A repository of our own with the objects of another one, and the order in which paths are shown.

    ``patterns`` are as in git's order files: what matches the first of them comes first.
    """

    repo: Repository
    patterns: tuple[str, ...]

    @property
    def diff_options(self) -> tuple[str, ...]:
        """The options of a command that compares."""
        return (*_SHOWING_ALL, f"-O{self.repo.git_dir / _ORDER}")

    def rank(self, path: bytes) -> int:
        """Return the place of a path among others; those of one rank are in the order of their names."""
        found = self._first.match(os.fsdecode(path))
        return len(self.patterns) if found is None else (found.lastindex or 0) - 1

    @cached_property
    def _first(self) -> re.Pattern[str]:
        return re.compile("|".join(f"({fnmatch.translate(pattern)})" for pattern in self.patterns))


def comparison(repo: Repository) -> Comparison:
    """Return where the trees of a repository are compared. Raises UnusableError."""
    folder, patterns = repo.private_dir / "compare", tuple(_patterns(repo))
    contents = {
        "config": _included(repo.common_dir / "config")
        + _included(repo.git_dir / "config.worktree")
        + _LARGE,
        "HEAD": b"ref: refs/heads/none\n",
        "info/attributes": _NO_ATTRIBUTES,
        "objects/info/alternates": os.fsencode(repo.common_dir / "objects") + b"\n",
        _ORDER: os.fsencode("".join(f"{pattern}\n" for pattern in patterns)),
    }
    with writing(folder):
        for place in (repo.private_dir, folder, *(folder / name for name in _FOLDERS)):
            make_own_folder(place)
        for name in _FOREIGN:
            (folder / name).unlink(missing_ok=True)
        for name, content in contents.items():
            _ensure_file(folder / name, content)
    view = replace(repo, git_dir=folder, common_dir=folder, config_memo={})
    return Comparison(view, patterns)


def _included(config: Path) -> bytes:
    """Return the lines of a configuration that include another one, which need not be there."""
    escaped = re.sub(r'(["\\])', r"\\\1", os.fspath(config))
    return os.fsencode(f'[include]\n\tpath = "{escaped}"\n')


def is_binary(content: bytes) -> bool:
    """Whether git finds no lines in a content."""
    return b"\0" in content[:_LOOKED_AT_BYTES]


def _patterns(repo: Repository) -> Iterator[str]:
    for name in _GOVERNING:
        yield from (name, f"*/{name}")
    for path in configured_paths(repo, _CONFIGURED):
        pattern = re.sub(r"[^\w./-]", "?", path)
        yield from (pattern, f"{pattern}/*")
    yield _HIDDEN_AT_TOP


def _ensure_file(path: Path, content: bytes) -> None:
    """Have a file of this content, also while another process reads it."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)

"""Where trees are compared, and what attributes paths have.

Content alone decides what has lines, and what governs other files comes first. A change may bring attributes,
and an agent may write settings and ``info/attributes`` into the git directory: where trees are compared, none
counts, whether git compares or libgit2.
"""

import contextlib
import fnmatch
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from git_blackbird.git.core.config import configured_paths, read_config
from git_blackbird.git.core.output import Completed, grouped
from git_blackbird.git.core.process import nul_ended
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.index import private_folder, write_entries, writing
from git_blackbird.git.worktree.saved_trees import with_attributes
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

    What the first group of ``order`` matches comes first.
    """

    repo: Repository
    order: re.Pattern[str]

    @property
    def diff_options(self) -> tuple[str, ...]:
        return (*_SHOWING_ALL, f"-O{self.repo.git_dir / _ORDER}")

    def rank(self, path: bytes) -> int:
        """Return the rank of a path; paths of one rank are ordered by name."""
        found = self.order.match(os.fsdecode(path))
        return self.order.groups if found is None else (found.lastindex or 0) - 1


def comparison(repo: Repository) -> Comparison:
    """Return where the trees of a repository are compared, and have its files there. Raises UnusableError."""
    folder = repo.private_dir / "compare"
    patterns: list[str] = [pattern for name in _GOVERNING for pattern in (name, f"*/{name}")]
    for path in configured_paths(repo, _CONFIGURED):
        pattern = re.sub(r"[^\w./-]", "?", path)
        patterns += (pattern, f"{pattern}/*")
    patterns.append(_HIDDEN_AT_TOP)
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
        make_own_folder(repo.private_dir)
        # Joined as texts: pathlib takes longer than the system.
        for place in (f"{folder}", *(f"{folder}/{name}" for name in _FOLDERS)):
            make_own_folder(place)
        for name in _FOREIGN:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")  # noqa: PTH108  # as above
        for place, content in ((f"{folder}/{name}", content) for name, content in contents.items()):
            with contextlib.suppress(OSError), open(place, "rb") as known:  # noqa: PTH123  # as above
                if known.read() == content:
                    continue
            # Another process may read it at this moment.
            with tempfile.NamedTemporaryFile(dir=os.path.dirname(place), delete=False) as file:  # noqa: PTH120  # as above
                file.write(content)
            Path(file.name).replace(place)
    return Comparison(replace(repo, git_dir=folder, config_memo={}), _order(tuple(patterns)))


@lru_cache(maxsize=4)
def _order(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"({fnmatch.translate(pattern)})" for pattern in patterns))


def _included(config: Path) -> bytes:
    """Return the lines of a configuration that include another one, which need not be there."""
    escaped = re.sub(r'(["\\])', r"\\\1", os.fspath(config))
    return os.fsencode(f'[include]\n\tpath = "{escaped}"\n')


def is_binary(content: bytes) -> bool:
    return b"\0" in content[:_LOOKED_AT_BYTES]


UNSPECIFIED = "unspecified"
_AS_TEXT = frozenset({"set", "text"})


def attributes_of(repo: Repository, paths: Collection[bytes], name: str) -> Mapping[bytes, str]:
    if not paths:
        return {}
    return _values(repo.git("check-attr", "-z", "--stdin", name, stdin=nul_ended(paths)))


def generated_paths(repo: Repository, tree: str, paths: Collection[bytes]) -> Mapping[bytes, bool]:
    """Return of each path whether a tree says that it is generated, if it says so. Raises UnusableError."""
    with private_folder(repo, "attributes") as folder:
        index = folder / "index"
        write_entries(index, dict(with_attributes(TreeStore(repo), tree, paths)))
        values = _values(
            comparison(repo).repo.git(
                *("check-attr", "-z", "--cached", "--stdin", "linguist-generated"),
                stdin=nul_ended(paths),
                variables={"GIT_INDEX_FILE": os.fspath(index)},
            )
        )
    said = {"set": True, "true": True, "unset": False, "false": False}
    return {path: said[value] for path, value in values.items() if value in said}


def _values(answer: Completed) -> Mapping[bytes, str]:
    rows = answer.records(lambda records: list(grouped(records, 3)))
    return {path: value.decode(errors="replace") for path, _, value in rows}


def merge_drivers(repo: Repository, paths: Collection[bytes]) -> dict[bytes, str]:
    """Return the driver, or ``unset``, of each path that git does not merge as text. Raises GitError."""
    values, default = attributes_of(repo, paths, "merge"), None
    if UNSPECIFIED in values.values():
        default = read_config(repo).effective.get("merge.default")
    chosen = {path: default or "text" if value == UNSPECIFIED else value for path, value in values.items()}
    return {path: value for path, value in chosen.items() if value not in _AS_TEXT}

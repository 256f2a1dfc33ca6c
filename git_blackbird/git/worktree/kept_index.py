"""Keep the private index of a snapshot for the next one, with the state that shows if it is still valid.

Its folder moves to the process that works on it: no two share it, and one that is killed leaves none. Git
itself notices, by their times, which files changed since. Changes that git would not notice are in the state:
another index of the user, and rules that say how files are converted and which are ignored.
"""

import contextlib
import hashlib
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from git_blackbird.git.core.config import files_of_rules, stable_signature
from git_blackbird.git.core.repository import Repository, signature
from git_blackbird.git.core.trees import parents
from git_blackbird.git.worktree.index import checksum_of, copy_index, identity_of, writing
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.system import make_own_folder

# Files below a directory depend on these in it; a repository in it takes them out of ours.
_RULES = (".gitattributes", ".gitignore", ".git")


class KeptState(Record):
    """What a kept index says, and what it was made from.

    ``tree`` has what of the index may be in a change. ``added`` are files in it that the user's index does
    not have, ``removed`` the reverse. ``rules`` are files, each with its times, size and inode; there are
    none while no file differs from the user's index.
    """

    key: str = ""
    tree: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rules: Mapping[str, tuple[int, ...]] = Field(default_factory=dict)


class KeptIndex:
    """The index in a private folder; ``state`` is None if it does not hold for the settings, or any more."""

    def __init__(self, repo: Repository, folder: Path, settings: str) -> None:
        self.path = folder / "index"
        self._state_path = folder / "state.json"
        self.repo = repo
        self._began = time.time_ns()
        variables = sorted(item for item in repo.git_environ.items() if item[0].startswith(("GIT_", "XDG_")))
        self._made_for = f"{repo.top} {settings} {repo.environ.get('HOME')} {variables}"
        self._users = checksum_of(identity_of(repo.index))
        self.state: KeptState | None = None
        with contextlib.suppress(OSError, ValidationError):
            state = KeptState.from_json(self._state_path.read_bytes())
            is_ours = self._users is not None and state.key == self._key()
            if is_ours and all(known == signature(path) for path, known in state.rules.items()):
                self.state = state

    def _key(self) -> str:
        """Return a digest of what the index was made for, and of what is in it: a crash may have torn it."""
        content = zlib.crc32(self.path.read_bytes())
        return hashlib.sha256(f"{self._users} {content} {self._made_for}".encode()).hexdigest()

    def copy_user_index(self) -> None:
        with writing(self.path):
            self.path.unlink(missing_ok=True)
            self._users = checksum_of(copy_index(self.repo.index, self.path))

    def keep(self, state: KeptState, changed: Iterable[bytes]) -> None:
        """Keep this index for the next snapshot; ``changed`` are the files that this one updated."""
        if self._users is None or not self.path.exists():
            return
        # Without room or a name that JSON can hold, the next snapshot starts anew.
        with contextlib.suppress(OSError, PydanticSerializationError, UnicodeError):
            directories = {above for path in changed for above in (b"", *parents(path))}
            paths = [
                os.path.join(self.repo.top, os.fsdecode(directory), name)  # noqa: PTH118  # many of them
                for directory in directories
                for name in _RULES
                if directory or name != ".git"
            ]
            if paths and not state.rules:
                paths += map(os.fspath, files_of_rules(self.repo))
            new = {path: stable_signature(path, self._began) for path in paths if path not in state.rules}
            rules = {**state.rules, **new}
            kept = state.model_copy(update={"key": self._key(), "rules": rules})
            # Of a file that is emptied first, some file systems wait until the disk has it.
            descriptor = os.open(self._state_path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(kept.model_dump_json().encode())
                file.truncate()
            os.rename(self._state_path.parent, kept_folder(self.repo))  # noqa: PTH104  # as its name in traces


def start_kept_index(repo: Repository, tree: str, settings: str) -> None:
    """Keep a copy of the index of a new worktree, checked out from ``tree``. Raises UnusableError."""
    place = kept_folder(repo)
    with writing(place):
        make_own_folder(repo.private_dir)
        make_own_folder(place)
    index = KeptIndex(repo, place, settings)
    index.copy_user_index()
    index.keep(KeptState(tree=tree), ())


def kept_folder(repo: Repository) -> Path:
    return repo.private_dir / "snapshot"

"""Write objects of private files so that only their owner can read them, until they are committed."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.index import private_folder

_FOR_ITS_OWNER = ("-c", "core.sharedRepository=0600")
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


class _Modes(NamedTuple):
    """The permissions that git sets, as this repository is configured."""

    folder: int
    file: int


def is_owners_alone(status: os.stat_result) -> bool:
    """Whether only the owner of a file can read it."""
    return stat.S_ISREG(status.st_mode) and not status.st_mode & _OTHERS_READ


@contextlib.contextmanager
def writing_privately(repo: Repository) -> Iterator[tuple[str, ...]]:
    """Return the options with which git writes objects that only their owner can read.

    Folders that git creates for them get their usual permissions afterwards, because other objects go there,
    too.
    """
    before = set(_folders(repo))
    try:
        yield _FOR_ITS_OWNER
    finally:
        made = [folder for folder in _folders(repo) if folder not in before]
        if made:
            mode = _usual_modes(repo).folder
            for folder in made:
                folder.chmod(mode)


def publish(repo: Repository, oids: Iterable[str]) -> None:
    """Give these objects git's usual permissions: they become part of a commit."""
    places = (repo.common_dir / "objects" / oid[:2] / oid[2:] for oid in oids)
    kept_back = [place for place in places if _is_kept_back(place)]
    if kept_back:
        mode = _usual_modes(repo).file
        for place in kept_back:
            place.chmod(mode)


def _is_kept_back(place: Path) -> bool:
    try:
        return is_owners_alone(place.lstat())
    except FileNotFoundError:
        return False


def _folders(repo: Repository) -> list[Path]:
    objects = repo.common_dir / "objects"
    return [objects / name for name in os.listdir(objects) if len(name) == 2]


def _usual_modes(repo: Repository) -> _Modes:
    """Let git write an object elsewhere, and return the permissions it sets."""
    with private_folder(repo, "modes") as folder, tempfile.TemporaryDirectory(dir=folder) as objects:
        repo.git("hash-object", "-w", "--stdin", stdin=b"", variables={"GIT_OBJECT_DIRECTORY": objects})
        (file,) = Path(objects).glob("??/*")
        return _Modes(*(stat.S_IMODE(place.stat().st_mode) for place in (file.parent, file)))

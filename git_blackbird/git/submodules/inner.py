"""A repository inside a worktree, read without its configuration: an agent may have written that."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.index import copy_index, private_folder, writing

REMOTES = "refs/remotes/"
_TAGS = b"refs/tags/"
_ID = re.compile(rb"[0-9a-f]{40}")
_LINK = b"gitdir: "
_SYMBOLIC = b"ref: "
_PACKED = re.compile(rb"^([0-9a-f]{40}) (\S+)$", re.MULTILINE)
# What a file system can keep of a file is the same for all that is on it.
_OF_FILE_SYSTEM = ("core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks")


def repository_at(repo: Repository, git_dir: Path, top: Path) -> Repository:
    """Return the repository at these places, with the environment of another."""
    return replace(repo, top=top, git_dir=git_dir, common_dir=git_dir, config_memo={})


@contextlib.contextmanager
def isolated_view(outer: Repository, git_dir: Path, top: Path | None, *others: Path) -> Iterator[Repository]:
    """Yield a repository of our own with the content of another, but no configuration, hooks or rules.

    It has the objects of that one and of ``others``, its HEAD and its index. ``top`` is the folder of its
    files, if any. It is removed after the block. Raises UnusableError.
    """
    with private_folder(outer, "submodule") as folder:
        with writing(folder):
            (folder / "objects" / "info").mkdir(parents=True)
            (folder / "refs").mkdir()
            objects = (bytes(_common(source) / "objects") for source in (git_dir, *others))
            (folder / "objects" / "info" / "alternates").write_bytes(
                b"".join(each + b"\n" for each in objects)
            )
            (folder / "HEAD").write_text(f"{head_of(git_dir) or 'ref: refs/heads/none'}\n")
            for index in (git_dir / "index", *git_dir.glob("sharedindex.*")):
                if index.is_file():
                    copy_index(index, folder / index.name)
            shallow = _common(git_dir) / "shallow"
            if shallow.is_file():
                shutil.copyfile(shallow, folder / "shallow")
            values = sorted(read_config(outer).effective.items())
            settings = (
                f"\t{key.removeprefix('core.')} = {value}\n"
                for key, value in values
                if key in _OF_FILE_SYSTEM
            )
            config = f"[core]\n\trepositoryformatversion = 0\n{''.join(settings)}"
            (folder / "config").write_text(config)
        yield repository_at(outer, folder, top or folder)


def find_git_dir(top: Path) -> Path | None:
    """Return the git directory of a folder that is the top of a worktree; None for any other."""
    place = top / ".git"
    if not place.is_dir():
        text = _read(place)
        if not text.startswith(_LINK):
            return None
        place = top / os.fsdecode(text.removeprefix(_LINK).rstrip(b"\n"))
    place = Path(os.path.realpath(place))
    return place if is_git_dir(place) else None


def is_git_dir(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (_common(folder) / "objects").is_dir()


def _common(git_dir: Path) -> Path:
    return git_dir / os.fsdecode(_read(git_dir / "commondir").rstrip(b"\n"))


def module_dirs(folder: Path) -> list[Path]:
    """List the git directories of submodules, nested ones too, below git's folder for them."""
    heads = folder.rglob("HEAD") if folder.is_dir() else ()
    return sorted(head.parent for head in heads if is_git_dir(head.parent))


def head_of(git_dir: Path) -> str | None:
    """Return the commit that HEAD is at; None before the first one."""
    text = _read(git_dir / "HEAD")
    if text.startswith(_SYMBOLIC):
        return references(git_dir).get(os.fsdecode(text.removeprefix(_SYMBOLIC).strip()))
    return _id_in(text)


def references(git_dir: Path) -> dict[str, str]:
    """Return the objects of all references, HEADs included."""
    common = _common(git_dir)
    packed = _PACKED.findall(_read(common / "packed-refs"))
    found = {os.fsdecode(name): oid.decode() for oid, name in packed}
    loose = (*git_dir.glob("*HEAD"), *common.glob("worktrees/*/HEAD"), *common.glob("refs/**/*"))
    for place in loose:
        oid = _id_in(_read(place))
        if oid is not None and place.name != "FETCH_HEAD":
            found[os.path.relpath(place, common if place.is_relative_to(common) else git_dir)] = oid
    return found


def fetched_ids(git_dir: Path) -> frozenset[str]:
    """Return the objects that references of remotes are at, and tags that came with a clone."""
    # Git packs the references that it clones; a tag that is made here is in a file of its own.
    packed = _PACKED.findall(_read(_common(git_dir) / "packed-refs"))
    tags = (oid.decode() for oid, name in packed if name.startswith(_TAGS))
    remote = (oid for name, oid in references(git_dir).items() if name.startswith(REMOTES))
    return frozenset((*tags, *remote))


def logged_ids(git_dir: Path) -> set[str]:
    """Return the object ids in the logs of references, except those of remotes."""
    common = _common(git_dir)
    logs = (*common.glob("logs/**/*"), *common.glob("worktrees/*/logs/**/*"))
    own = (place for place in logs if not os.path.relpath(place, common / "logs").startswith(REMOTES))
    return {oid.decode() for place in own for oid in _ID.findall(_read(place))}


def _id_in(text: bytes) -> str | None:
    found = _ID.match(text)
    return None if found is None else found[0].decode()


def _read(place: Path) -> bytes:
    """Return the content of a regular file; nothing for anything else, which may never end."""
    return place.read_bytes() if place.is_file() else b""

"""What may be in a hook's place before ours, and all that is to be seen of it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.support import git

LONG_AGO = (1_000_000_000 * 10**9, 1_100_000_000 * 10**9)


def hooks_of(repo: Path) -> Path:
    folder = repo / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    return folder


def script(path: Path) -> None:
    path.write_text('#!/bin/sh\necho "$@" >>seen\n')
    path.chmod(0o755)


def binary(path: Path) -> None:
    path.write_bytes(Path("/bin/true").read_bytes())
    path.chmod(0o755)


def link(path: Path) -> None:
    target = path.parent / "elsewhere.sh"
    target.write_text("#!/bin/sh\n")
    target.chmod(0o755)
    path.symlink_to("elsewhere.sh")


def link_out(path: Path) -> None:
    path.symlink_to("/bin/true")


def dangling_link(path: Path) -> None:
    path.symlink_to("nowhere/at/all")


def not_executable(path: Path) -> None:
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o644)


def read_only(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o555)


def empty(path: Path) -> None:
    path.touch()
    path.chmod(0o755)


def other_manager(path: Path) -> None:
    path.write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    path.chmod(0o777)


def no_shebang(path: Path) -> None:
    path.write_bytes(b"echo plain\r\n\xff\x00\n")
    path.chmod(0o711)


def hard_link(path: Path) -> None:
    shared = path.with_name("shared-by-all-hooks")
    shared.write_text("#!/bin/sh\n")
    shared.chmod(0o755)
    path.hardlink_to(shared)


def unusual_mode(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o6750)


KINDS: dict[str, Callable[[Path], None]] = {
    make.__name__: make
    for make in (
        script,
        binary,
        link,
        link_out,
        dangling_link,
        not_executable,
        read_only,
        empty,
        other_manager,
        no_shebang,
        hard_link,
        unusual_mode,
    )
}


class Fact(NamedTuple):
    """All that is to be seen of one file."""

    kind: int
    mode: int
    modified: int
    links: int
    content: bytes | str


def facts(folder: Path) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for path in sorted(folder.iterdir()):
        status = path.lstat()
        if path.is_dir() and not path.is_symlink():
            continue
        content: bytes | str = str(path.readlink()) if path.is_symlink() else path.read_bytes()
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        found[path.name] = Fact(kind, mode, status.st_mtime_ns, status.st_nlink, content)
    return found


def prepare(folder: Path, kind: str) -> dict[str, Fact]:
    path = folder / "post-commit"
    KINDS[kind](path)
    os.utime(path, ns=LONG_AGO, follow_symlinks=False)
    return facts(folder)


def in_default_folder(repo: Path) -> Path:
    return hooks_of(repo)


def in_relative_folder(repo: Path) -> Path:
    git(repo, "config", "core.hooksPath", "tools/hooks")
    folder = repo / "tools" / "hooks"
    folder.mkdir(parents=True)
    return folder


def in_absolute_folder(repo: Path) -> Path:
    folder = repo.parent / "hooks of the house"
    folder.mkdir()
    git(repo, "config", "core.hooksPath", str(folder))
    return folder


def in_home_folder(repo: Path) -> Path:
    git(repo, "config", "--global", "core.hooksPath", "~/.hooks")
    folder = Path(os.environ["HOME"], ".hooks")
    folder.mkdir()
    return folder


PLACES: dict[str, Callable[[Path], Path]] = {
    place.__name__: place
    for place in (in_default_folder, in_relative_folder, in_absolute_folder, in_home_folder)
}

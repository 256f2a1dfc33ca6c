"""Git's merge driver for the plan: a section of this repository's configuration, and a line of attributes.

The line is in the git directory: nothing that is shared names a program that others may not have.
"""

import os
import shlex
from pathlib import Path

from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.hooks.script import HookCommand
from git_blackbird.model.base.system import PLAN_NAME

_SECTION = "merge.blackbird-plan"
_LINE = f"{PLAN_NAME} merge=blackbird-plan"


def install_driver(repo: Repository, caller: HookCommand) -> None:
    """Have git merge the plan by task and field; without the program, as text. Raises GitError, OSError."""
    for key, value in (("name", "plans of git-blackbird, by task and field"), ("driver", _command(caller))):
        repo.git("config", "--local", "--replace-all", *operands(f"{_SECTION}.{key}", value))
    lines = _lines(repo)
    if _LINE not in lines:
        _write(repo, [*lines, _LINE])


def _command(caller: HookCommand) -> str:
    # Git has meanings of its own for what follows a percent sign.
    python, entry = (shlex.quote(str(path)).replace("%", "%%") for path in (caller.python, caller.entry))
    command = f"if test -x {python} && test -e {entry}; then {python} {entry} %O %A %B; "
    return f"{command}else git merge-file %A %O %B; fi"


def is_driver_installed(repo: Repository) -> bool:
    return _configured(repo) is not None or _LINE in _lines(repo)


def driver_fault(repo: Repository, caller: HookCommand) -> str | None:
    """Return what is wrong with the driver; None if it is as installed, or not there at all."""
    command, has_line = _configured(repo), _LINE in _lines(repo)
    if (command is not None) != has_line:
        return "a part of it is missing"
    if command not in {None, _command(caller)}:
        return "it was changed, or is of another installation of git-blackbird"
    return None


def remove_driver(repo: Repository) -> None:
    """Take the driver away, and leave all else as it is. Raises GitError, OSError."""
    if _configured(repo) is not None:
        repo.git("config", "--local", "--remove-section", *operands(_SECTION))
    if _LINE in (lines := _lines(repo)):
        _write(repo, [line for line in lines if line != _LINE])


def _configured(repo: Repository) -> str | None:
    found = repo.git("config", "--local", "--null", "--get", *operands(f"{_SECTION}.driver"), check=False)
    return os.fsdecode(found.whole(b"\0").removesuffix(b"\0")) if found.code == 0 else None


def _file(repo: Repository) -> Path:
    return repo.common_dir / "info" / "attributes"


def _lines(repo: Repository) -> list[str]:
    try:
        return _file(repo).read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []


def _write(repo: Repository, lines: list[str]) -> None:
    place = _file(repo)
    if lines:
        place.parent.mkdir(exist_ok=True)
        place.write_text("".join(f"{line}\n" for line in lines), errors="surrogateescape")
    else:
        place.unlink()

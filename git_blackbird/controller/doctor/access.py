"""What the user may not read or write, and the command that changes that."""

import os
import pwd
from pathlib import Path

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word


def is_refused(path: Path) -> bool:
    """Whether the user may not read a file or folder that is there, as far as can be seen."""
    return _first_closed(path) is not None


def opening_command(path: Path) -> ShellLine:
    """Return the command that opens to the user what is closed on the way to a path, or its last part."""
    there = next(part for part in (path, *path.parents) if os.path.lexists(part))
    closed = _first_closed(path) or there
    word, user, owner = shell_word(str(closed)), os.geteuid(), closed.lstat().st_uid
    if owner == user:
        return ShellLine(f"chmod u+rwX {word}")
    return ShellLine(f"sudo chown -R {_name(user)} {word}", f"it belongs to {_name(owner)}")


def _first_closed(path: Path) -> Path | None:
    is_closed = os.path.lexists(path) and not os.access(path, os.R_OK)
    folders = (folder for folder in reversed(path.parents) if os.path.lexists(folder))
    return next((each for each in folders if not os.access(each, os.X_OK)), path if is_closed else None)


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)

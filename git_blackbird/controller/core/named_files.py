"""Read the files that a person names on the command line."""

import errno
import re
from collections.abc import Sequence
from pathlib import Path

from git_blackbird.errors import UsageError
from git_blackbird.storage.files import OutsideError, load_named

STDIN = "-"
_NO_FILE = frozenset({errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENOENT})


def load_text(file: str, within: Path | None = None) -> str:
    """Return the text of a file below ``within``, or of standard input for ``-``. Raises UsageError."""
    try:
        text = load_named(None if file == STDIN else file, within).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read as text: {why}") from error
    if not text.strip():
        raise UsageError(f"{'standard input' if file == STDIN else file} is empty")
    return text


def load_all(names: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return names and texts of files, and of the Markdown files of folders, and what is no file, in words.

    A folder may be a clone's: a link that leads out of it is not followed. Raises UsageError.
    """
    texts: list[tuple[str, str]] = []
    unread: list[str] = []
    for name in names:
        folder = Path(name)
        if not folder.is_dir():
            texts.append((name, load_text(name)))
            continue
        for place in sorted(map(str, folder.glob("*.md")), key=_by_number):
            try:
                texts.append((place, load_text(place, folder)))
            except UsageError as error:
                cause = error.__cause__
                if isinstance(cause, OutsideError):
                    unread.append(f"{place}, a link out of the folder, to {cause.where}")
                elif isinstance(cause, OSError) and cause.errno in _NO_FILE:
                    unread.append(f"{place}: {cause.strerror}")
                else:
                    raise
        if not texts:
            raise UsageError(f"{name} has no file NAME.md", hint=tuple(unread))
    return texts, unread


def _by_number(name: str) -> list[str]:
    """Sort task 10 behind task 9."""
    return [part.zfill(10) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

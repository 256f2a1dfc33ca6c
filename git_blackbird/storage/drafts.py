"""Texts that a person is writing: kept in the git directory until they have become what they are for."""

from collections.abc import Iterator
from pathlib import Path

from git_blackbird.model.ids import TaskId
from git_blackbird.storage.atomic import SaveError, replace_durably
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.reading import load_bytes

_ENCODING = ("utf-8", "surrogateescape")


def drafts_of(layout: Layout, task_id: TaskId) -> list[Path]:
    """Name the drafts there are of a task, the first one first."""
    found = []
    for path in _places(layout, task_id):
        if not path.exists():
            break
        found.append(path)
    return found


def _places(layout: Layout, task_id: TaskId) -> Iterator[Path]:
    folder = layout.private / "drafts"
    yield folder / f"{task_id}.md"
    number = 2
    while True:
        yield folder / f"{task_id}.{number}.md"
        number += 1


def create_draft(layout: Layout, task_id: TaskId, text: str) -> Path:
    """Save a new draft beside those that are there; gives its place.

    Raises SaveError.
    """
    for path in _places(layout, task_id):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(text.encode(*_ENCODING))
        except FileExistsError:
            continue
        except OSError as error:
            raise SaveError(path, error) from error
        return path
    raise AssertionError("places never end")


def save_draft(path: Path, text: str) -> None:
    """Save a draft again. Raises SaveError; what was there then stays."""
    try:
        replace_durably(path, text.encode(*_ENCODING))
    except OSError as error:
        raise SaveError(path, error) from error


def load_draft(path: Path) -> str | None:
    """Give a draft as it is; None when it is gone. Bytes that are not UTF-8 are half surrogates.

    Raises OSError when it cannot be read.
    """
    try:
        return load_bytes(path).decode(*_ENCODING)
    except FileNotFoundError:
        return None

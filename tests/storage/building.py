"""A state folder to keep things in, and ways to break files."""

import random
from pathlib import Path
from typing import Any

from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.files import opened_folder
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import RecordOrError, load_record

STAMP = "2026-01-01T00:00:00Z"


def make_layout(folder: Path) -> Paths:
    root = folder / "work"
    root.mkdir()
    return Paths(root, folder / "git-dir" / "blackbird")


def all_files(folder: Path) -> list[str]:
    """Every file, less the rules by which folders of state keep all that is in them out of commits."""
    files = (path for path in folder.rglob("*") if not path.is_dir() and not is_rule(path))
    return sorted(str(path.relative_to(folder)) for path in files)


def is_rule(path: Path) -> bool:
    return path.name == ".gitignore" and path.is_file() and path.read_text() == "*\n"


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys or indices."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        one = pending.pop()
        steps = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found.extend((one, step) for step in steps)
        pending.extend(one[step] for step in steps)
    return found


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, "", "x", "../../x", "a\nb", "\ud800", "\u2028<&>", [], [None], ["x", "x"],
    {}, {"x": None}, {"": {"": []}}, [[[[1]]]],
)  # fmt: skip


def broken(value: Any, seed: int) -> Any:
    """The value with one thing changed, taken away or added at a place of chance (``value`` is spent)."""
    chance = random.Random(seed)
    container, step = chance.choice(places(value))
    odd = chance.choice(ODD)
    match chance.randrange(4):
        case 0:
            del container[step]
        case 1 if isinstance(container, dict):
            container[chance.choice(["", "x", "id", "deps", "title "])] = odd
        case _:
            container[step] = odd
    return value


def read_record(path: Path, task_id: TaskId) -> RecordOrError:
    """Read one record of a task by its path."""
    with opened_folder(str(path.parent)) as folder:
        return load_record(folder, str(path), task_id)

"""The files that a task's text names: a guess at what its change will touch."""

import re
from collections.abc import Iterable

from git_blackbird.model.plan.plan import Task

# With a folder, or at the top of the repository with an extension.
_PATH = re.compile(r"(?<![\w./-])(?:(?:[\w.-]+/)+[\w.-]*\b|(?:[\w.-]+/)+|[\w-][\w.-]*\.[A-Za-z]\w*)(?![\w/])")
_NO_PATHS = frozenset({"e.g", "i.e"})
_LONGEST = 20_000


def named_paths(task: Task) -> frozenset[str]:
    """Return the files and folders that a task's text names as paths."""
    text = "\n".join((task.title, task.description, task.prompt, *task.acceptance_criteria))
    found = (name.removeprefix("./").rstrip("/") for name in _PATH.findall(text[:_LONGEST]))
    return frozenset(found) - _NO_PATHS


def overlaps(paths: Iterable[str], others: frozenset[str]) -> bool:
    """Whether one of these files or folders is one of the others, or in one, or has one in it."""
    return any(
        path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")
        for path in paths
        for other in others
    )

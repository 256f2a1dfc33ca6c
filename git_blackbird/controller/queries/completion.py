"""The tasks and runs that completion offers, read quickly: a person waits for them at each Tab.

Read with the standard library alone, and tolerantly: what is not as it should be is not offered. States are
those that the plan file has, and whether files of runs and feedback are there; no record is opened. Their
copies will do: nothing follows from what is offered. Takes no lock and writes nothing.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from time import gmtime, strftime
from typing import Any, ClassVar, NamedTuple

_PLAN, _RUNS, _FEEDBACK = "blackbird.plan.json", ".blackbird/runs", ".blackbird/parent-review-feedback"
_MOST_BYTES = 64 * 1024 * 1024
_MOST_RUNS = 100
_ENDED_WELL = frozenset({"done", "skipped"})


class TaskGlance(NamedTuple):
    id: str
    title: str
    status: str
    parent: str
    children: tuple[str, ...]
    deps: tuple[str, ...]


class Glance:
    """The plan of the worktree at ``top``, and which files there are of its tasks."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._tasks = _load_tasks(os.path.join(top, _PLAN))

    @cached_property
    def _flagged(self) -> set[str]:
        """The ancestors of leaves with feedback."""
        found: set[str] = set()
        for name in _names_in(os.path.join(self._top, _FEEDBACK)):
            task = self._tasks.get(name.removesuffix(".json"))
            while task is not None and task.parent not in found:
                found.add(task.parent)
                task = self._tasks.get(task.parent)
        return found

    def tasks_for(self, verb: str) -> list[tuple[str, str]]:
        """Return id and title of the tasks that a command takes now; all where state does not matter."""
        accepts = self._accepts.get(verb)
        titles = {
            task.id: f"{task.title} ({task.status})"
            for task in self._tasks.values()
            if accepts is None or accepts(self, task)
        }
        return [
            (task_id, "".join(char if char.isprintable() else " " for char in title))
            for task_id, title in titles.items()
        ]

    def dependencies(self, action: str, task_id: str) -> list[tuple[str, str]]:
        """Return the tasks that ``deps ACTION TASK`` takes: those there are, or those there could be."""
        task_id = self._full_id(task_id)
        task = self._tasks.get(task_id)
        own = () if task is None or action == "set" else task.deps
        return [
            offer
            for offer in self.tasks_for("")
            if offer[0] != task_id and (offer[0] in own) == (action == "remove")
        ]

    def runs(self, task_id: str) -> list[tuple[str, str]]:
        """Return the newest runs of a task, each with its time of start."""
        task_id = self._full_id(task_id)
        if task_id not in self._tasks:
            return []
        folder = os.path.join(self._top, _RUNS, task_id)
        names = [*_names_in(folder), *_names_in(os.path.join(folder, "reviews"))]
        ids = sorted((name.removesuffix(".json") for name in names if name.endswith(".json")), reverse=True)
        return [(run_id, _started_at(run_id)) for run_id in ids[:_MOST_RUNS]]

    def _full_id(self, name: str) -> str:
        if name in self._tasks:
            return name
        found = [task_id for task_id in self._tasks if task_id.startswith(name)]
        return found[0] if len(found) == 1 else name

    def _is_ready(self, task: TaskGlance) -> bool:
        return task.status == "todo" and not task.children and self._has_its_deps(task)

    def _is_startable(self, task: TaskGlance) -> bool:
        return self._is_ready(task) or (self._is_resettable(task) and self._has_its_deps(task))

    def _is_resettable(self, task: TaskGlance) -> bool:
        return not task.children and self._may_be(task, {"failed", "waiting_user", "blocked"})

    def _is_undecided(self, task: TaskGlance) -> bool:
        return not task.children and self._may_be(task, {"waiting_user"})

    def _may_be(self, task: TaskGlance, statuses: Collection[str]) -> bool:
        """Whether a task has one of these statuses, or may have it without the plan saying so."""
        return task.status in statuses or (task.status == "todo" and self._has_run(task))

    def _is_resumable(self, task: TaskGlance) -> bool:
        feedback = os.path.join(self._top, _FEEDBACK, f"{task.id}.json")
        return self._is_undecided(task) or os.path.exists(feedback)

    def _has_run(self, task: TaskGlance) -> bool:
        return not task.children and bool(_names_in(os.path.join(self._top, _RUNS, task.id)))

    def _is_at_work(self, task: TaskGlance) -> bool:
        return not task.children and self._may_be(task, {"in_progress"})

    def _has_flagged_leaves(self, task: TaskGlance) -> bool:
        return task.id in self._flagged

    def _is_reviewable(self, task: TaskGlance) -> bool:
        if task.children:
            return all(self._status(name) in _ENDED_WELL for name in task.children)
        return task.status in {"done", "waiting_user"} and self._has_run(task)

    def _is_reviewed(self, task: TaskGlance) -> bool:
        return bool(task.children) or self._has_run(task)

    def _is_dismissable(self, task: TaskGlance) -> bool:
        is_held = task.status in {"waiting_user", "todo"} and self._is_reviewable(task)
        return bool(task.children) and (is_held or self._has_flagged_leaves(task))

    def _has_its_deps(self, task: TaskGlance) -> bool:
        return all(self._status(name) == "done" for name in task.deps)

    def _status(self, task_id: str) -> str:
        return self._tasks[task_id].status if task_id in self._tasks else ""

    _accepts: ClassVar[Mapping[str, Callable[["Glance", TaskGlance], bool]]] = {
        "execute": _is_ready,
        "decide": _is_undecided,
        "resume": _is_resumable,
        "resume -m": _has_run,
        "resume --all": _has_flagged_leaves,
        "tell": _is_at_work,
        "review show": _is_reviewed,
        "review run": _is_reviewable,
        "review dismiss": _is_dismissable,
        "restart": _is_startable,
        "restart -m": _is_startable,
        "retry": _is_resettable,
    }


def glance(environ: Mapping[str, str], cwd: str) -> Glance:
    """Look at the plan of the worktree around ``cwd``; it has no tasks where there is none."""
    return Glance(_find_top(environ, cwd))


def list_refs(environ: Mapping[str, str], cwd: str) -> list[str]:
    from pathlib import Path  # this and the next are slow to load

    from git_blackbird.git.core.process import run_git

    words = ("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags")
    done = run_git(words, cwd=Path(cwd), environ=environ, check=False)
    return [name.decode(errors="replace") for name in done.lines(list)]


def _find_top(environ: Mapping[str, str], cwd: str) -> str:
    """Return the top of the worktree without starting git; ``core.worktree`` is not looked at."""
    named = environ.get("GIT_WORK_TREE")
    if named:
        return os.path.join(cwd, named)
    folder = cwd
    while "GIT_DIR" not in environ and not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return cwd
        folder = above
    return folder


def _load_tasks(path: str) -> dict[str, TaskGlance]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            items = json.loads(file.read(_MOST_BYTES))["items"]
        return {task.id: task for task in map(_task_of, sorted(items.items())) if task is not None}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _task_of(item: tuple[str, Any]) -> TaskGlance | None:
    task_id, fields = item
    if (
        not isinstance(fields, dict)
        or task_id.startswith(".")
        or os.sep in task_id
        or not task_id.isprintable()
    ):
        return None
    return TaskGlance(
        task_id,
        str(fields.get("title", "")),
        str(fields.get("status")),
        str(fields.get("parentId")),
        _texts(fields.get("childIds")),
        _texts(fields.get("deps")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _names_in(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _started_at(run_id: str) -> str:
    try:
        return strftime("%Y-%m-%d %H:%M UTC", gmtime(int(run_id[:12], 16) / 1000))
    except (ValueError, OverflowError, OSError):
        return ""

"""Bring tasks of other programs into the plan, and again over an earlier import of them.

What was imported last is the base of a merge: what changed in the source is taken, what changed here is kept.
"""

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.page import PageResult, add_page, change_plan, edit_page, preview_page
from git_blackbird.controller.plan.page_reading import page_of, parents_in
from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.imports.common import Source
from git_blackbird.messages.forms.page import PageError, PageTask, given_fields, parse_page, render_page
from git_blackbird.model.base.ids import IdIndex, TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.plan import Plan
from git_blackbird.storage.notes import load_imports, save_import

_LINE_FIELDS = ("description", "notes", "agent", "model")


@dataclass(frozen=True)
class ImportRequest:
    """How to import: the name under which it is remembered, what ids begin with, who is right in conflicts.

    ``prefer`` is ``plan`` or ``source``. ``is_page``: its ids are those of this plan, wherever they are from.
    """

    name: str
    prefix: str = ""
    prefer: str | None = None
    is_page: bool = False
    is_dry_run: bool = False


class ImportResult(NamedTuple):
    page: PageResult
    left_out: tuple[str, ...]


def import_tasks(workspace: Workspace, source: Source, request: ImportRequest) -> ImportResult:
    """Import the tasks of a source. Raises PageError, RequestError; nothing is changed then."""
    plan = workspace.store.plan()
    known: dict[str, tuple[PageTask, ...]] = {}
    for name, text in load_imports(workspace.paths).items():
        # What was changed by hand may be no page of ours.
        with contextlib.suppress(PageError):
            known[name] = tuple(task for task in parse_page(text) if "id" in task.fields)
    tasks, dangling = _without_dangling(_prefixed(source.tasks, request), plan, known, request)
    merge = _Merge(plan, tasks, known, request)
    base, page = merge.pages()
    remarks = (*source.left_out, *dangling, *merge.remarks())
    if not base:
        result = (preview_page if request.is_dry_run else add_page)(workspace, page)
    elif request.is_dry_run:
        result = change_plan(workspace, base, page, is_kept=False).result
    else:
        result = edit_page(workspace, base, page)
    if not request.is_dry_run:
        save_import(workspace.paths, request.name, render_page(merge.all_known()))
    return ImportResult(result, remarks)


def _prefixed(tasks: Sequence[PageTask], request: ImportRequest) -> tuple[PageTask, ...]:
    ids = {task.fields["id"] for task in tasks}

    def full(name: str) -> str:
        return name if request.is_page and name not in ids else request.prefix + name

    return tuple(
        replace(
            task,
            fields={**task.fields, "id": full(task.fields["id"])},
            after=None if task.after is None else tuple(map(full, task.after)),
            because={full(name): why for name, why in task.because.items()},
        )
        for task in tasks
    )


def _without_dangling(
    tasks: Sequence[PageTask],
    plan: Plan,
    known: Mapping[str, Sequence[PageTask]],
    request: ImportRequest,
) -> tuple[tuple[PageTask, ...], list[str]]:
    """Return the tasks without what they depend on and nobody has, and that in words.

    Beside the tasks of the source there are those that came from it earlier. A page names tasks of the plan.
    """
    earlier = plan.tasks if request.is_page else _by_id(known.get(request.name, ()))
    there = {*_by_id(tasks), *(one for one in earlier if one in plan.tasks)}
    begun = IdIndex(plan.tasks if request.is_page else ())
    lost: dict[str, list[str]] = {}
    for task in tasks:
        for name in task.after or ():
            if name not in there and len(begun.find(name)) != 1:
                lost.setdefault(name, []).append(task.fields["id"])
    words = [
        f"dependency on {name}, which is not in the source, of {', '.join(those)}"
        for name, those in lost.items()
    ]
    return tuple(_without(task, lost) for task in tasks), words


def _without(task: PageTask, names: Container[str]) -> PageTask:
    after = tuple(name for name in task.after or () if name not in names)
    because = {name: why for name, why in task.because.items() if name not in names}
    return replace(task, after=after or None, because=because)


class _Merge:
    """The source against its previous import, and against the plan as it is."""

    def __init__(
        self,
        plan: Plan,
        tasks: Sequence[PageTask],
        known: Mapping[str, Sequence[PageTask]],
        request: ImportRequest,
    ) -> None:
        self._plan, self._request = plan, request
        self._source, self._before = _by_id(tasks), _by_id(known.get(request.name, ()))
        self._parents = _parents_of(self._before) | _parents_of(self._source)
        self._parents_before = self._parents | _parents_of(self._before)
        self._from = {one: name for name, page in known.items() for one in _by_id(page)}
        self._now = _by_id(page_of(plan))
        is_lost = request.prefer != "source"
        self._deleted = dict.fromkeys(
            one for one in self._source if is_lost and one in self._before and one not in plan.tasks
        )

    def pages(self) -> tuple[tuple[PageTask, ...], tuple[PageTask, ...]]:
        """Return a page of what is in the plan, and what an editor would have made of it."""
        base: dict[TaskId, PageTask] = {}
        page: dict[TaskId, PageTask] = {}
        faults: list[str] = []
        for task_id, task in self._source.items():
            if task_id in self._deleted:
                continue
            page[task_id] = _without(task, self._deleted)
            if task_id in self._now:
                base[task_id], page[task_id], names = self._merged(task_id, page[task_id])
                faults += [self._fault(task_id, names)] if names else []
        if faults:
            ways = ["nothing was changed; --prefer source or --prefer plan says which counts"]
            if others := {self._from[one] for one in self._source if self._is_others(one)}:
                from_there = f"--as {min(others)} updates what came from there"
                ways.append(f"--prefix gives new ids to its tasks; {from_there}")
            raise RequestError(tuple(faults), hint=tuple(ways))
        known = dict.fromkeys((*(one for one in self._before if one in base), *base))
        ordered = {one: base[one] for one in known}
        # New tasks at the top come last, wherever they are in the source: it would move all others.
        order = sorted(page, key=lambda one: one not in base and self._parents[one] is None)
        wanted = {one: page[one] for one in order}
        return _paged(ordered, self._parents_before), _paged(wanted, self._parents)

    def all_known(self) -> tuple[PageTask, ...]:
        """Return what is to be compared with next: the source, and tasks that it had before."""
        lost = {one: task for one, task in self._before.items() if one not in self._source}
        return _paged(self._source | lost, self._parents)

    def _merged(self, task_id: TaskId, task: PageTask) -> tuple[PageTask, PageTask, list[str]]:
        """Return the base and the wanted task, and the names of fields in conflict."""
        was = self._before.get(task_id)
        mine, now = _values(task), _values(self._now[task_id])
        before = now if was is None else _values(_without(was, self._deleted))
        undecided = []
        for name, value in mine.items():
            if was is None and not value:
                # What a source does not speak of is ours.
                mine[name] = now[name]
            elif value != now[name] and (was is None or (value != before[name] != now[name])):
                if self._request.prefer is None or self._is_others(task_id):
                    undecided.append(name)
                elif self._request.prefer == "plan":
                    mine[name] = now[name]
                before[name] = now[name]
        return _with_values(task, before), _with_values(task, mine), undecided

    def _is_others(self, task_id: TaskId) -> bool:
        return not self._request.is_page and task_id in self._from and task_id not in self._before

    def _fault(self, task_id: TaskId, names: Sequence[str]) -> str:
        if self._is_others(task_id):
            return f"{task_id} is the id of a task that was imported from {self._from[task_id]}"
        what = "changed here and in the source" if task_id in self._before else "differs from the plan"
        return f"{task_id}: {what}: {', '.join(names)}"

    def remarks(self) -> Iterator[str]:
        """Say what was kept as it is here, and how to follow the source."""
        yield from (f"{one} was deleted here (--prefer source brings it back)" for one in self._deleted)
        for task_id in self._before:
            if task_id in self._now and task_id not in self._source:
                yield Sentence(f"{task_id} is no longer in the source: ", TaskCommand("delete", task_id))
        for task_id, task in self._source.items():
            status = task.fields.get("status")
            if (
                status in {"done", "skipped"}
                and task_id in self._now
                and self._plan.tasks[task_id].is_leaf
                and not self._plan.tasks[task_id].is_over
            ):
                command = TaskCommand("set-status", task_id, f" {status}")
                yield Sentence(f"{task_id} is {status} in the source: ", command)


def _by_id(tasks: Sequence[PageTask]) -> dict[TaskId, PageTask]:
    return {TaskId(task.fields["id"]): task for task in tasks}


def _parents_of(tasks: Mapping[TaskId, PageTask]) -> dict[TaskId, TaskId | None]:
    ids = tuple(tasks)
    return dict(zip(ids, parents_in(tuple(tasks.values()), ids, None), strict=True))


def _values(task: PageTask) -> dict[str, Any]:
    fields = {name: task.fields.get(name) for name in _LINE_FIELDS}
    prompt = task.prompt.strip("\n") if task.prompt.strip() else task.prompt
    return {
        "title": task.title,
        **fields,
        "prompt": prompt,
        "criteria": task.criteria,
        "after": task.after or (),
        "because": dict(task.because),
    }


def _with_values(task: PageTask, values: Mapping[str, Any]) -> PageTask:
    fields = given_fields(
        id=task.fields["id"],
        status=task.fields.get("status"),
        **{name: values[name] for name in _LINE_FIELDS},
    )
    others = {name: values[name] for name in ("title", "prompt", "criteria", "because")}
    return replace(task, fields=fields, after=values["after"] or None, **others)


def _paged(tasks: Mapping[TaskId, PageTask], parents: Mapping[TaskId, TaskId | None]) -> tuple[PageTask, ...]:
    """Return the tasks as a page, each below the nearest of those above it that are there."""
    below: dict[TaskId | None, list[TaskId]] = {}
    for task_id in tasks:
        parent, seen = parents[task_id], {task_id}
        while parent is not None and parent not in tasks and parent not in seen:
            seen.add(parent)
            parent = parents.get(parent)
        below.setdefault(parent if parent in tasks else None, []).append(task_id)
    pending = [(0, task_id) for task_id in reversed(below.get(None, []))]
    page = []
    while pending:
        depth, task_id = pending.pop()
        page.append(replace(tasks[task_id], depth=depth))
        pending += [(depth + 1, child) for child in reversed(below.get(task_id, []))]
    return tuple(page)

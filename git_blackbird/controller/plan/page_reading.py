"""Read a page against the plan: which task is which, and what each is to be."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.page import (
    PageError,
    PageFault,
    PageTask,
    as_literal,
    given_fields,
    ids_by_title,
)
from git_blackbird.model.base.ids import (
    IdIndex,
    TaskId,
    fold_task_id,
    task_id_fault,
    task_id_from,
)
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.plan_edits import WantedTask
from git_blackbird.model.rules.task_fields import (
    FIELD_NAMES,
    FieldConflictError,
    TaskFields,
    agent_fault,
    fields_of,
    merge_fields,
    model_fault,
    title_fault,
)

_OVER = {status.value: status for status in (Status.DONE, Status.SKIPPED)}
_MAX_NAMED = 5


class AddedTask(NamedTuple):
    """A new task, and how far below the top of the page it is."""

    id: TaskId
    title: str
    depth: int


class PageConflictError(RequestError):
    """A page changes what others changed meanwhile; ``merged`` is the page with all that can be merged."""

    def __init__(self, merged: tuple[PageTask, ...], conflicts: Mapping[TaskId, FieldConflictError]) -> None:
        super().__init__(
            tuple(f"{task_id}: {error.message}" for task_id, error in conflicts.items()),
            hint="nothing was changed",
        )
        self.merged = merged
        self.conflicts = conflicts

    def theirs(self) -> Iterator[str]:
        for task_id, error in self.conflicts.items():
            yield f"{task_id}: {error.message}. Below is your text; save it to keep it. Theirs:"
            for name in error.names:
                yield f"{FIELD_NAMES[name]}: {getattr(error.theirs, name)}"

    def base(self, before: Sequence[PageTask]) -> tuple[PageTask, ...]:
        """Return the page to compare with next: of tasks in conflict, as others have them."""
        tasks = ((TaskId(task.fields["id"]), task) for task in before)
        return tuple(
            page_task(self.conflicts[task_id].theirs, task_id, task.depth)
            if task_id in self.conflicts
            else task
            for task_id, task in tasks
        )


def page_of(plan: Plan, task_ids: Collection[TaskId] | None = None) -> tuple[PageTask, ...]:
    """Return the page of these tasks, or of all. A single one stands at the top of its page."""
    shown = [(depth, task) for depth, task in plan.walk() if task_ids is None or task.id in task_ids]
    least = min((depth for depth, _ in shown), default=0)
    return tuple(page_task(fields_of(task), task.id, depth - least) for depth, task in shown)


def page_task(fields: TaskFields, task_id: TaskId, depth: int) -> PageTask:
    return PageTask(
        fields.title,
        depth,
        given_fields(
            id=task_id,
            agent=fields.agent,
            model=fields.model,
            description=fields.description or None,
            notes=fields.notes,
        ),
        fields.deps or None,
        {str(dep): why for dep, why in fields.dep_rationale.items()},
        _as_shown(fields.prompt),
        fields.acceptance_criteria,
    )


def _as_shown(prompt: str) -> str:
    """Return a prompt without empty lines around it, which a page cannot show."""
    return prompt.strip("\n") if prompt.strip() else prompt


class PageReading:
    """A page against the plan as it is: which task is which, and what each is to be."""

    def __init__(
        self, plan: Plan, base: Sequence[PageTask], page: Sequence[PageTask], above: TaskId | None
    ) -> None:
        self._plan = plan
        self._page = page
        # Each once, in order.
        self._faults: dict[PageFault, None] = {}
        base_ids = [TaskId(task.fields["id"]) for task in base]
        self._base = dict(zip(base_ids, base, strict=True))
        self._base_parents = dict(zip(base_ids, parents_in(base, base_ids, None), strict=True))
        self.ids = tuple(self._read_ids())
        left = plan.tasks.keys() - set(self.ids)
        self.removed = tuple(one for one in base_ids if one in left)
        self._parents = dict(zip(self.ids, parents_in(page, self.ids, above), strict=True))

    def _read_ids(self) -> Iterator[TaskId]:
        taken = {fold_task_id(task_id) for task_id in self._plan.tasks}
        lines: dict[str, int] = {}
        for task in self._page:
            name = task.fields.get("id")
            if name is None:
                continue
            folded = fold_task_id(name)
            if (fault := task_id_fault(name)) is not None:
                self._fault(task, f"the id {name!a} {fault}", "id")
            elif folded in lines:
                text = "line {0} and line {1} have one id," if task.line else "two tasks have the id"
                both = lines[folded], task.lines.get("id", 0)
                self._faults[PageFault(f'{text} "{as_literal(name)}"', both)] = None
            elif TaskId(name) not in self._base and folded in taken:
                self._fault(task, f'a task "{name}" exists already (ids are compared without case)', "id")
            lines[folded] = task.lines.get("id", 0)
        taken |= lines.keys()
        # A new task with the title of another is most likely there twice.
        first: dict[str, PageTask] = {}
        for task in self._page:
            twin = first.setdefault(task.title, task)
            if twin is not task and "id" not in task.fields and "id" not in twin.fields:
                self._fault(task, f"another task is called {task.title}; give one of them an `id:`")
            task_id = TaskId(task.fields.get("id") or task_id_from(task.title, taken))
            taken.add(fold_task_id(task_id))
            yield task_id

    def _fault(self, task: PageTask, text: str, field: str = "") -> None:
        # What was read of JSON has no lines.
        where = "" if task.line else f"{task.fields.get('id', task.title)}: "
        lines = (task.lines.get(field, task.line),) if task.line else ()
        self._faults[PageFault.of(where + text, *lines)] = None

    def wanted(self) -> list[WantedTask]:
        """Return what the tasks of the page are to be. Raises PageError, PageConflictError."""
        wanted: list[WantedTask] = []
        conflicts: dict[TaskId, FieldConflictError] = {}
        merged = list(self._page)
        for number, (task, task_id) in enumerate(zip(self._page, self.ids, strict=True)):
            try:
                wanted += self._wanted(task, task_id)
            except FieldConflictError as error:
                conflicts[task_id] = error
                merged[number] = page_task(error.merged, task_id, task.depth)
        for task_id in self.removed:
            now, was = fields_of(self._plan.tasks[task_id]), self._base[task_id]
            if page_task(now, task_id, was.depth) != was:
                text = f"{task_id} was changed by someone else meanwhile: it is not deleted"
                self._faults[PageFault.of(text)] = None
        if self._faults:
            raise PageError(tuple(self._faults))
        if conflicts:
            raise PageConflictError(tuple(merged), conflicts)
        return wanted

    def _wanted(self, task: PageTask, task_id: TaskId) -> Iterator[WantedTask]:
        mine, base, now = self._fields(task), self._base.get(task_id), self._plan.tasks.get(task_id)
        parent = self._parents[task_id]
        if base is None:
            yield WantedTask(task_id, mine, parent, self._status(task))
        elif now is not None:
            deps = tuple(map(TaskId, base.after or ()))
            reasons = {TaskId(name): why for name, why in base.because.items()}
            was = _fields_of(base, deps, reasons)
            if _as_shown(now.prompt) == was.prompt:
                mine = replace(mine, prompt=now.prompt) if mine.prompt == was.prompt else mine
                was = replace(was, prompt=now.prompt)
            fields = merge_fields(was, mine, fields_of(now))
            is_moved = parent != self._base_parents[task_id]
            yield WantedTask(task_id, fields, parent if is_moved else now.parent)
        elif task != base:
            self._fault(task, f"{task_id} was deleted meanwhile")

    def _fields(self, task: PageTask) -> TaskFields:
        deps = tuple(self._find(task, name, "after") for name in task.after or ())
        reasons = {self._find(task, name, f"because {name}"): why for name, why in task.because.items()}
        fields = _fields_of(task, deps, reasons)
        base = self._base.get(TaskId(task.fields.get("id", "")))
        if (base is None or base.title != task.title) and (fault := title_fault(task.title)) is not None:
            self._fault(task, fault)
        empty = next((number for number, one in enumerate(task.criteria, 1) if not one.strip()), None)
        if empty is not None and (base is None or base.criteria != task.criteria):
            self._fault(task, "a criterion is empty", f"criterion {empty}")
        if (fault := agent_fault(fields.agent)) is not None:
            self._fault(task, f"agent: {fault}", "agent")
        if (fault := model_fault(fields.model)) is not None:
            self._fault(task, f"model: {fault}", "model")
        if strangers := reasons.keys() - set(deps):
            self._fault(task, f"a reason for {', '.join(sorted(strangers))}, which is not in `after:`")
        return fields

    def _status(self, task: PageTask) -> Status | None:
        """Return the status of a new task: only work that is over is taken from a page."""
        name = task.fields.get("status", Status.TODO.value)
        if name not in set(Status):
            self._fault(task, f"status: {name!a} is none", "status")
        return _OVER.get(name)

    @cached_property
    def _names(self) -> Collection[TaskId]:
        left = self._plan.tasks.keys() - set(self.removed)
        return dict.fromkeys((*self.ids, *(one for one in self._plan.tasks if one in left))).keys()

    @cached_property
    def _index(self) -> IdIndex:
        return IdIndex(self._names)

    @cached_property
    def _titled(self) -> Mapping[str, Sequence[TaskId]]:
        return ids_by_title(self.ids, self._page)

    def _find(self, task: PageTask, name: str, where: str) -> TaskId:
        """Return the task of a name: an id, a title of the page, or a unique beginning of an id."""
        ids = self._names
        if TaskId(name) in ids:
            return TaskId(name)
        if TaskId(name) in self.removed:
            self._fault(task, f"{name!a} is no longer on the page", where)
            return TaskId(name)
        titled = self._titled.get(name, ())
        found = titled or self._index.find(name)
        if len(found) == 1:
            return TaskId(found[0])
        if found:
            what = "is the title of several tasks" if titled else "begins several ids"
            self._fault(task, f"{name!a} {what}: {', '.join(found[:_MAX_NAMED])}", where)
        else:
            # It is looked for among all, which takes long: not for each of many.
            others = [*ids, *self._titled] if len(self._faults) < _MAX_NAMED else ()
            close = get_close_matches(name, others, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            self._fault(task, f"{name!a} is no task of the page or the plan{meant}", where)
        return TaskId(name)

    def tasks(self) -> Iterator[AddedTask]:
        for task, task_id in zip(self._page, self.ids, strict=True):
            yield AddedTask(task_id, task.title, task.depth)

    def orders(self) -> dict[TaskId | None, tuple[TaskId, ...]]:
        mine, base = _below(self._parents), _below(self._base_parents)
        orders = {}
        for parent, children in mine.items():
            left = set(children)
            before = [task_id for task_id in base.get(parent, ()) if task_id in left]
            # What moves to the top would stand where its time of creation puts it.
            moves_up = parent is None and any(one in self._base for one in children[len(before) :])
            if list(children[: len(before)]) != before or moves_up:
                orders[parent] = children
        return orders

    def located(self, error: RequestError) -> PageError:
        """Return an error of the whole plan with the lines of the tasks that it names."""
        words = set(re.split(r"[\s,;:\"]+", error.message))
        named = zip(self._page, self.ids, strict=True)
        lines = [task.line for task, task_id in named if task_id in words and task.line]
        return PageError([PageFault.of(error.message, *lines)])


def parents_in(
    page: Sequence[PageTask], ids: Sequence[TaskId], above: TaskId | None
) -> Iterator[TaskId | None]:
    """Yield the parent of each task of a page, which is ``above`` for those at its top."""
    path: list[TaskId] = []
    for task, task_id in zip(page, ids, strict=True):
        del path[task.depth :]
        yield path[-1] if path else above
        path.append(task_id)


def _below(parents: Mapping[TaskId, TaskId | None]) -> dict[TaskId | None, tuple[TaskId, ...]]:
    found: dict[TaskId | None, list[TaskId]] = {}
    for task_id, parent in parents.items():
        found.setdefault(parent, []).append(task_id)
    return {parent: tuple(children) for parent, children in found.items()}


def _fields_of(task: PageTask, deps: tuple[TaskId, ...], reasons: Mapping[TaskId, str]) -> TaskFields:
    return TaskFields(
        task.title,
        task.fields.get("description", ""),
        task.prompt,
        task.criteria,
        task.fields.get("notes"),
        deps,
        reasons,
        task.fields.get("agent"),
        task.fields.get("model"),
    )

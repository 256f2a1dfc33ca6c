"""The plan as a page of tasks: make tasks of a page, and change the plan to what an edited page says."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from git_blackbird.controller.core.guards import require_not_busy, require_not_busy_task, require_whole
from git_blackbird.controller.core.status_sync import save_plan
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.edit import EditResult, named_parent, require_no_runs
from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, as_literal, given_fields
from git_blackbird.model.base.ids import (
    TaskId,
    fold_task_id,
    full_ids,
    task_id_fault,
    task_id_from,
)
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.change.next_steps import decide_run_command
from git_blackbird.model.plan.graph import find_new_deadlock
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.plan_edits import (
    FIELD_NAMES,
    FieldConflictError,
    TaskFields,
    WantedTask,
    agent_fault,
    changed_fields,
    fields_of,
    merge_fields,
    model_fault,
    rewritten,
    title_fault,
)
from git_blackbird.model.rules.status import derive
from git_blackbird.storage.store import Transaction

_OVER = {status.value: status for status in (Status.DONE, Status.SKIPPED)}
_MAX_NAMED = 5


class AddedTask(NamedTuple):
    """A new task, and how far below the top of the page it is."""

    id: TaskId
    title: str
    depth: int


@dataclass(frozen=True)
class PageResult:
    """What a page made of the plan.

    ``edited`` has the names of the fields that changed, as TaskFields does. ``is_reordered``: tasks below a
    parent, or at the top, are in another order. ``deadlock`` names tasks that wait for one another for ever.
    """

    added: tuple[AddedTask, ...] = ()
    edited: Mapping[TaskId, tuple[str, ...]] = field(default_factory=dict)
    moved: tuple[TaskId, ...] = ()
    deleted: tuple[TaskId, ...] = ()
    is_reordered: bool = False
    deadlock: tuple[TaskId, ...] | None = None

    @classmethod
    def of_added(cls, task: Task) -> "PageResult":
        """Return that one task was added."""
        return cls(added=(AddedTask(task.id, task.title, 0),))

    @classmethod
    def of_edited(cls, edit: EditResult) -> "PageResult":
        """Return that one task was edited."""
        return cls(edited={edit.task_id: edit.fields} if edit.fields else {}, deadlock=edit.deadlock)

    @property
    def is_changed(self) -> bool:
        """Whether the plan is another one."""
        return bool(self.added or self.edited or self.moved or self.deleted or self.is_reordered)


@dataclass(frozen=True)
class PageChange:
    """What a page makes of the plan, and the plan before and after."""

    result: PageResult
    before: Plan
    after: Plan


Judge = Callable[[PageChange], None]
"""Refuse a change before anything is saved: raise RequestError."""


class RemovedError(RequestError):
    """A page that has no longer all tasks that it began with; ``task_ids`` are to be deleted with it."""

    def __init__(self, task_ids: tuple[TaskId, ...]) -> None:
        names = ", ".join(task_ids)
        deletes, renames = (task_command(name, task_ids[0]) for name in ("delete", "rename"))
        super().__init__(
            f"the page has no longer: {names}",
            hint=f"nothing was changed; `{deletes}` deletes a task, `{renames} NEW` gives it another id",
        )
        self.task_ids = task_ids


class PageConflictError(RequestError):
    """A page changes what others changed meanwhile; ``merged`` is the page with all that can be merged."""

    def __init__(self, merged: tuple[PageTask, ...], conflicts: Mapping[TaskId, FieldConflictError]) -> None:
        super().__init__(
            "\n".join(f"{task_id}: {error.message}" for task_id, error in conflicts.items()),
            hint="nothing was changed",
        )
        self.merged = merged
        self.conflicts = conflicts

    def theirs(self) -> Iterator[str]:
        """Yield lines that say what others wrote."""
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
    """Return a task as a page has it."""
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
    """Return a prompt without empty lines around it: on a page they would be seen as what they are not."""
    return prompt.strip("\n") if prompt.strip() else prompt


def add_page(workspace: Workspace, page: Sequence[PageTask], parent: str | None = None) -> PageResult:
    """Add the tasks of a page to the plan, below ``parent``. Raises PageError, RequestError."""
    return _add(workspace, page, parent, is_kept=True)


def preview_page(workspace: Workspace, page: Sequence[PageTask], parent: str | None = None) -> PageResult:
    """Return what ``add_page`` would do, and save nothing. Raises as that does."""
    return _add(workspace, page, parent, is_kept=False)


def _add(workspace: Workspace, page: Sequence[PageTask], parent: str | None, *, is_kept: bool) -> PageResult:
    with workspace.transaction() as transaction:
        plan = transaction.state().plan
        above = None if parent is None else named_parent(plan, parent)
        return _apply(workspace, transaction, _Reading(plan, (), page, above), is_kept=is_kept).result


def edit_page(
    workspace: Workspace,
    base: Sequence[PageTask],
    page: Sequence[PageTask],
    above: TaskId | None = None,
    agreed: Collection[TaskId] = (),
) -> PageResult:
    """Change the plan as a page was changed that began as ``base``; what others changed meanwhile is kept.

    New tasks at its top go below ``above``. Tasks that it has no longer are deleted if that was ``agreed``.
    Raises PageError, RemovedError, PageConflictError, RequestError.
    """
    workspace.environment.forbid_agents("edit tasks")
    with workspace.transaction() as transaction:
        reading = _Reading(transaction.state().plan, base, page, above)
        if set(reading.removed) - set(agreed):
            raise RemovedError(reading.removed)
        return _apply(workspace, transaction, reading, is_kept=True).result


def change_plan(
    workspace: Workspace, base: Sequence[PageTask], page: Sequence[PageTask], judge: Judge, *, is_kept: bool
) -> PageChange:
    """Change the plan as ``edit_page`` does, if ``judge`` does not refuse, or only return the change.

    Tasks that the page has no longer are deleted. Raises as that does, and what ``judge`` does.
    """
    with workspace.transaction() as transaction:
        reading = _Reading(transaction.state().plan, base, page, None)
        return _apply(workspace, transaction, reading, judge, is_kept=is_kept)


def preview_edit(workspace: Workspace, base: Sequence[PageTask], page: Sequence[PageTask]) -> PageResult:
    """Return what ``edit_page`` would do, and save nothing. Raises as that does."""
    with workspace.transaction() as transaction:
        reading = _Reading(transaction.state().plan, base, page, None)
        return _apply(workspace, transaction, reading, is_kept=False).result


def _apply(
    workspace: Workspace,
    transaction: Transaction,
    reading: "_Reading",
    judge: Judge = lambda _: None,
    *,
    is_kept: bool,
) -> PageChange:
    state = transaction.state()
    plan, moment = state.plan, workspace.transition(state.histories)
    wanted = reading.wanted()
    try:
        after = rewritten(plan, wanted, reading.orders(), reading.removed, moment)
    except RequestError as error:
        raise reading.located(error) from error
    after = derive(after, state.histories, moment.gate)
    _require_free(workspace, plan, after)
    change = PageChange(_result(plan, after, reading), plan, after)
    judge(change)
    if is_kept and after != plan:
        save_plan(transaction, state, after)
        for task_id in reading.removed:
            transaction.drop_feedback(task_id)
    return change


class _Reading:
    """A page against the plan as it is: which task is which, and what each is to be."""

    def __init__(
        self, plan: Plan, base: Sequence[PageTask], page: Sequence[PageTask], above: TaskId | None
    ) -> None:
        self._plan = plan
        self._page = page
        self._faults: list[PageFault] = []
        base_ids = [TaskId(task.fields["id"]) for task in base]
        self._base = dict(zip(base_ids, base, strict=True))
        self._base_parents = dict(zip(base_ids, parents_in(base, base_ids, None), strict=True))
        self.ids = tuple(self._read_ids())
        self.removed = tuple(one for one in base_ids if one in plan.tasks and one not in self.ids)
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
                self._faults.append(PageFault(f'{text} "{as_literal(name)}"', both))
            elif TaskId(name) not in self._base and folded in taken:
                self._fault(task, f'a task "{name}" exists already (ids are compared without case)', "id")
            lines[folded] = task.lines.get("id", 0)
        taken |= lines.keys()
        self._require_one_title()
        for task in self._page:
            task_id = TaskId(task.fields.get("id") or task_id_from(task.title, taken))
            taken.add(fold_task_id(task_id))
            yield task_id

    def _require_one_title(self) -> None:
        """Refuse a new task with the title of another: most likely it is there twice."""
        first: dict[str, PageTask] = {}
        for task in self._page:
            twin = first.setdefault(task.title, task)
            if twin is not task and "id" not in task.fields and "id" not in twin.fields:
                self._fault(task, f"another task is called {task.title}; give one of them an `id:`")

    def _fault(self, task: PageTask, text: str, field: str = "") -> None:
        # What was read of JSON has no lines.
        where = "" if task.line else f"{task.fields.get('id', task.title)}: "
        lines = (task.lines.get(field, task.line),) if task.line else ()
        fault = PageFault.of(where + text, *lines)
        if fault not in self._faults:
            self._faults.append(fault)

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
                self._faults.append(PageFault.of(text))
        if self._faults:
            raise PageError(self._faults)
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
        if (base is None or base.criteria != task.criteria) and not all(map(str.strip, task.criteria)):
            self._fault(task, "a criterion is empty")
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
        """The ids of the page and of what else is in the plan, each once."""
        left = self._plan.tasks.keys() - set(self.removed)
        return dict.fromkeys((*self.ids, *(one for one in self._plan.tasks if one in left))).keys()

    def _find(self, task: PageTask, name: str, where: str) -> TaskId:
        """Return the task of a name: an id, a title of the page, or a unique beginning of an id."""
        ids = self._names
        if TaskId(name) in ids:
            return TaskId(name)
        if TaskId(name) in self.removed:
            self._fault(task, f"{name!a} is no longer on the page", where)
            return TaskId(name)
        titled = [one for one, other in zip(self.ids, self._page, strict=True) if other.title == name]
        found = titled or full_ids(name, ids)
        if len(found) == 1:
            return TaskId(found[0])
        if found:
            what = "is the title of several tasks" if titled else "begins several ids"
            self._fault(task, f"{name!a} {what}: {', '.join(found[:_MAX_NAMED])}", where)
        else:
            close = get_close_matches(name, [*ids, *(one.title for one in self._page)], n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            self._fault(task, f"{name!a} is no task of the page or the plan{meant}", where)
        return TaskId(name)

    def tasks(self) -> Iterator[AddedTask]:
        """Yield the tasks of the page."""
        for task, task_id in zip(self._page, self.ids, strict=True):
            yield AddedTask(task_id, task.title, task.depth)

    def orders(self) -> dict[TaskId | None, tuple[TaskId, ...]]:
        """Return the orders of children that the page changed."""
        mine, base = _below(self._parents), _below(self._base_parents)
        orders = {}
        for parent, children in mine.items():
            before = [task_id for task_id in base.get(parent, ()) if task_id in children]
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
    found: dict[TaskId | None, tuple[TaskId, ...]] = {}
    for task_id, parent in parents.items():
        found[parent] = (*found.get(parent, ()), task_id)
    return found


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


def _require_free(workspace: Workspace, before: Plan, after: Plan) -> None:
    """Refuse to change what an agent works on, to delete what waits for a decision, to add what has runs."""
    for task_id in before.tasks.keys() - after.tasks.keys():
        history = workspace.store.records.history(task_id)
        require_not_busy(workspace, before.tasks[task_id])
        require_whole(history)
        if history.latest is not None and history.latest.is_pending:
            raise RequestError(
                f'refusing to delete "{task_id}": a decision on it is due',
                hint=decide_run_command(history.latest),
            )
    for task in after.tasks.values():
        old = before.tasks.get(task.id)
        if old is None:
            require_no_runs(workspace, task.id)
            require_not_busy_task(workspace, before, task.parent if task.parent in before.tasks else None)
        elif fields_of(old) != fields_of(task) or old.parent != task.parent:
            require_not_busy(workspace, old)


def _result(before: Plan, after: Plan, reading: _Reading) -> PageResult:
    old = [task_id for task_id in reading.ids if task_id in before.tasks and task_id in after.tasks]
    # Others are edited too, if they depended on what was deleted.
    others = (task_id for task_id in before.tasks if task_id in after.tasks)
    edited = {
        task_id: names
        for task_id in dict.fromkeys((*old, *others))
        if (names := changed_fields(fields_of(before.tasks[task_id]), fields_of(after.tasks[task_id])))
    }
    orders = (
        [task.id for _, task in plan.walk() if task.id in other.tasks]
        for plan, other in ((before, after), (after, before))
    )
    return PageResult(
        tuple(one for one in reading.tasks() if one.id in after.tasks.keys() - before.tasks.keys()),
        edited,
        tuple(one for one in old if before.tasks[one].parent != after.tasks[one].parent),
        tuple(sorted(before.tasks.keys() - after.tasks.keys())),
        len({tuple(order) for order in orders}) > 1,
        find_new_deadlock(before, after),
    )

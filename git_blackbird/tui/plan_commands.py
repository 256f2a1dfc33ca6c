"""Carry out the actions that edit the plan, and show what an execution would start."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from git_blackbird.controller.core.agents import agent_for, chosen_agent
from git_blackbird.controller.core.workspace import Workspace, find_task, full_id
from git_blackbird.controller.engine.dry_run import DryRun, forecast
from git_blackbird.controller.plan.deletion import delete_as_shown, preview_deletion
from git_blackbird.controller.plan.edit import (
    TOP_OF_PLAN,
    EditResult,
    MoveResult,
    NewTask,
    add_task,
    change_deps,
    edit_task,
    move_beside,
    move_task,
)
from git_blackbird.controller.plan.editor import NobodyAsks, edit_in_editor
from git_blackbird.controller.plan.outcomes import (
    deadlock_text,
    deletion_lines,
    moved_task_lines,
    page_lines,
)
from git_blackbird.controller.plan.page import PageResult
from git_blackbird.messages.display.events import stop_lines
from git_blackbird.messages.display.plan import blocking_lines, order_lines
from git_blackbird.messages.display.quantities import counted, format_seconds
from git_blackbird.messages.display.queue import item_words
from git_blackbird.messages.document import Line, Style, section, styled
from git_blackbird.messages.forms.form_draft import FilledForm
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE
from git_blackbird.model.change.stages import BY_ITSELF
from git_blackbird.model.config.config import Config
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.evidence import commands_in
from git_blackbird.model.rules.task_fields import TaskFields, fields_of, merge_fields
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.plan_edit import (
    DeleteScreen,
    DepsScreen,
    LinesScreen,
    MoveScreen,
    Position,
    task_label,
)
from git_blackbird.tui.screens.task_form import TaskForm
from git_blackbird.tui.widgets.choices import ChoiceItem
from git_blackbird.tui.widgets.line_view import document_lines

_MOST_STEPS = 500


class PlanCommands:
    """Edits the plan of one application, which shows the BlackbirdError of each."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    async def add(self, task: Task | None) -> None:
        """Ask for the place of a new task, then for its fields."""
        parent = None
        if task is not None:
            place = await self._app.ask(ChoiceModal("Where should the new task stand?", _new_places(task)))
            if place is None:
                return
            parent = place.removeprefix(TOP_OF_PLAN) or None
        workspace = await self._open()
        where = "at the top of the plan" if parent is None else f"below {parent}"
        draft = self._app.drafts.form(None)
        screen = TaskForm(f"New task {where}", TaskFields(""), draft, partial(_add, workspace, parent))
        added = await self._app.ask(screen)
        if added is not None:
            self._app.poll()
            self._app.main.plan_tree.select(added.id)
            self._report(page_lines(PageResult.of_added(added)))

    async def edit(self, task: Task) -> None:
        """Ask for the fields of a task, in a form or in the editor."""
        workspace, _, now = await self._read(task)
        title = f"Edit {task_label(now)}"
        draft = self._app.drafts.form(now.id)
        save = partial(_edit, workspace, now.id)
        editing = partial(self._edit_in_editor, workspace, now.id)
        result = await self._app.ask(TaskForm(title, fields_of(now), draft, save, editing))
        if result is not None:
            self._report_edit(result)

    def _edit_in_editor(self, workspace: Workspace, task_id: TaskId) -> None:
        """Give the terminal to the editor; nothing else happens on the screen meanwhile."""
        with self._app.lend_terminal():
            result = edit_in_editor(workspace, task_id, NobodyAsks())
        self._report(page_lines(result, task_id), deadlock=result.deadlock)

    async def delete(self, task: Task) -> None:
        """Show what a deletion removes and changes, and delete after a confirmation."""
        workspace = await self._open()
        shown = await asyncio.to_thread(preview_deletion, workspace, task.id)
        screen = DeleteScreen(task, [*deletion_lines(shown)], partial(delete_as_shown, workspace, shown))
        deleted = await self._app.ask(screen)
        if deleted is not None:
            self._report(deletion_lines(deleted))

    async def move(self, task: Task) -> None:
        """Ask for a new place for a task."""
        workspace, plan, now = await self._read(task)
        moved = await self._app.ask(MoveScreen(plan, now, partial(_move, workspace, now.id)))
        if moved is not None:
            self._report(moved_task_lines(moved), deadlock=moved.deadlock)

    async def deps(self, task: Task) -> None:
        """Ask for the tasks that must be done before a task."""
        workspace, plan, now = await self._read(task)
        result = await self._app.ask(DepsScreen(plan, now, partial(change_deps, workspace, now.id)))
        if result is not None:
            self._report_edit(result)

    async def agree_to_execute(self, *only: TaskId) -> bool:
        """Show what an execute would start, of the plan or of these tasks, by which agent, and ask."""
        workspace = await self._open()
        foreseen = await asyncio.to_thread(forecast, workspace, only, None)
        starts = any(foreseen.steps)
        due = () if only else (*self._done_first(), *(() if starts else self._asked_instead()))
        lines = list(_execution_lines(workspace, foreseen, due, self._app.keys))
        does = "starts it" if starts else "does what is due" if due else ""
        return await self._app.ask(LinesScreen("Execute", lines, does)) is True

    def _done_first(self) -> Iterator[str]:
        """Yield what an execute does with what was cut off."""
        by_execute = (one for one in self._app.main.required if one.command == EXECUTE)
        yield from (
            f"{one.task.id}: {'; '.join(filter(None, (item_words(one), one.why)))}" for one in by_execute
        )

    def _asked_instead(self) -> Iterator[str]:
        """Yield what an execute that starts nothing asks, checks or lands."""
        state, main = self._app.view_state, self._app.main
        due = () if state is None else state.overview.due
        opened = (one for one in due if one.due in BY_ITSELF or main.can_open(one))
        yield from (f"{one.task.id}: {item_words(one)}" for one in opened)

    async def _open(self) -> Workspace:
        workspace = await asyncio.to_thread(self._app.open_workspace)
        workspace.require_settings()
        return workspace

    async def _read(self, task: Task) -> tuple[Workspace, Plan, Task]:
        """Read the plan as it is now: the one that is drawn may be a second old."""
        workspace = await self._open()
        plan = await asyncio.to_thread(workspace.store.plan)
        return workspace, plan, find_task(plan, task.id)

    def _report_edit(self, result: EditResult) -> None:
        self._report(page_lines(PageResult.of_edited(result), result.task_id), deadlock=result.deadlock)

    def _report(self, lines: Iterable[Line], deadlock: tuple[TaskId, ...] | None = None) -> None:
        """Show the result of a change, and the plan with it."""
        faults = () if deadlock is None else (deadlock_text(deadlock),)
        self._app.poll()
        self._app.log_and_notify(*lines, *faults, is_good=not faults)


def _new_places(task: Task) -> list[ChoiceItem[str]]:
    """Return the places for a new task, each as ``/`` with its parent, or alone for the top."""
    beside = f"Beside {task.id}, the last of them"
    items = [ChoiceItem(f"{TOP_OF_PLAN}{task.parent or ''}", beside, task.title)]
    if task.parent is not None:
        items.append(ChoiceItem(TOP_OF_PLAN, "At the top of the plan"))
    return [*items, ChoiceItem(f"{TOP_OF_PLAN}{task.id}", f"Below {task.id}", task.title)]


def _add(workspace: Workspace, parent: str | None, form: FilledForm) -> Task:
    wanted = form.wanted
    new = NewTask(
        wanted.title,
        form.task_id,
        wanted.description,
        wanted.prompt,
        wanted.notes,
        wanted.acceptance_criteria,
        parent,
        deps=_deps(workspace, wanted),
        agent=wanted.agent,
        model=wanted.model,
    )
    return add_task(workspace, new)


def _edit(workspace: Workspace, task_id: TaskId, form: FilledForm) -> EditResult:
    wanted = replace(form.wanted, deps=_deps(workspace, form.wanted))
    return edit_task(workspace, task_id, partial(merge_fields, form.base, wanted))


def _deps(workspace: Workspace, wanted: TaskFields) -> tuple[TaskId, ...]:
    plan = workspace.store.plan()
    return tuple(full_id(plan, name) for name in wanted.deps)


def _move(workspace: Workspace, task_id: TaskId, place: Position) -> MoveResult:
    beside = place.behind or place.before
    if beside is not None:
        return move_beside(workspace, task_id, beside, is_before=place.behind is None)
    return move_task(workspace, task_id, f"{TOP_OF_PLAN}{place.parent or ''}")


def _execution_lines(
    workspace: Workspace, foreseen: DryRun, due: Sequence[str], keys: KeyTable
) -> Iterator[Line]:
    config, steps = workspace.config, list(foreseen.steps)
    yield from (styled(f"{name:<9}{text}") for name, text in _terms(workspace, config, steps))
    yield from document_lines([section("also due", dict.fromkeys(due))])
    yield styled("")
    none = "no task is ready to be started" if due else "nothing would be started"
    number = counted(len(steps), "step") if steps else none
    yield styled(f"If all goes well, in this order: {number}" if steps else number, Style.HEADING)
    yield from (one.behind("  ") for one in order_lines(steps, foreseen.agents, _MOST_STEPS))
    yield from blocking_lines(foreseen.findings)
    if foreseen.stop is not None:
        yield from (styled(""), *map(keys.in_keys, stop_lines(foreseen.stop)))


_AT_LIMITS = {
    "wait": "waits at a usage limit; ctrl+c ends that",
    "stop": "stops at a usage limit",
    "other-agent": "waits at a usage limit, and starts other tasks with another agent",
}


def _terms(
    workspace: Workspace, config: Config, steps: Sequence[tuple[str, Task]]
) -> Iterator[tuple[str, str]]:
    """Yield who works with which rights, the jobs and their place, when it stops, and what is checked."""
    named = (agent_for(workspace, task).summary for _, task in steps if task.is_leaf)
    for summary in dict.fromkeys(named) or [chosen_agent(workspace).summary]:
        yield "Agent", summary
    jobs = config.execution.jobs
    where = "in worktrees of their own" if workspace.uses_worktrees else "in this worktree"
    address = config.cluster.address
    yield "Jobs", f"on the workers at {address}" if address else f"{jobs}, {where}"
    stops = "after each task" if config.execution.stop_after_each_task else "where someone must decide"
    yield "Stops", stops
    yield "Limits", _AT_LIMITS[config.execution.on_limit or "wait"]
    yield "Reviews", config.reviews.mode
    checks = [f"{name}: {check.command}".removeprefix(": ") for name, check in workspace.checks.items()]
    if config.check.criteria and any(commands_in(task) for _, task in steps):
        checks.append("criteria that are commands")
    yield "Check", "; ".join(checks) or "none"
    if config.check.prove and checks:
        most = format_seconds(config.check.prove_seconds)
        yield "Prove", f"which hunks no check notices, for up to {most} a change"

"""Edit the plan: the place of a task, its dependencies, and its deletion."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from git_blackbird.controller.plan.edit import siblings_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.document import Line, Style, line, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import ancestors, subtree
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.tui.screens.modal import Modal, ScrollingModal
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceList
from git_blackbird.tui.widgets.line_view import to_content
from git_blackbird.tui.widgets.task_picker import PickItem, TaskPicker

T = TypeVar("T")
TOP = "the top of the plan"
_NEAR = 40


def task_label(task: Task) -> str:
    """Return the id and title of a task on one line."""
    return f"{task.id}  {task.title}"


def fault_lines(error: BlackbirdError) -> Iterator[Line]:
    """Say why something was not saved, and what to do."""
    texts = filter(None, (error.message, error.hint))
    return (styled(text, Style.WARNING) for text in texts)


class SavingModal(Modal[T], Generic[T]):
    """Stays open and shows the errors as long as its result cannot be saved."""

    def compose_fault(self) -> ComposeResult:
        """Yield the place for errors."""
        yield Static("", id="fault", markup=False)

    def show_fault(self, *lines: Line) -> None:
        """Show an error, which stays."""
        self.query_one("#fault", Static).update(to_content(lines))

    @work(exclusive=True, group="save")
    async def save(self, change: Callable[[], T]) -> None:
        """Make a change in a thread, which may wait for a lock, and close with its result."""
        try:
            result = await asyncio.to_thread(change)
        except BlackbirdError as error:
            self.on_refused(error)
        else:
            self.on_saved()
            self.dismiss_once(result)

    def on_saved(self) -> None:
        """Clean up before it closes with a saved result."""

    def on_refused(self, error: BlackbirdError) -> None:
        """Show why it was not saved."""
        self.show_fault(*fault_lines(error))


class LinesScreen(ScrollingModal[bool]):
    """Shows lines; Enter continues where there is a next step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go_on", "Go on", show=False),
        Binding("up,k", "line(-1)", "Up", show=False),
        Binding("down,j", "line(1)", "Down", show=False),
        Binding("q", "leave", "Back", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[Line], does: str = "") -> None:
        super().__init__(title, f"enter {does}, esc goes back" if does else "esc goes back", "wide")
        self._lines = lines
        self._goes_on = bool(does)

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(to_content(self._lines), markup=False)

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def action_line(self, lines: int) -> None:
        self.read_widget.scroll_relative(y=lines, animate=False)

    def action_go_on(self) -> None:
        if self._goes_on:
            self.dismiss_once(True)


class DeleteScreen(SavingModal[T], Generic[T]):
    """Shows what a deletion removes and changes, and asks; the cursor begins where nothing is deleted."""

    def __init__(self, task: Task, lines: Sequence[Line], change: Callable[[], T]) -> None:
        super().__init__(f"Delete {task_label(task)}", "enter chooses, esc goes back", "wide")
        self._lines = lines
        self._change = change

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(to_content(self._lines), markup=False)
        yield ChoiceList([ChoiceItem(False, "Leave it"), ChoiceItem(True, "Delete it")])
        yield from self.compose_fault()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_index == 0:
            self.dismiss_once(None)
        else:
            self.save(self._change)


class DepsScreen(SavingModal[T], Generic[T]):
    """Marks the tasks that must be done before one; ``save_deps`` is given the base and what is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "save_all", "Save", priority=True)]

    def __init__(
        self, plan: Plan, task: Task, save_deps: Callable[[tuple[TaskId, ...], tuple[TaskId, ...]], T]
    ) -> None:
        keys = "type to search, enter marks, ctrl+s saves, esc goes back"
        super().__init__(f"What must be done before {task_label(task)}", keys, "wide")
        self._plan = plan
        self._subject = task
        self._wanted = list(task.deps)
        self._save_deps = save_deps

    def compose_body(self) -> ComposeResult:
        yield Static("", id="chosen", markup=False)
        yield TaskPicker(self._items())
        yield from self.compose_fault()

    def on_mount(self) -> None:
        self._show_chosen()

    def _items(self) -> list[PickItem]:
        """Return the marked tasks first, without those that the task is part of, or that are part of it."""
        own = {one.id for one in (*subtree(self._plan, self._subject), *ancestors(self._plan, self._subject))}
        marked = [self._plan.tasks[dep] for dep in self._subject.deps]
        others = [task for _, task in self._plan.walk() if task.id not in {*own, *self._subject.deps}]
        return [self._item(task) for task in (*marked, *others)]

    def _item(self, task: Task) -> PickItem:
        is_marked = task.id in self._wanted
        mark = "x" if is_marked else " "
        return PickItem(task.id, f"[{mark}] {task_label(task)} ({task.status.value})", is_marked)

    def _show_chosen(self) -> None:
        chosen = ", ".join(self._wanted) or "nothing"
        self.query_one("#chosen", Static).update(line(f"Marked: {chosen}").text)

    def on_task_picker_picked(self, event: TaskPicker.Picked) -> None:
        if (task_id := event.item.task_id) is not None:
            if task_id in self._wanted:
                self._wanted.remove(task_id)
            else:
                self._wanted.append(task_id)
            self.query_one(TaskPicker).replace_items(self._items())
            self._show_chosen()

    def action_save_all(self) -> None:
        base, wanted = self._subject.deps, tuple(self._wanted)
        self.save(lambda: self._save_deps(base, wanted))


class ParentScreen(Modal[PickItem]):
    """Asks below which task another is to stand; the top of the plan is the line without a task."""

    def __init__(self, plan: Plan, task: Task) -> None:
        super().__init__(
            f"Move {task_label(task)} below", "type to search, enter takes it, esc goes back", "wide"
        )
        self._plan = plan
        self._subject = task

    def compose_body(self) -> ComposeResult:
        below = {one.id for one in subtree(self._plan, self._subject)}
        tasks = [task for _, task in self._plan.walk() if task.id not in below]
        yield TaskPicker([PickItem(None, TOP), *(PickItem(task.id, task_label(task)) for task in tasks)])

    def on_task_picker_picked(self, event: TaskPicker.Picked) -> None:
        self.dismiss_once(event.item)


class Position(NamedTuple):
    """Where a task is to stand: below a parent, None for the top, behind one task and before another."""

    parent: TaskId | None
    behind: TaskId | None
    before: TaskId | None


class MoveScreen(SavingModal[T], Generic[T]):
    """Moves a task among its siblings, or below another parent.

    ``save_place`` is given the place.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "shift(-1)", "Up", show=False, priority=True),
        Binding("down,j", "shift(1)", "Down", show=False, priority=True),
        Binding("home", "shift(-100000)", "First", show=False, priority=True),
        Binding("end", "shift(100000)", "Last", show=False, priority=True),
        Binding("p", "choose_parent", "Parent", show=False),
    ]

    def __init__(self, plan: Plan, task: Task, save_place: Callable[[Position], T]) -> None:
        keys = "up/down move it, p chooses another parent, enter saves, esc goes back"
        super().__init__(f"Move {task_label(task)}", keys, "wide")
        self._plan = plan
        self._subject = task
        self._below = task.parent
        self._save_place = save_place
        self._others: tuple[TaskId, ...] = ()
        self._index = 0

    def compose_body(self) -> ComposeResult:
        yield Static("", id="chosen", markup=False)
        yield OptionList(id="choices", markup=False)
        yield from self.compose_fault()

    def on_mount(self) -> None:
        here = siblings_of(self._plan, self._subject.parent)
        self._show_below(self._subject.parent, here.index(self._subject.id))

    def _show_below(self, parent: TaskId | None, index: int | None = None) -> None:
        """Show the tasks below a parent with the moved one at an index, or last."""
        self._below = parent
        beside = siblings_of(self._plan, parent)
        self._others = tuple(task_id for task_id in beside if task_id != self._subject.id)
        self._index = len(self._others) if index is None else index
        self._show_order()

    def _show_order(self) -> None:
        """Show the tasks around the moved one: there may be thousands."""
        order = (*self._others[: self._index], self._subject.id, *self._others[self._index :])
        first = max(0, self._index - _NEAR)
        lines = [task_label(self._plan.tasks[task_id]) for task_id in order[first : self._index + _NEAR + 1]]
        self.query_one(OptionList).set_options([Option(line(text).text) for text in lines])
        self.query_one(OptionList).highlighted = self._index - first
        place = f", {self._index + 1} of {len(order)}" if len(order) > len(lines) else ""
        where = "At the top" if self._below is None else f"Below {task_label(self._plan.tasks[self._below])}"
        self.query_one("#chosen", Static).update(line(f"{where}{place}:").text)

    def action_shift(self, lines: int) -> None:
        self._index = max(0, min(self._index + lines, len(self._others)))
        self._show_order()

    @work
    async def action_choose_parent(self) -> None:
        item = await self.app.push_screen_wait(ParentScreen(self._plan, self._subject))
        if item is not None:
            self._show_below(item.task_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Save the place; a click on another line moves the task there first."""
        clicked = max(0, self._index - _NEAR) + event.option_index
        if clicked != self._index:
            self.action_shift(clicked - self._index)
            return
        behind = self._others[self._index - 1] if self._index else None
        before = self._others[self._index] if self._index < len(self._others) else None
        place = Position(self._below, behind, before)
        self.save(lambda: self._save_place(place))

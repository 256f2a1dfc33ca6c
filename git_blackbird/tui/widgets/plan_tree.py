"""The plan as a tree: only the visible lines are drawn, however large the plan is."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from git_blackbird.controller.queries.listing import Filter, tree_of_tasks
from git_blackbird.messages.display.format import label_span
from git_blackbird.messages.display.quantities import render_cost, render_duration
from git_blackbird.messages.document import line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import NO_LABELS, Labels, state_label
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.spending import Spent
from git_blackbird.tui.widgets.line_view import drawn_style
from git_blackbird.tui.widgets.status_line import Narrowed

ALL = "all"
FILTERS = (
    (ALL, Filter(everything=True)),
    ("ready", Filter(only_ready=True)),
    ("blocked", Filter(only_blocked=True)),
    *(
        (status.value, Filter(status=status))
        for status in Status
        # What waits for other tasks has the status todo; "blocked" above has that too.
        if status is not Status.BLOCKED
    ),
)
"""All, and one for each state of a task."""
_LABEL_COLUMNS = len(Status.WAITING_USER)
_FIGURES_COLUMNS = 20
_FIGURES_FROM = 64
"""From so many columns there is room for tries, time and cost beside titles."""
_MAX_INDENT = 12
_FOLDED, _OPEN, _LEAF, _ACTIVE = "+ ", "- ", "  ", "* "
_CURSOR, _CURSOR_BLURRED, _PARENT = Style(reverse=True), Style(underline=True), Style(bold=True)
_ID = Style(dim=True)
_GAP = "  "


Row = tuple[int, Task]
"""The depth of a task, and the task."""


class PlanTree(ScrollView, can_focus=True):
    """Shows a plan, with a cursor, folding, filters and search.

    Textual's Tree and DataTable keep an object for each row, and make all of them again for a filter.
    """

    class Moved(Message):
        """The cursor is on another task, or the task under it has changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "jump(0)", "First", show=False),
        Binding("end", "jump(-1)", "Last", show=False),
        Binding("enter,space", "fold", "Fold or unfold", show=False),
        Binding("f", "filter(1)", "Next filter: all, ready, blocked, or one status", show=False),
        Binding("F", "filter(-1)", "Filter before", show=False),
        Binding("n", "match(1)", "Next task that search or filter found", show=False),
        Binding("N", "match(-1)", "Task found before", show=False),
    ]

    filter_index: reactive[int] = reactive(0)
    searched: reactive[str] = reactive("")

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._plan = Plan()
        self._active: frozenset[TaskId] = frozenset()
        self._labels = NO_LABELS
        self._folded: set[TaskId] = set()
        self._spent: Mapping[TaskId, Spent] = {}
        self._rows: list[Row] = []
        self._matches: list[int] = []
        self._cursor = 0
        # A task that the plan will have, and that nobody moved away from.
        self._awaited: TaskId | None = None
        # Where the cursor was before a filter or a search moved it on.
        self._origin: TaskId | None = None

    @property
    def current(self) -> Task | None:
        return self._rows[self._cursor][1] if self._cursor < len(self._rows) else None

    @property
    def narrowed(self) -> Narrowed:
        """How filter and search narrow the list."""
        index = bisect_left(self._matches, self._cursor)
        is_match = index < len(self._matches) and self._matches[index] == self._cursor
        name = FILTERS[self.filter_index][0] if self.filter_index else ""
        return Narrowed(name, self.searched, index + 1 if is_match else 0, len(self._matches))

    def in_view(self) -> tuple[Task, ...]:
        """Return the tasks on the screen."""
        top = round(self.scroll_y)
        return tuple(task for _, task in self._rows[top : top + self.size.height])

    def show_spent(self, spent: Mapping[TaskId, Spent]) -> None:
        """Show what was spent on the tasks in view, where there is room for it."""
        if spent != self._spent:
            self._spent = spent
            self.refresh()

    @property
    def copied_text(self) -> str:
        """The id of the current task."""
        return "" if self.current is None else self.current.id

    def shown_ids(self) -> tuple[str, ...]:
        return tuple(task.id for _, task in self._rows)

    def show(self, plan: Plan, active: frozenset[TaskId], labels: Labels = NO_LABELS) -> None:
        """Show a plan, keeping the cursor on its task.

        ``active`` are the tasks that agents work on, ``labels`` those that records give.
        """
        awaited = self._awaited
        is_same = plan is self._plan and labels == self._labels
        self._plan, self._active, self._labels = plan, active, labels
        if is_same:
            self.refresh()
        else:
            self._update_rows()
        if awaited is not None:
            self.select(awaited)

    def select(self, task_id: TaskId) -> None:
        """Move the cursor to a task, removing folds and filters that hide it; to a new one when it comes."""
        self._awaited = None if task_id in self._plan.tasks else task_id
        if task_id not in self.shown_ids() and task_id in self._plan.tasks:
            self.show_all()
            self._folded.clear()
            self._update_rows()
        if task_id in self.shown_ids():
            self._move_to(self.shown_ids().index(task_id))

    def show_all(self) -> None:
        """Show all tasks, whatever was filtered or searched."""
        self.searched, self.filter_index = "", 0

    def watch_filter_index(self) -> None:
        self._go_to_found()

    def watch_searched(self) -> None:
        self._go_to_found()

    def _go_to_found(self) -> None:
        """Put the cursor on a task that matches: the next key acts on it, and parents are only shown."""
        origin = self._origin or (None if self.current is None else self.current.id)
        self._update_rows()
        # Each letter of a search begins again where the search began.
        self._origin = origin if self._is_narrowed else None
        if self._matches:
            self._place_cursor(self._match_from(origin))

    @property
    def _is_narrowed(self) -> bool:
        return bool(self.searched or self.filter_index)

    def _match_from(self, task_id: TaskId | None) -> int:
        """Return the row of the first match from a task on in plan order, else of the first one."""
        places = {task.id: place for place, (_, task) in enumerate(self._plan.walk())}
        start = places.get(task_id, 0) if task_id is not None else 0
        later = (row for row in self._matches if places[self._rows[row][1].id] >= start)
        return next(later, self._matches[0] if self._matches else 0)

    def on_resize(self) -> None:
        self._resize()
        self._scroll_to_cursor()

    def action_move(self, lines: int) -> None:
        self._move_to(self._cursor + lines)

    def action_page(self, pages: int) -> None:
        self._move_to(self._cursor + pages * max(1, self.size.height - 1))

    def action_jump(self, index: int) -> None:
        self._move_to(index % max(1, len(self._rows)))

    def action_filter(self, steps: int) -> None:
        """Go to the next filter that some task passes."""
        index = self.filter_index
        while (index := (index + steps) % len(FILTERS)) != 0 and not self._count(index):
            pass
        self.filter_index = index

    def _count(self, index: int) -> int:
        wanted = FILTERS[index][1]._replace(text=self.searched, labels=self._labels)
        return sum(wanted.admits(self._plan, task) for task in self._plan.tasks.values())

    def action_match(self, steps: int) -> None:
        """Go to the next task that search and filter find; the parents of those are only shown."""
        if self._matches:
            after = bisect_left(self._matches, self._cursor + (steps > 0))
            self._move_to(self._matches[(after if steps > 0 else after - 1) % len(self._matches)])

    def action_fold(self) -> None:
        """Fold or unfold the parent under the cursor; on a leaf, its parent."""
        task = self.current
        if task is None:
            return
        parent_id = task.id if task.children else task.parent
        if parent_id is None:
            return
        self._folded ^= {parent_id}
        self._update_rows(parent_id)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + self.scroll_offset.y < len(self._rows):
            self._move_to(offset.y + self.scroll_offset.y)

    def _move_to(self, index: int) -> None:
        """Put the cursor where a person wants it."""
        self._awaited = self._origin = None
        self._place_cursor(index)

    def _place_cursor(self, index: int) -> None:
        if not self._rows:
            self.post_message(self.Moved())
            return
        old, self._cursor = self._cursor, max(0, min(index, len(self._rows) - 1))
        self._scroll_to_cursor()
        for row in {old, self._cursor}:
            self.refresh_lines(row, 1)
        self.post_message(self.Moved())

    def _scroll_to_cursor(self) -> None:
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, force=True)

    def _update_rows(self, select: TaskId | None = None) -> None:
        """Compute the rows, and put the cursor on the task ``select``, or else on the same task as before."""
        task_id = select or (self.current.id if self.current is not None else None)
        task_filter = FILTERS[self.filter_index][1]._replace(text=self.searched, labels=self._labels)
        rows = tree_of_tasks(self._plan, task_filter)
        self._rows = rows if self._is_narrowed or not self._folded else list(self._unfolded(rows))
        self._matches = [
            index
            for index, (_, task) in enumerate(self._rows)
            if self._is_narrowed and task_filter.admits(self._plan, task)
        ]
        if self.current is None or self.current.id != task_id:
            places = (index for index, (_, task) in enumerate(self._rows) if task.id == task_id)
            place = next(places, None)
            self._cursor = self._match_from(task_id) if place is None else place
        if self.is_attached:
            self._resize()
            self.refresh()
            self._place_cursor(self._cursor)

    def _unfolded(self, rows: list[Row]) -> Iterator[Row]:
        """Yield the rows that are not below a folded parent."""
        limit: int | None = None
        for depth, task in rows:
            if limit is not None and depth > limit:
                continue
            limit = depth if task.id in self._folded else None
            yield depth, task

    def _resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._rows))

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        strip = Strip(self._segments(self._rows[index], width), width)
        if index == self._cursor:
            strip = strip.apply_style(_CURSOR if self.has_focus else _CURSOR_BLURRED)
        return strip.apply_style(self.rich_style)

    def _segments(self, row: Row, width: int) -> Iterator[Segment]:
        depth, task = row
        title_style = _PARENT if task.children else None
        word = state_label(self._plan, task, self._labels)
        figures = self._figures(task) if self._spent and width >= _FIGURES_FROM else ""
        # Figures stand below each other, and so do the labels after them; else a title has what there is.
        columns = _LABEL_COLUMNS if figures else len(word)
        room = max(0, width - columns - 1 - len(figures))
        indent = "  " * min(depth, _MAX_INDENT)
        text = line(f"{indent}{self._mark(task)}{task.title}").text
        left = room - cell_len(text) - len(_GAP)
        # The title comes first: the pane beside the tree has the id.
        if left >= cell_len(task.id):
            yield Segment(text, title_style)
            yield Segment(set_cell_size(f"{_GAP}{task.id}", left + len(_GAP)), _ID)
        else:
            yield Segment(_fitted(text, room), title_style)
        yield Segment(figures, _ID)
        yield Segment(f" {word:<{columns}}", drawn_style(label_span(word).style))

    def _figures(self, task: Task) -> str:
        """Return tries, time and cost of a task in columns of fixed width."""
        spent = self._spent.get(task.id)
        if spent is None:
            return " " * _FIGURES_COLUMNS
        tries = f"{spent.runs}x" if spent.runs > 1 else ""
        seconds = render_duration(spent.seconds) if spent.seconds >= 1 else ""
        cost = render_cost(spent.cost_usd) if spent.cost_usd else ""
        return f" {tries:>4} {seconds:>6} {cost:>7}"

    def _mark(self, task: Task) -> str:
        if task.id in self._active:
            return _ACTIVE
        if not task.children:
            return _LEAF
        return _FOLDED if task.id in self._folded and not self._is_narrowed else _OPEN


def _fitted(text: str, width: int) -> str:
    """Pad the text to ``width`` columns; if it is longer, cut it with an ellipsis."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, width - 1)}…" if width > 0 else ""

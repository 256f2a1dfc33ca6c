"""The main screen: the plan beside one task or the live log, and above them what waits for a person."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input

from git_blackbird.controller.queries.attention import AttentionItem, attention_items, counts_text
from git_blackbird.controller.queries.status import StatusReport, stopped_tasks
from git_blackbird.controller.queries.watcher import ViewState
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.tui.widgets.bars import (
    KeyFooter,
    SingleLineInput,
    StatusBar,
    banner_text,
    next_item,
    warnings_text,
)
from git_blackbird.tui.widgets.live_log import LiveLog, LivePane
from git_blackbird.tui.widgets.plan_tree import FILTERS, PlanTree
from git_blackbird.tui.widgets.task_details import TaskDetails

_UNUSABLE = "the configuration is not usable: [c] shows why"

_NO_TASKS = "the plan has no tasks; `git blackbird add` adds one"
_NO_MATCH = "no task is shown: f changes the filter, esc clears the search"


def _at_work(overview: StatusReport) -> frozenset[TaskId]:
    """Return the tasks on which an agent is at work, here or by another command."""
    return frozenset(live.run.task_id for live in overview.running if live.alive)


class MainScreen(Screen[None]):
    """Shows the state of the worktree; the application carries out the actions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_pane", "Pane", show=False, priority=True),
        Binding("escape", "leave", "Back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.plan_tree = PlanTree(id="tree")
        self.details = TaskDetails(id="details")
        self.live = LivePane(id="live")
        self.view_state: ViewState | None = None
        self.required: tuple[AttentionItem, ...] = ()
        self._now = ""

    def compose(self) -> ComposeResult:
        yield StatusBar("reading the records...", id="summary")
        yield StatusBar(id="banner")
        yield StatusBar(id="odd")
        yield SingleLineInput(
            placeholder="part of an id or title; enter keeps it, esc clears it", id="search"
        )
        with Horizontal(id="panes"):
            yield self.plan_tree
            with ContentSwitcher(id="right", initial="details"):
                yield self.details
                yield self.live
        yield KeyFooter(id="keys")

    @property
    def current(self) -> Task | None:
        return self.plan_tree.current

    @property
    def next_required(self) -> AttentionItem | None:
        """The next decision after the current task, or else the next item that waits for a person."""
        here = None if self.current is None else self.current.id
        decisions = [item for item in self.required if self.is_decision(item)]
        return next_item(decisions or self.required, here)

    def is_decision(self, item: AttentionItem) -> bool:
        return self.view_state is not None and self.view_state.inputs("decide", item.task_id)

    def on_mount(self) -> None:
        self.plan_tree.focus()

    def show_plan(self, plan: Plan) -> None:
        if self.view_state is None:
            self.plan_tree.show(plan, frozenset())

    def show_error(self, text: str) -> None:
        self._show_line(clean_line(text))

    def show_state(self, view_state: ViewState, now: str) -> None:
        self.view_state, self._now = view_state, now
        overview = view_state.overview
        self.plan_tree.show(view_state.plan, _at_work(overview), stopped_tasks(view_state.state))
        self.required = tuple(attention_items(overview))
        self.query_one("#odd", StatusBar).show_text(warnings_text(overview))
        self._show_all()

    def show_live(self) -> None:
        self.query_one(ContentSwitcher).current = "live"

    def _show_summary(self) -> None:
        if self.view_state is None:
            return
        overview = self.view_state.overview
        name = FILTERS[self.plan_tree.filter_index][0]
        # The most important first: on a narrow screen the line is cut.
        parts = [
            _UNUSABLE if any(problem.fatal for problem in overview.problems) else "",
            f"filter: {name}" if name != "all" else "",
            f"search: {self.plan_tree.searched}" if self.plan_tree.searched else "",
            counts_text(overview) or "the plan has no tasks",
            f"committing: {overview.approving.task.id}" if overview.approving else "",
            f"{at_work} at work" if (at_work := len(_at_work(overview))) > 1 else "",
            f"running: {overview.locked_by}" if overview.locked_by else "",
        ]
        self._show_line(clean_line("  |  ".join(filter(None, parts))))

    def _show_line(self, text: str) -> None:
        self.query_one("#summary", StatusBar).show_text(text, layout=False)

    def on_plan_tree_moved(self) -> None:
        self._show_all()

    def _show_all(self) -> None:
        item = self.next_required
        verb = "opens" if item is not None and self.is_decision(item) else "shows"
        self.query_one("#banner", StatusBar).show_text(banner_text(len(self.required), item, verb))
        self._show_summary()
        self._show_task()
        self.refresh_bindings()

    def _show_task(self) -> None:
        self.live.followed = None if self.current is None else self.current.id
        if self.view_state is None:
            return
        tasks = self.view_state.plan.tasks
        task = None if self.current is None else tasks.get(self.current.id)
        if task is None:
            self.details.show_none(_NO_MATCH if tasks else _NO_TASKS)
        else:
            items = [item for item in self.required if item.task_id == task.id]
            self.details.show_task(self.view_state.view(task), items, self._now)

    def action_other_pane(self) -> None:
        if self.plan_tree.has_focus:
            self._right_pane().focus()
        else:
            self.plan_tree.focus()

    def _right_pane(self) -> TaskDetails | LiveLog:
        is_live = self.query_one(ContentSwitcher).current == "live"
        return self.live.log_view if is_live else self.details

    def toggle_pane(self) -> None:
        switcher = self.query_one(ContentSwitcher)
        was_right = self.focused is not None and not self.plan_tree.has_focus
        switcher.current = "details" if switcher.current == "live" else "live"
        if was_right:
            self._right_pane().focus()

    def search(self) -> None:
        box = self.query_one("#search", Input)
        box.display = True
        box.value = self.plan_tree.searched
        # At once: the next key belongs to it.
        self.set_focus(box)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.plan_tree.searched = event.value.strip()

    def on_input_submitted(self) -> None:
        """Close the search and keep its result."""
        self.query_one("#search", Input).display = False
        self.plan_tree.focus()

    def action_leave(self) -> None:
        """Clear the search, and focus the plan."""
        box = self.query_one("#search", Input)
        box.value = ""
        self.plan_tree.searched = ""
        box.display = False
        self.plan_tree.focus()

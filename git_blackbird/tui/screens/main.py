"""The main screen: the plan beside what is known of one task, above them what waits for a person."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.listing import labels_by_records
from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.controller.queries.watcher import ViewState
from git_blackbird.messages.display.plan import PlanGraph
from git_blackbird.messages.document import line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.graph import NO_LABELS, Labels
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.spending import Spent
from git_blackbird.tui.keys import KeyTable, bindings_of
from git_blackbird.tui.widgets.bars import (
    KeyFooter,
    SingleLineInput,
    StatusBar,
    banner_text,
    warnings_text,
)
from git_blackbird.tui.widgets.line_view import TextPane
from git_blackbird.tui.widgets.live_log import LivePane
from git_blackbird.tui.widgets.plan_tree import PlanTree
from git_blackbird.tui.widgets.status_line import Shown, status_text
from git_blackbird.tui.widgets.tabs import Tab, TabbedPane
from git_blackbird.tui.widgets.task_details import TaskAndKeys, TaskDetails

if TYPE_CHECKING:
    from git_blackbird.tui.widgets.history_panes import HistoryPanes
    from git_blackbird.tui.widgets.runs_pane import RunsPane

_NO_MATCH = "no task is shown: esc shows all"
_TABS = (
    Tab("details", "Task"),
    Tab("live", "Live"),
    Tab("runs", "Runs"),
    Tab("diff", "Diff"),
    Tab("graph", "Graph"),
)
_SHOWS_TAB = "Show the task, live log, runs, its diff, or what it needs and unblocks"
_MOVES_BORDER = "Move the border between the panes"
_STACKED_BELOW = 80
_STEP, _LEAST, _MOST, _EVEN = 10, 20, 80, 50
_CLOCK_SECONDS = 1.0


def _at_work(overview: StatusReport) -> frozenset[TaskId]:
    """Return the tasks on which an agent is at work, here or by another command."""
    return frozenset(live.run.task_id for live in overview.running if live.alive)


class MainScreen(Screen[None]):
    """Shows the state of the worktree; the application carries out the actions.

    ``open_workspace`` gives the workspace of the moment, ``chosen_agent`` the agent that was chosen here.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of(),
        Binding("tab", "other_pane", "Go to the other pane", show=False),
        Binding("escape", "leave", "Go back; on the plan, end its filter and search", show=False),
        *(
            Binding(str(number), f"show_tab('{tab.id}')", _SHOWS_TAB, show=False)
            for number, tab in enumerate(_TABS, start=1)
        ),
        Binding("plus", "zoom", "Give all the room to one pane, or to both again", show=False),
        Binding("less_than_sign", "split(-1)", _MOVES_BORDER, show=False),
        Binding("greater_than_sign", "split(1)", _MOVES_BORDER, show=False),
    ]

    def __init__(
        self, open_workspace: Callable[[], Workspace], chosen_agent: Callable[[], str | None]
    ) -> None:
        super().__init__()
        self.plan_tree = PlanTree(id="tree")
        self.details = TaskDetails(id="details")
        self.live = LivePane(id="live")
        self.graph = TextPane(id="graph")
        self.tabs = TabbedPane(_TABS, id="right")
        self.keys = KeyTable()
        self.view_state: ViewState | None = None
        self.required: tuple[Item, ...] = ()
        self._led_to: Item | None = None
        self._open_workspace = open_workspace
        self._chosen_agent = chosen_agent
        self._plan_graph: PlanGraph | None = None
        self._labels: Labels = NO_LABELS
        self._shown_history: HistoryPanes | None = None
        self._share = _EVEN
        self._is_zoomed = False
        self._error = ""
        self._now = ""

    def compose(self) -> ComposeResult:
        yield StatusBar("reading the records...", id="summary")
        yield StatusBar(id="banner")
        yield StatusBar(id="odd")
        yield SingleLineInput(
            placeholder="part of an id or title; enter keeps it, esc clears it", id="search"
        )
        with Container(id="panes"):
            yield self.plan_tree
            with self.tabs:
                yield self.details
                yield self.live
                yield self.graph
        yield KeyFooter(id="keys")

    @property
    def current(self) -> Task | None:
        return self.plan_tree.current

    @property
    def is_current(self) -> bool:
        """Whether it is seen: below a screen that covers it, Textual would draw it all the same."""
        return super().is_current and (self.app.screen is self or self.app.screen.styles.background.a < 1)

    @property
    def next_required(self) -> Item | None:
        """The first item of the queue, or the one after that to which this key has led."""
        here = None if self.current is None else self.current.id
        led_to = None if self._led_to is None or self._led_to.task.id != here else self._led_to
        places = [place for place, item in enumerate(self.required) if led_to and item.is_same(led_to)]
        after = places[0] + 1 if places else 0
        return self.required[after % len(self.required)] if self.required else None

    def lead_to(self, item: Item) -> None:
        """Put the cursor on the task of an item; the key then leads on to the next one."""
        self._led_to = item
        self.plan_tree.select(item.task.id)
        self._show_all()

    def can_open(self, item: Item) -> bool:
        return self.is_decision(item) or self.is_question(item)

    def is_decision(self, item: Item) -> bool:
        return item.due is Due.DECIDE

    def is_question(self, item: Item) -> bool:
        """Whether an agent waits for answers, and can go on with them now."""
        state = self.view_state
        if state is None or state.overview.locked_by is not None:
            return False
        return item.due is Due.ANSWER and not item.is_session_lost

    def on_mount(self) -> None:
        self.plan_tree.focus()
        self.set_interval(_CLOCK_SECONDS, self._show_summary)

    def show_plan(self, plan: Plan) -> None:
        if self.view_state is None:
            self.plan_tree.show(plan, frozenset())

    def show_error(self, text: str) -> None:
        """Show why the state cannot be read, until it is read again."""
        self._error = line(text).text
        self._show_summary()

    def show_state(self, view_state: ViewState, now: str) -> None:
        self.view_state, self._now, self._error = view_state, now, ""
        overview = view_state.overview
        self._labels = labels_by_records(view_state.state)
        self.plan_tree.show(view_state.plan, _at_work(overview), self._labels)
        self.required = overview.waiting
        self.query_one("#odd", StatusBar).show_text(warnings_text(overview, self.keys))
        self._show_all()
        self.call_after_refresh(self._add_history)

    def show_spent(self, spent: Mapping[TaskId, Spent]) -> None:
        """Show what agents have spent on the tasks that are in view."""
        self.plan_tree.show_spent(spent)

    def _show_summary(self) -> None:
        bar = self.query_one("#summary", StatusBar)
        if self._error:
            bar.show_text(self._error, layout=False)
        elif self.view_state is not None:
            workspace = self._open_workspace()
            agent = self._chosen_agent() or workspace.config.agent
            known = self._count_waiting(), agent, self.live.at_work, self.plan_tree.narrowed
            shown = Shown(*known, workspace.environment.now())
            bar.show_text(status_text(self.view_state.overview, shown), layout=False)
            self.query_one(KeyFooter).agent = agent

    def _count_waiting(self) -> int:
        """Count the items that wait for a person, except failed tasks, which are counted as failed."""
        return sum(item.task.status is not Status.FAILED for item in self.required)

    def on_plan_tree_moved(self) -> None:
        self._show_all()

    def on_tabbed_pane_changed(self) -> None:
        self._show_task()
        self.refresh_bindings()

    def _show_all(self) -> None:
        item = self.next_required
        verb = "opens" if item is not None and self.can_open(item) else "shows"
        does = f"[{self.keys.by_name['answer'].key}] {verb}"
        self.query_one("#banner", StatusBar).show_text(banner_text(len(self.required), item, does))
        self._show_summary()
        self._show_task()
        self.refresh_bindings()

    def _show_task(self) -> None:
        """Show the task under the cursor in the pane that is in view."""
        self.live.follow(None if self.current is None else self.current.id)
        if self.view_state is None:
            return
        tasks = self.view_state.plan.tasks
        task = None if self.current is None else tasks.get(self.current.id)
        if task is None:
            self.details.show_none(_NO_MATCH if tasks else self._no_tasks_text)
            return
        match self.tabs.shown:
            case "details":
                self.details.show_task(TaskAndKeys(self.view_state.view(task), self.keys), self._now)
            case "runs":
                self._history.runs.show_task(task.id)
            case "diff":
                self._history.show_change(task.id, self.view_state.state.history(task.id))
            case "graph":
                self._show_graph(task)
            case _:
                pass

    @property
    def _no_tasks_text(self) -> str:
        add, plan = (self.keys.by_name[name].key for name in ("add_task", "plan"))
        return f"the plan has no tasks; {add} adds one, {plan} lets an agent plan"

    @property
    def _history(self) -> "HistoryPanes":
        """The panes of runs and diffs, which are made when the plan is drawn."""
        if self._shown_history is None:
            from git_blackbird.tui.widgets.history_panes import HistoryPanes

            self._shown_history = HistoryPanes(self._open_workspace)
            for pane in (self._shown_history.runs, self._shown_history.diff):
                pane.display = False
                _ = self.tabs.mount(pane)
        return self._shown_history

    def _add_history(self) -> None:
        _ = self._history

    def _show_graph(self, task: Task) -> None:
        if self.view_state is None:
            return
        if self._plan_graph is None or self._plan_graph.plan is not self.view_state.plan:
            self._plan_graph = PlanGraph(self.view_state.plan)
        self.graph.show(self._plan_graph.lines(task, self._labels), task.id)

    def on_runs_pane_chosen(self, event: "RunsPane.Chosen") -> None:
        """Show the diff of one run of the current task."""
        self._history.show_diff_of(event.run)
        self._switch("diff")
        self._history.diff.view.focus()

    def action_other_pane(self) -> None:
        is_right = self.plan_tree.has_focus
        # What is not shown cannot take the focus.
        self._lay_out(is_right=is_right)
        if is_right:
            self.focus_pane()
        else:
            self.plan_tree.focus()

    def focus_pane(self) -> None:
        """Focus what the right pane shows; at once if it is there: the next key belongs to it."""
        pane = self._right_pane()
        if pane.is_attached:
            self.set_focus(pane)
        else:
            self.call_after_refresh(pane.focus)

    def _right_pane(self) -> Widget:
        match self.tabs.shown:
            case "live":
                return self.live.log_view
            case "runs":
                return self._history.runs.run_list
            case "diff":
                return self._history.diff.view
            case "graph":
                return self.graph
            case _:
                return self.details

    def action_show_tab(self, tab_id: str) -> None:
        """Show a tab; the focus stays on the side where it was."""
        if tab_id == "diff":
            self._history.forget_run()
        self._switch(tab_id)
        self._show_task()

    def _switch(self, tab_id: str) -> None:
        was_right = self.tabs.has_focus_within
        self._add_history()
        self.tabs.switch_to(tab_id)
        if was_right:
            self.focus_pane()

    def toggle_live(self) -> None:
        """Show what agents do, or the task again."""
        self.action_show_tab("details" if self.tabs.shown == "live" else "live")

    def action_zoom(self) -> None:
        """Give all the room to the side that has the focus, or show both again."""
        self._is_zoomed = not self._is_zoomed
        self._lay_out(is_right=self.tabs.has_focus_within)

    def action_split(self, steps: int) -> None:
        """Move the border between the plan and the other pane."""
        self._share = max(_LEAST, min(_MOST, self._share + steps * _STEP))
        self._is_zoomed = False
        self._lay_out(is_right=self.tabs.has_focus_within)

    def on_resize(self, event: events.Resize) -> None:
        del event
        self._lay_out(is_right=self.tabs.has_focus_within)

    def _lay_out(self, *, is_right: bool) -> None:
        """Put the panes beside each other, or one above the other where there are few columns.

        ``is_right``: zoomed, the pane beside the plan is shown.
        """
        is_stacked = self.size.width < _STACKED_BELOW
        self.query_one("#panes").styles.layout = "vertical" if is_stacked else "horizontal"
        for pane, share, is_other in (
            (self.plan_tree, self._share, is_right),
            (self.tabs, 100 - self._share, not is_right),
        ):
            pane.display = not (self._is_zoomed and is_other)
            pane.styles.width, pane.styles.height = (
                ("100%", f"{share}fr") if is_stacked else (f"{share}fr", "100%")
            )

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
        """Go back to the plan and to both panes; there, show all tasks."""
        self._lay_out(is_right=False)
        box = self.query_one("#search", Input)
        if self.plan_tree.has_focus and self._is_zoomed:
            self.action_zoom()
        elif self.plan_tree.has_focus:
            box.value = ""
            self.plan_tree.show_all()
        elif self.focused is box:
            box.value = ""
            self.plan_tree.searched = ""
        box.display = False
        self.plan_tree.focus()

"""The application: the plan on the left, one task or what agents do on the right, what is due above."""

from typing import ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import ContentSwitcher, Footer, Input, Static
from textual.worker import get_current_worker

from git_blackbird.controller.watching import Picture, Watch
from git_blackbird.controller.world import World
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.text import clean_line
from git_blackbird.tui.banner import Banner, Required, required, summary
from git_blackbird.tui.details import Details
from git_blackbird.tui.live import Live, LiveLog
from git_blackbird.tui.plan_tree import FILTERS, PlanTree

_LOOK_SECONDS = 1.0


class BlackbirdApp(App[None]):
    """Shows one worktree, and does what a person asks for through the controller."""

    TITLE = "git blackbird"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_pane", "Pane", show=False, priority=True),
        Binding("t", "switch", "Details/live"),
        Binding("slash", "search", "Search"),
        Binding("escape", "leave", "Back", show=False),
        Binding("a", "answer", "Action"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.picture: Picture | None = None
        self._watch = Watch(world)
        self._required: tuple[Required, ...] = ()
        self._trouble: str | None = None

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static("reading the plan...", id="summary", markup=False)
        yield Banner(id="banner", markup=False)
        yield Input(placeholder="part of an id or title; enter keeps it, esc drops it", id="search")
        with Horizontal(id="panes"):
            yield PlanTree(id="tree")
            with ContentSwitcher(id="right", initial="details"):
                yield Details(id="details")
                yield Live(id="live")
        yield Footer(compact=True, show_command_palette=False)

    @property
    def plan_tree(self) -> PlanTree:
        """The plan."""
        return self.query_one(PlanTree)

    @property
    def live(self) -> Live:
        """What agents do."""
        return self.query_one(Live)

    def on_mount(self) -> None:
        """Begin to look."""
        self.plan_tree.focus()
        self.look()
        self.set_interval(_LOOK_SECONDS, self.look)

    @work(thread=True, exclusive=False, group="look", exit_on_error=False)
    def look(self) -> None:
        """Look whether anything changed, away from the screen; one look at a time."""
        worker = get_current_worker()
        if sum(other.group == "look" and not other.is_finished for other in self.workers) > 1:
            return
        try:
            if self.picture is None:
                self.call_from_thread(self._show_plan, self._watch.plan())
            picture = self._watch.look()
        except BlackbirdError as error:
            if not worker.is_cancelled:
                self.call_from_thread(self._show_trouble, error)
            return
        if picture is not None and not worker.is_cancelled:
            self.call_from_thread(self.show_picture, picture)

    def _show_plan(self, plan: Plan) -> None:
        """Show the plan while the records are read."""
        if self.picture is None:
            self.plan_tree.show(plan, frozenset())

    def _show_trouble(self, error: BlackbirdError) -> None:
        """Say what cannot be read, once."""
        text = f"{error.message} {error.hint or ''}".strip()
        if text != self._trouble:
            self._trouble = text
            self.query_one("#summary", Static).update(clean_line(text))

    def show_picture(self, picture: Picture) -> None:
        """Show how everything stands now."""
        self.picture, self._trouble = picture, None
        overview = picture.overview
        self.plan_tree.show(picture.plan, frozenset(one.run.task_id for one in overview.running if one.alive))
        self._required = tuple(required(overview))
        self.query_one(Banner).show(self._required)
        self._show_summary()
        self._show_task()
        self.refresh_bindings()

    def _show_summary(self) -> None:
        if self.picture is None:
            return
        overview = self.picture.overview
        name = FILTERS[self.plan_tree.filter_index][0]
        parts = [
            summary(overview),
            f"filter: {name}" if name != "all" else "",
            f"search: {self.plan_tree.searched}" if self.plan_tree.searched else "",
            f"running: {overview.holder}" if overview.holder else "",
        ]
        self.query_one("#summary", Static).update(clean_line("  |  ".join(filter(None, parts))))

    @property
    def current(self) -> Task | None:
        """The task under the cursor, as it is by now."""
        return self.plan_tree.current

    def on_plan_tree_moved(self) -> None:
        """Follow the cursor."""
        self._show_task()
        self._show_summary()
        self.refresh_bindings()

    def _show_task(self) -> None:
        if self.picture is None:
            return
        task = self.picture.plan.tasks.get(self.current.id) if self.current is not None else None
        view = None if task is None else self.picture.view(task)
        self.query_one(Details).show(view, self.world.timestamp())

    def action_other_pane(self) -> None:
        """Go to the other side."""
        if self.plan_tree.has_focus:
            self._right().focus()
        else:
            self.plan_tree.focus()

    def _right(self) -> Details | LiveLog:
        is_live = self.query_one(ContentSwitcher).current == "live"
        return self.query_one(LiveLog) if is_live else self.query_one(Details)

    def action_switch(self) -> None:
        """Show the task, or what agents do."""
        switcher = self.query_one(ContentSwitcher)
        was_right = self.screen.focused is not None and not self.plan_tree.has_focus
        switcher.current = "details" if switcher.current == "live" else "live"
        if was_right:
            self._right().focus()

    def action_search(self) -> None:
        """Type what to search for."""
        box = self.query_one("#search", Input)
        box.display = True
        box.value = self.plan_tree.searched
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what is found while it is typed."""
        self.plan_tree.searched = event.value.strip()

    def on_input_submitted(self) -> None:
        """Keep what was found."""
        self.query_one("#search", Input).display = False
        self.plan_tree.focus()

    def action_leave(self) -> None:
        """Leave the search, or the right side."""
        box = self.query_one("#search", Input)
        if box.display or self.plan_tree.searched:
            box.value = ""
            self.plan_tree.searched = ""
            box.display = False
        self.plan_tree.focus()

    def action_answer(self) -> None:
        """Go to what waits for a person first."""
        if self._required:
            self.plan_tree.select(self._required[0].task_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say which keys work here and now."""
        del parameters
        if action == "answer":
            return bool(self._required)
        return True

"""The screen that is always there: the plan, one task or what agents do, and above them what is due."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input, Static

from git_blackbird.controller.overview import stopped_in
from git_blackbird.controller.required import Required, required
from git_blackbird.controller.watching import Picture
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.text import clean_line
from git_blackbird.tui.banner import Banner, Oddities, following, summary
from git_blackbird.tui.details import Details
from git_blackbird.tui.key_line import KeyLine
from git_blackbird.tui.live import Live, LiveLog
from git_blackbird.tui.one_line import OneLine
from git_blackbird.tui.plan_tree import FILTERS, PlanTree

_UNUSABLE = "the configuration is not usable: [c] shows why"

_NO_TASKS = "the plan has no tasks; `git blackbird add` adds one"
_NO_MATCH = "no task is shown: f changes the filter, esc drops the search"


class MainScreen(Screen[None]):
    """Shows a picture of the worktree; what is to be done about it is the application's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "other_pane", "Pane", show=False, priority=True),
        Binding("escape", "leave", "Back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.plan_tree = PlanTree(id="tree")
        self.details = Details(id="details")
        self.live = Live(id="live")
        self.picture: Picture | None = None
        self.required: tuple[Required, ...] = ()
        self._now = self._said = ""

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static("reading the records...", id="summary", markup=False)
        yield Banner(id="banner")
        yield Oddities(id="odd")
        yield OneLine(placeholder="part of an id or title; enter keeps it, esc drops it", id="search")
        with Horizontal(id="panes"):
            yield self.plan_tree
            with ContentSwitcher(id="right", initial="details"):
                yield self.details
                yield self.live
        yield KeyLine(id="keys")

    @property
    def current(self) -> Task | None:
        """The task under the cursor."""
        return self.plan_tree.current

    @property
    def next_required(self) -> Required | None:
        """What the key for what is due leads to: the next decision, or else the next item."""
        here = None if self.current is None else self.current.id
        decisions = [item for item in self.required if self.is_decision(item)]
        return following(decisions or self.required, here)

    def is_decision(self, item: Required) -> bool:
        """Whether an item is a decision that can be taken now."""
        return self.picture is not None and self.picture.takes("decide", item.task_id)

    def on_mount(self) -> None:
        """Begin in the plan."""
        self.plan_tree.focus()

    def show_plan(self, plan: Plan) -> None:
        """Show the plan while the records are read."""
        if self.picture is None:
            self.plan_tree.show(plan, frozenset())

    def show_trouble(self, text: str) -> None:
        """Say what cannot be read; the last picture stays below."""
        self._say(clean_line(text))

    def show_picture(self, picture: Picture, now: str) -> None:
        """Show how everything stands ``now``."""
        self.picture, self._now = picture, now
        overview = picture.overview
        active = frozenset(one.run.task_id for one in overview.running if one.alive)
        self.plan_tree.show(picture.plan, active, stopped_in(picture.standing))
        self.required = tuple(required(overview))
        self.query_one(Oddities).show(overview)
        self._show_all()

    def show_live(self) -> None:
        """Show what agents do."""
        self.query_one(ContentSwitcher).current = "live"

    def _show_summary(self) -> None:
        if self.picture is None:
            return
        overview = self.picture.overview
        name = FILTERS[self.plan_tree.filter_index][0]
        # What stops everything, then what is shown of the plan: on a narrow screen the line is cut.
        parts = [
            _UNUSABLE if any(problem.fatal for problem in overview.problems) else "",
            f"filter: {name}" if name != "all" else "",
            f"search: {self.plan_tree.searched}" if self.plan_tree.searched else "",
            summary(overview),
            f"committing: {overview.approving.task.id}" if overview.approving else "",
            f"running: {overview.holder}" if overview.holder else "",
        ]
        self._say(clean_line("  |  ".join(filter(None, parts))))

    def _say(self, text: str) -> None:
        """Show a line above all; what it says already is not drawn again."""
        if text != self._said:
            self._said = text
            self.query_one("#summary", Static).update(text, layout=False)

    def on_plan_tree_moved(self) -> None:
        """Follow the cursor."""
        self._show_all()

    def _show_all(self) -> None:
        item = self.next_required
        verb = "opens" if item is not None and self.is_decision(item) else "shows"
        self.query_one(Banner).show(len(self.required), item, verb)
        self._show_summary()
        self._show_task()
        self.refresh_bindings()

    def _show_task(self) -> None:
        if self.picture is None:
            return
        tasks = self.picture.plan.tasks
        task = None if self.current is None else tasks.get(self.current.id)
        if task is None:
            self.details.show_none(_NO_MATCH if tasks else _NO_TASKS)
        else:
            waits = [one for one in self.required if one.task_id == task.id]
            self.details.show_task(self.picture.view(task), waits, self._now)

    def action_other_pane(self) -> None:
        """Go to the other side."""
        if self.plan_tree.has_focus:
            self._right().focus()
        else:
            self.plan_tree.focus()

    def _right(self) -> Details | LiveLog:
        is_live = self.query_one(ContentSwitcher).current == "live"
        return self.live.log_view if is_live else self.details

    def switch(self) -> None:
        """Show the task, or what agents do."""
        switcher = self.query_one(ContentSwitcher)
        was_right = self.focused is not None and not self.plan_tree.has_focus
        switcher.current = "details" if switcher.current == "live" else "live"
        if was_right:
            self._right().focus()

    def search(self) -> None:
        """Type what to search for."""
        box = self.query_one("#search", Input)
        box.display = True
        box.value = self.plan_tree.searched
        # At once: what is typed next belongs to it.
        self.set_focus(box)

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
        box.value = ""
        self.plan_tree.searched = ""
        box.display = False
        self.plan_tree.focus()

"""The lines around the plan: what waits for a person, warnings, the search, and the keys that work now."""

from collections.abc import Iterator
from typing import ClassVar, Protocol, runtime_checkable

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.messages.display.format import adoptable_counts
from git_blackbird.messages.display.quantities import budget_name, counted
from git_blackbird.messages.display.queue import item_words, why_text
from git_blackbird.messages.document import line
from git_blackbird.model.rules.queue import Item
from git_blackbird.tui.keys import KeyTable


class StatusBar(Static):
    """Visible only with a text; drawn only when that changes, which Textual's Static does each time."""

    def __init__(self, text: str = "", *, id: str) -> None:
        super().__init__(text, id=id, markup=False)
        self._text = text

    def show_text(self, text: str, *, layout: bool = True) -> None:
        """Show a text; "" hides the bar. ``layout``: its height may change."""
        if text != self._text:
            self._text = text
            self.display = bool(text)
            self.update(text, layout=layout)


def warnings_text(overview: StatusReport, keys: KeyTable) -> str:
    """Return counts of the problems that nobody is asked about, each with the key that helps on."""
    return ", ".join(_warnings(overview, *(keys.by_name[name].key for name in _HELPING)))


_HELPING = ("settings", "answer", "execute")


def _warnings(overview: StatusReport, settings: str, answer: str, execute: str) -> Iterator[str]:
    spent = (line for line in overview.budgets if line.is_spent)
    yield from (f"the budget of {budget_name(line)} is spent ([{settings}])" for line in spent)
    if overview.unreadable:
        yield f"{counted(len(overview.unreadable), 'unreadable record')} ([{answer}])"
    if overview.adoptable:
        yield f"{adoptable_counts(overview.adoptable)} of another program or clone ([{execute}] asks)"
    if overview.drift:
        differing = next(iter(overview.drift)) if len(overview.drift) == 1 else f"{len(overview.drift)} tasks"
        yield f"plan and records differ on {differing} ([{execute}])"
    if overview.orphaned:
        # No key of the screen is about what its plan does not have.
        yield f"{counted(len(overview.orphaned), 'task')} of another plan (`git blackbird status`)"
    if remarks := [problem for problem in overview.problems if not problem.fatal]:
        yield f"{counted(len(remarks), 'remark')} on the configuration ([{settings}])"


def banner_text(count: int, item: Item | None, does: str) -> str:
    """Return the count of items that wait, and what a key ``does`` with which of them."""
    if item is None:
        return ""
    reason = why_text(item)
    why = f"\n  {line(reason).text}" if reason else ""
    # The key comes before what may be cut on a narrow screen.
    return f"Action required ({count}): {does} {item.task.id}: {item_words(item)}{why}"


@runtime_checkable
class HasSpecialKeys(Protocol):
    """A widget whose keys have other meanings for a while, as in a search."""

    @property
    def special_keys(self) -> str:
        """Their meanings at the moment; "" if they are the usual ones."""


_ALWAYS = frozenset({"help", "quit"})


class KeyFooter(Widget, can_focus=False):
    """One line, drawn only when the active keys change; a click presses a key.

    Textual's Footer makes a widget of every key at each change, and where they do not fit it scrolls help
    and quit out of sight.
    """

    keys: reactive[tuple[Binding, ...]] = reactive((), always_update=False)
    agent: reactive[str] = reactive("", always_update=False)
    """The agent of new runs, at the right end."""
    special: reactive[str] = reactive("", always_update=False)
    """What keys do for a while, instead of those that are active otherwise."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_keys)

    def _update_keys(self, screen: Screen[object]) -> None:
        # Below another screen, none of them is to be had.
        active = screen.active_bindings.values() if self.app.screen is self.screen else ()
        self.keys = tuple(key.binding for key in active if key.binding.show and key.enabled)
        nodes = () if screen.focused is None else screen.focused.ancestors_with_self
        self.special = next((node.special_keys for node in nodes if isinstance(node, HasSpecialKeys)), "")

    def render(self) -> Content:
        if self.special:
            return Content(self.special)
        keys = [
            Content.assemble((self._key_text(key), "$footer-key-foreground bold"), f" {key.description}")
            for key in self._fitting()
        ]
        line = Content(" ").join(keys)
        gap = max(0, self.size.width - line.cell_length - cell_len(self.agent))
        return line if not self.agent else Content.assemble(line, " " * gap, (self.agent, "dim"))

    def on_click(self, event: events.Click) -> None:
        if self.special:
            return
        right = 0
        for key in self._fitting():
            right += self._columns(key)
            if event.x < right:
                self.app.simulate_key(key.key)
                return

    def _fitting(self) -> Iterator[Binding]:
        """Yield the keys that fit: help and quit always, the others in order."""
        room = self.size.width + 1 - (cell_len(self.agent) + 1 if self.agent else 0)
        room -= sum(self._columns(key) for key in self.keys if key.id in _ALWAYS)
        for key in self.keys:
            if key.id not in _ALWAYS:
                room -= self._columns(key)
            if room >= 0 or key.id in _ALWAYS:
                yield key

    def _columns(self, key: Binding) -> int:
        return len(self._key_text(key)) + len(key.description) + 2

    def _key_text(self, key: Binding) -> str:
        return self.app.get_key_display(key)


class MultiLineInput(TextArea):
    """Has keys for the beginning and the end of the text; Textual's own has those of the line alone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "cursor_edge(0)", "Beginning of the text", show=False),
        Binding("ctrl+end", "cursor_edge(1)", "End of the text", show=False),
        Binding("ctrl+shift+home", "cursor_edge(0, True)", "Select to the beginning", show=False),
        Binding("ctrl+shift+end", "cursor_edge(1, True)", "Select to the end", show=False),
    ]

    def action_cursor_edge(self, end: int, select: bool = False) -> None:  # noqa: FBT001, FBT002  # of a binding
        """Go to the beginning (0) or the end (1) of the text."""
        self.move_cursor(self.document.end if end else (0, 0), select=select)


class AnswerInput(MultiLineInput):
    """A text that Enter sends; ctrl+j begins a new line of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter", "begin_line", "Begin a new line", show=False),
    ]

    class Submitted(Message):
        """The text is meant so."""

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted())

    def action_begin_line(self) -> None:
        self.insert("\n")


class SingleLineInput(Input):
    """Takes all lines of a pasted text; Textual's own takes the first one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "home", "Beginning of the text", show=False),
        Binding("ctrl+end", "end", "End of the text", show=False),
    ]

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(" ".join(event.text.splitlines()), *sorted(self.selection))

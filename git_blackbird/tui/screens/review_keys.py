"""The keys at the decision on a run, and the line below the choices that names them."""

from collections.abc import Iterator
from enum import Enum

from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Static

from git_blackbird.messages.document import line
from git_blackbird.tui.keys import NO_KEY
from git_blackbird.tui.widgets.diff.pane import DiffPane
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.file_list import FileList, FileSearch
from git_blackbird.tui.widgets.overview_pane import OverviewPane
from git_blackbird.tui.widgets.scrolling import SCROLL_BINDINGS

_READ_KEY = "Mark the file or folder as read and go on to the next unread; on a read one, take the mark away"
REVIEW_BINDINGS: list[BindingType] = [
    *SCROLL_BINDINGS,
    Binding("v", "diff", "Go to the diff", show=False),
    Binding("V", "overview", "Show the overview", show=False),
    Binding("slash", "search", "Search in the diff", show=False),
    Binding("i", "after_request('view_since_request')", "Changes since your request", show=False),
    Binding("I", "after_request('view_diff')", "The whole change again", show=False),
    Binding("right_square_bracket", "in_diff('file(1)')", "Next file", show=False),
    Binding("left_square_bracket", "in_diff('file(-1)')", "File before", show=False),
    Binding("n", "in_diff('hunk(1)')", "Next hunk", show=False),
    Binding("N", "in_diff('hunk(-1)')", "Hunk before", show=False),
    Binding("y", "app.copy", "Copy the path and line, or the file's path", id="copy", show=False),
    Binding("right_curly_bracket", "in_diff('note(1)')", "Next comment or finding", show=False),
    Binding("left_curly_bracket", "in_diff('note(-1)')", "Comment or finding before", show=False),
    Binding("m", "mark_read", _READ_KEY, show=False),
    Binding("plus", "zoom", "Give the files' room to what is shown, or give it back", show=False),
    Binding("o", "leave_out", "Leave the hunk, file or folder out of an approval, or take it in", show=False),
    # The screen names the choices.
    *(Binding(digit, f"choice('{digit}')", f"Choice {digit}", show=False) for digit in "1234567890"),
]


class Focus(Enum):
    """What has the focus."""

    CHOICES = "enter chooses"
    FILES = "enter goes to what is shown, / finds a name"
    NAMES = "enter stays there, down the next one, esc goes back"
    OVERVIEW = "up down scroll, enter goes to a finding"
    DIFF = "c comments, v range, / searches"


_PLACES: dict[type[DOMNode], Focus] = {
    FileList: Focus.FILES,
    FileSearch: Focus.NAMES,
    OverviewPane: Focus.OVERVIEW,
    DiffPane: Focus.DIFF,
}


def place_of(focused: Widget | None) -> Focus:
    """Return what has the focus; a diff has it also with its search."""
    nodes = () if focused is None else focused.ancestors_with_self
    return next((_PLACES[type(node)] for node in nodes if type(node) in _PLACES), Focus.CHOICES)


_REQUESTED = "i since your request, I all"
_EVERYWHERE = ("m read, o leave out", "? all keys", "esc leaves it open")
_AT_OVERVIEW = ("tab next pane, v diff, ][ files", *_EVERYWHERE)
_BESIDE_DIFF = ("v to the diff, V overview, ][ files", *_EVERYWHERE)
_IN_DIFF = ("V overview, ][ files, nN hunks", *_EVERYWHERE)


def keys_line(place: Focus, *, is_diff_shown: bool, was_requested: bool) -> str:
    """Name the most important keys, as they work now."""
    return ", ".join(_parts(place, is_diff_shown=is_diff_shown, was_requested=was_requested))


def _parts(place: Focus, *, is_diff_shown: bool, was_requested: bool) -> Iterator[str]:
    yield place.value
    if place is Focus.NAMES:
        return
    yield from _IN_DIFF if place is Focus.DIFF else _BESIDE_DIFF if is_diff_shown else _AT_OVERVIEW
    if was_requested:
        yield _REQUESTED


DIFF_BINDINGS = tuple(Binding.make_bindings([*DiffView.BINDINGS, *DiffPane.BINDINGS]))
_DIFF_KEYS = frozenset(binding.key for binding in DIFF_BINDINGS if len(binding.key) == 1)


def dead_key_text(character: str, place: Focus, *, has_diff: bool) -> str:
    """Say that a key does nothing where the focus is, and where it does something."""
    if has_diff and place is not Focus.DIFF and character in _DIFF_KEYS:
        return f"{character} works in the diff: v goes there"
    return NO_KEY


class KeyLine(Static):
    """Names the keys, except while something is said about the last one."""

    def __init__(self) -> None:
        super().__init__("", classes="keys", markup=False)
        self._keys = self._said = ""

    def show_keys(self, keys: str) -> None:
        """Name these keys, now or after what is said."""
        self._keys = keys
        self.update(self._said or keys)

    def say(self, text: str) -> None:
        """Say something instead, until the next key."""
        self._said = text
        # What is said is shown in full, also where there is little room for keys.
        self.set_class(bool(text), "saying")
        self.update(line(text).text or self._keys)

    def unsay(self) -> None:
        """Name the keys again."""
        if self._said:
            self.say("")

"""Writing text of several lines, in which ``@`` completes paths of the repository."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from git_blackbird.model.mentions import MENTION, KnownPaths
from git_blackbird.model.text import clean
from git_blackbird.tui.listing import Listing

_PICKING = frozenset({"up", "down", "enter", "tab", "escape"})


class MentionArea(TextArea):
    """The text; while paths are offered, the keys that choose among them are the picker's."""

    class Picked(Message):
        """A key that is for the picker."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, text: str) -> None:
        super().__init__(text, soft_wrap=True, show_line_numbers=False, tab_behavior="focus")
        self.is_picking = False

    async def _on_key(self, event: events.Key) -> None:
        if self.is_picking and event.key in _PICKING:
            event.stop()
            event.prevent_default()
            self.post_message(self.Picked(event.key))
        else:
            await super()._on_key(event)

    @property
    def mention(self) -> str | None:
        """What stands between an ``@`` and the cursor; None where nothing is being named."""
        row, column = self.cursor_location
        found = MENTION.search(self.document.get_line(row)[:column])
        return None if found is None else found[1]


class PathEditor(Vertical):
    """An editor with a picker below, which offers what is in the listing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "send", "Send", priority=True)]

    class Sent(Message):
        """The text is finished."""

    def __init__(self, listing: Listing, text: str = "") -> None:
        super().__init__()
        self._listing = listing
        self._offered: str | None = None
        self._first_text = text

    def compose(self) -> ComposeResult:
        """Lay the two out."""
        yield MentionArea(clean(self._first_text))
        picker = OptionList(id="picker", markup=False)
        picker.can_focus = False
        picker.display = False
        yield picker

    @property
    def text(self) -> str:
        """What was written."""
        return self._area.text

    @property
    def _area(self) -> MentionArea:
        return self.query_one(MentionArea)

    @property
    def _picker(self) -> OptionList:
        return self.query_one("#picker", OptionList)

    def on_mount(self) -> None:
        """Begin at the end of the text."""
        self._area.focus()
        self._area.move_cursor(self._area.document.end)
        self._listing.renew(self.app, self._offer_anew)

    def _offer_anew(self) -> None:
        if self.is_attached:
            self._offer_known()

    def action_send(self) -> None:
        """Finish."""
        self.post_message(self.Sent())

    def on_text_area_selection_changed(self) -> None:
        """Offer paths for the word at the cursor; what was made since the last ``@`` can be named as well."""
        if self._area.mention == "":
            self._listing.renew(self.app, self._offer_anew)
        self._offer_known()

    def _offer_known(self) -> None:
        wanted = self._area.mention
        if wanted is None:
            self._close()
        elif self._listing.known is not None:
            self._search(self._listing.known, wanted)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, paths: KnownPaths, wanted: str) -> None:
        """Look among all paths, away from the screen; who types on makes this look worthless."""
        worker = get_current_worker()
        found: list[str] = []
        for more in paths.matching(wanted):
            found += more
            if not worker.is_cancelled:
                self.app.call_from_thread(self._offer, wanted, tuple(found))

    def _offer(self, wanted: str, found: Sequence[str]) -> None:
        """Show what was found by now; what is chosen stays so when more is found."""
        if self._area.mention != wanted:
            return
        chosen = self._picker.highlighted if self._offered == wanted else None
        self._offered = wanted
        self._picker.clear_options()
        self._picker.add_options([Option(path) for path in found])
        is_there = bool(found) and tuple(found) != (wanted,)
        self._picker.display = self._area.is_picking = is_there
        if is_there:
            self._picker.highlighted = chosen or 0

    def _close(self) -> None:
        self._picker.display = self._area.is_picking = False

    def on_mention_area_picked(self, event: MentionArea.Picked) -> None:
        """Move among the paths, take one, or take none."""
        match event.key:
            case "up":
                self._picker.action_cursor_up()
            case "down":
                self._picker.action_cursor_down()
            case "escape":
                self._close()
            case _:
                self._take()

    def _take(self) -> None:
        wanted, index = self._area.mention, self._picker.highlighted
        if wanted is not None and index is not None:
            path = str(self._picker.get_option_at_index(index).prompt)
            row, column = self._area.cursor_location
            self._area.replace(f"{path} ", (row, column - len(wanted)), (row, column))
        self._close()

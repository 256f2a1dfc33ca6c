"""The value of a configuration key, as text."""

import asyncio
import json
from collections.abc import Callable, Iterable

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from git_blackbird.controller.config.edit import ConfigChange
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.config import plain_text, type_text
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import ConfigKey, ValueType
from git_blackbird.model.config.settings import LayerValue, Setting
from git_blackbird.tui.screens.modal import Modal
from git_blackbird.tui.widgets.single_line_input import SingleLineInput
from git_blackbird.tui.widgets.styled_lines import to_content

_EMPTY = "nothing is typed; delete, in the list of keys, removes a key"
_NOT_ONE_LINE = "the present value cannot be shown on one line; what you type replaces it"


class EditValueScreen(Modal[ConfigChange]):
    """Asks for the value of a key until a valid one is saved; shows what is wrong with it."""

    def __init__(
        self, key: ConfigKey, place: str, current: Setting | LayerValue, save: Callable[[str], ConfigChange]
    ) -> None:
        super().__init__()
        self._key = key
        self._place = place
        self._text = typed_text(current)
        self._save = save

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Vertical(classes="box wide"):
            yield Static(f"{self._key.name} in {self._place}", classes="title", markup=False)
            yield Static(f"{self._key.help}; {type_text(self._key)}", markup=False)
            yield SingleLineInput(self._text or "", select_on_focus=False)
            yield Static(_NOT_ONE_LINE if self._text is None else "", id="fault", markup=False)
            yield Static("enter saves, esc goes back", classes="keys", markup=False)

    @work(exclusive=True)
    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Save the value if it is valid."""
        if not event.value and self._key.kind is ValueType.TEXT:
            self._show_problems(_EMPTY)
            return
        try:
            self.dismiss_once(await asyncio.to_thread(self._save, event.value))
        except BlackbirdError as error:
            self._show_problems(*filter(None, (error.message, error.hint)))

    def _show_problems(self, *texts: str) -> None:
        self.query_one("#fault", Static).update(_faults(texts))


def typed_text(current: Setting | LayerValue) -> str | None:
    """Return a value as it would be typed; None if it does not fit on one line."""
    value = current.value
    if value is None:
        raw = current.given.value if isinstance(current, LayerValue) else ""
        text = raw if isinstance(raw, str) else json.dumps(raw)
    else:
        text = plain_text(value)
        if isinstance(value, tuple) and not text.isprintable():
            text = json.dumps(value)
    return text if text.isprintable() else None


def _faults(texts: Iterable[str]) -> Content:
    return to_content(StyledLine(clean_line(text, 1000), Style.WARNING) for text in texts)

"""Drop keys and clicks that were aimed at the previous screen and would decide something on this one."""

from collections.abc import Awaitable, Coroutine

from textual import events
from textual.app import App
from textual.timer import Timer
from textual.widgets import OptionList

PAUSE_KEY = "ctrl+c"
_ALWAYS_ACCEPTED = frozenset({PAUSE_KEY, "ctrl+z"})
"""They decide nothing."""
_CHOOSING_KEYS = frozenset({"enter", *"0123456789"})
_LEFT_BUTTON = 1


class InputGuard(App[None]):
    """Drops all input while a screen is being opened, and what chooses just after one came up unasked."""

    pause_seconds = 0.5
    """How long keys that choose are dropped after a screen came up unasked."""

    _pause: Timer | None = None
    _is_opening = False

    @property
    def choosing_keys(self) -> frozenset[str]:
        """The keys that choose or start something on the current screen."""
        return _CHOOSING_KEYS

    def ignore_pending_input(self) -> None:
        """Drop keys that choose for a moment: the screen changes unasked, perhaps while someone types."""
        if self.pause_seconds and self._pause is None:
            self._pause = self.set_timer(self.pause_seconds, self.accept_input)
            self.add_class("ignoring-input")

    def accept_input(self) -> None:
        """Accept all keys again."""
        if self._pause is not None:
            self._pause.stop()
            self._pause = None
        self.remove_class("ignoring-input")

    def open_modal(self, action: Coroutine[object, object, None]) -> None:
        """Run an action that opens a screen; until that is open, input would go to the screen below."""
        self._is_opening = True
        self.run_worker(self._open(action))

    async def _open(self, action: Awaitable[None]) -> None:
        try:
            await action
        finally:
            self._is_opening = False

    def modal_opened(self) -> None:
        """Accept input for the screen that ``open_modal`` waited for."""
        self._is_opening = False

    async def on_event(self, event: events.Event) -> None:
        """Drop input that was aimed at the previous screen."""
        if isinstance(event, events.MouseDown | events.MouseUp) and event.button > _LEFT_BUTTON:
            # Terminals paste or open menus with them; they must not choose anything.
            return
        if not self._is_stray(event):
            await super().on_event(event)

    def _is_stray(self, event: events.Event) -> bool:
        """Whether input was probably aimed at the previous screen."""
        if event.is_forwarded or not isinstance(
            event, events.Key | events.Paste | events.MouseDown | events.MouseUp
        ):
            return False
        if isinstance(event, events.Key) and event.key in _ALWAYS_ACCEPTED:
            return False
        return self._is_opening or (self._pause is not None and self._chooses(event))

    def _chooses(self, event: events.Event) -> bool:
        if isinstance(event, events.Key):
            begins_text = event.is_printable and isinstance(self.focused, OptionList)
            return begins_text or event.key in self.choosing_keys
        return not isinstance(event, events.Paste)

"""Drop keys and clicks that were aimed at the previous screen and would decide something on this one."""

from collections.abc import Awaitable, Coroutine

from textual import events
from textual.app import App
from textual.timer import Timer

PAUSE_KEY = "ctrl+c"
_ALWAYS_HEARD = frozenset({PAUSE_KEY, "ctrl+z"})
"""What decides nothing."""
_CHOOSING_KEYS = frozenset({"enter", *"0123456789"})
_LEFT_BUTTON = 1


class HearingApp(App[None]):
    """Drops all input while a screen is being opened, and what chooses just after one came up unasked."""

    pause_seconds = 0.5
    """How long keys that choose are dropped, whatever is typed meanwhile."""

    _pause: Timer | None = None
    _is_opening = False

    @property
    def choosing_keys(self) -> frozenset[str]:
        """The keys that choose or start something on the current screen."""
        return _CHOOSING_KEYS

    def ignore_strays(self) -> None:
        """Drop what chooses for a moment: the screen changes unasked, perhaps while someone types."""
        if self.pause_seconds and self._pause is None:
            self._pause = self.set_timer(self.pause_seconds, self.hear)
            self.add_class("deaf")

    def hear(self) -> None:
        """Accept all keys again."""
        if self._pause is not None:
            self._pause.stop()
            self._pause = None
        self.remove_class("deaf")

    def open_soon(self, asking: Coroutine[object, object, None]) -> None:
        """Do what shows something of its own; until that is there, keys are not for what it will hide."""
        self._is_opening = True
        self.run_worker(self._open(asking))

    async def _open(self, asking: Awaitable[None]) -> None:
        try:
            await asking
        finally:
            self._is_opening = False

    def opened(self) -> None:
        """Say that it is there."""
        self._is_opening = False

    async def on_event(self, event: events.Event) -> None:
        """Drop what was aimed at the previous screen."""
        if isinstance(event, events.MouseDown | events.MouseUp) and event.button > _LEFT_BUTTON:
            # They paste, or open menus; here they choose nothing.
            return
        if not self._is_stray(event):
            await super().on_event(event)

    def _is_stray(self, event: events.Event) -> bool:
        """Whether a person aimed this at the previous screen, as far as can be known."""
        if event.is_forwarded or not isinstance(
            event, events.Key | events.Paste | events.MouseDown | events.MouseUp
        ):
            return False
        if isinstance(event, events.Key) and event.key in _ALWAYS_HEARD:
            return False
        return self._is_opening or (self._pause is not None and self._chooses(event))

    def _chooses(self, event: events.Event) -> bool:
        if isinstance(event, events.Key):
            return event.key in self.choosing_keys
        return not isinstance(event, events.Paste)

"""Which keys and clicks count: one that was meant for what was there before must decide nothing."""

from collections.abc import Awaitable, Coroutine

from textual import events
from textual.app import App
from textual.timer import Timer

PAUSE_KEY = "ctrl+c"
_ALWAYS_HEARD = frozenset({PAUSE_KEY, "ctrl+z"})
"""What decides nothing."""
_LEFT_BUTTON = 1


class HearingApp(App[None]):
    """Passes over keys while what is shown is about to change, or has changed by itself."""

    pause_seconds = 0.5
    """How long no key may come before keys count again."""

    _pause: Timer | None = None
    _is_opening = False

    @property
    def is_deaf(self) -> bool:
        """Whether keys do not count now."""
        return self._pause is not None or self._is_opening

    def ignore_strays(self) -> None:
        """Let no key count until none came for a moment: something comes, or goes, while others are typed."""
        if self.pause_seconds and self._pause is None:
            self._pause = self.set_timer(self.pause_seconds, self.hear)
            self.add_class("deaf")

    def hear(self) -> None:
        """Let keys count again."""
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
        """Pass over what does not count."""
        if isinstance(event, events.MouseDown | events.MouseUp) and event.button > _LEFT_BUTTON:
            # They paste, or open menus; here they choose nothing.
            return
        if self._is_meant(event) and self.is_deaf:
            if self._pause is not None:
                self._pause.reset()
        else:
            await super().on_event(event)

    def _is_meant(self, event: events.Event) -> bool:
        """Whether it is a person's, for something on the screen."""
        if isinstance(event, events.Key):
            return not event.is_forwarded and event.key not in _ALWAYS_HEARD
        pressed = isinstance(event, events.Paste | events.MouseDown | events.MouseUp)
        return pressed and not event.is_forwarded

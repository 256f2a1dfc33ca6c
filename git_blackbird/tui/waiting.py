"""Questions that come up by themselves; they wait while a dialog is open or a text is being written."""

import asyncio

from textual.widgets import Input

from git_blackbird.tui.driver import InputGuard
from git_blackbird.tui.widgets.bars import StatusBar

_POLL_SECONDS = 0.1
_BAR = "waiting"


class WaitingQuestions:
    """The questions of one application that cannot open yet: a line on the screen names the first one."""

    def __init__(self, app: InputGuard) -> None:
        self._app = app
        self._waiting: list[object] = []
        self._is_wanted = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def open_first(self) -> None:
        """Let the first one open now, whatever else is open."""
        self._is_wanted = bool(self._waiting)

    async def wait(self, what: str) -> None:
        """Wait until a question may open; ``what`` names its subject in a few words."""
        question = object()
        self._waiting.append(question)
        try:
            while question is not self._waiting[0] or not (self._is_free or self._is_wanted):
                if question is self._waiting[0]:
                    self._show(what)
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._waiting.remove(question)
            self._is_wanted = False
            self._show("")

    @property
    def _is_free(self) -> bool:
        """Whether nothing is open that keys may be meant for."""
        app = self._app
        return len(app.screen_stack) == 1 and not app.is_opening and not isinstance(app.focused, Input)

    def _show(self, what: str) -> None:
        """Show on the topmost screen alone what waits and how it opens."""
        how = "it opens when this is closed" if self._app.is_writing else "a opens it"
        for screen in self._app.screen_stack:
            text = f"{what}: {how}" if what and screen is self._app.screen else ""
            bars = screen.query(f"#{_BAR}").results(StatusBar)
            bar = next(iter(bars), None)
            if bar is not None:
                bar.show_text(text)
            elif text and screen.is_mounted:
                _ = screen.mount(StatusBar(text, id=_BAR))

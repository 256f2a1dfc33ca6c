"""A terminal that may be suspended, resumed or closed at any moment, and a guard against stray input."""

import asyncio
import math
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeGuard

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, OptionList, TextArea

from git_blackbird.model.base.system import signals_to_program
from git_blackbird.tui.keys import does_something
from git_blackbird.tui.widgets.choices import Choices

PAUSE_KEY = "ctrl+c"
_ALWAYS_ACCEPTED = frozenset({PAUSE_KEY, "ctrl+z"})
"""They decide nothing."""
_CHOOSING_KEYS = frozenset({"enter", *"0123456789"})
_LEFT_BUTTON = 1
_TURNS = 100
"""Of the event loop, in which a key has its effects: to open a screen with a text takes a third of them."""


class InputGuard(App[None]):
    """Takes one key at a time, and drops keys that choose just after a screen opened by itself.

    What is typed while a key opens a screen waits for that: it goes into a text there, and nowhere else.
    """

    pause_seconds = 0.5
    """How long keys that choose are dropped after a screen came up unasked."""

    _pause: Timer | None = None
    _is_opening = False
    _effects: "asyncio.Task[None] | None" = None
    _stray_at = -math.inf

    def __init__(self, driver_class: type[Driver]) -> None:
        super().__init__(driver_class=driver_class)
        # Each with the screens that were open when it was read.
        self._typed: deque[tuple[events.Key | events.Paste, list[Screen[Any]]]] = deque()

    @property
    def is_writing(self) -> bool:
        """Whether letters that are typed now are a text."""
        return isinstance(self.focused, Input | TextArea)

    @property
    def is_opening(self) -> bool:
        """Whether an action is about to open a screen."""
        return self._is_opening

    @property
    def choosing_keys(self) -> frozenset[str]:
        """The keys that choose or start something on the current screen."""
        return _CHOOSING_KEYS

    def ignore_pending_input(self) -> None:
        """Drop keys that choose for a moment: the screen changes by itself, perhaps while someone types."""
        if self.pause_seconds and self._pause is None:
            self._pause = self.set_timer(self.pause_seconds, self.accept_input)
            self.add_class("ignoring-input")

    def accept_input(self) -> None:
        """Accept all keys again."""
        if self._pause is not None:
            self._pause.stop()
            self._pause = None
        self._stray_at = -math.inf
        self.remove_class("ignoring-input")

    def open_modal(self, action: Coroutine[object, object, None]) -> None:
        """Run an action that opens a screen; until that is open, input would go to the screen below."""
        self._is_opening = True
        self.run_worker(self._open(action))

    async def _open(self, action: Awaitable[None]) -> None:
        try:
            await action
        finally:
            self.modal_opened()

    def must_wait(self, event: events.Key | events.Paste) -> bool:
        """Whether what is typed cannot be answered yet; it waits for ``take_waiting``."""
        del event
        return False

    def take_waiting(self) -> None:
        """Take what was typed, one key after the other."""
        self._settle()

    def modal_opened(self) -> None:
        """Accept input for the screen that ``open_modal`` waited for."""
        if self._is_opening:
            self._is_opening = False
            self._settle()

    async def on_event(self, event: events.Event) -> None:
        """Let a key wait until the one before it has had its effects."""
        if isinstance(event, events.MouseDown | events.MouseUp) and event.button > _LEFT_BUTTON:
            # Terminals paste or open menus with them; they must not choose anything.
            return
        if not self._is_typed(event):
            await self._take(event)
        elif self._is_opening or self._effects is not None or self._typed or self.must_wait(event):
            self._typed.append((event, self.screen_stack))
        else:
            await self._take(event)
            self._settle()

    def _settle(self) -> None:
        """Let what is typed wait while messages about a key go from widget to widget, each in a turn."""
        if self._effects is None:
            self._effects = asyncio.create_task(self._wait_for_effects())

    async def _wait_for_effects(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._effects = None
        self.call_later(self._take_next)

    async def _take_next(self) -> None:
        """Take the next key that waits; drop it where a screen has opened since that takes no text."""
        is_ready = self._typed and not self._is_opening and self._effects is None
        if is_ready and not self.must_wait(self._typed[0][0]):
            event, screens = self._typed.popleft()
            if self.screen in screens or self.is_writing:
                await self._take(event)
            self._settle()

    @staticmethod
    def _is_typed(event: events.Event) -> TypeGuard[events.Key | events.Paste]:
        """Whether an event comes from the keyboard, and may have to wait."""
        if isinstance(event, events.Key):
            return not event.is_forwarded and event.key not in _ALWAYS_ACCEPTED
        return isinstance(event, events.Paste) and not event.is_forwarded

    async def _take(self, event: events.Event) -> None:
        """Drop input that was aimed at the previous screen."""
        is_stray = self._is_stray(event)
        if is_stray or self._is_dead_key(event):
            self._wait_longer(event)
        if not is_stray:
            await super().on_event(event)

    def _wait_longer(self, event: events.Event) -> None:
        """Begin the pause again: a key that is held down is let go first."""
        if self._pause is not None:
            self._pause.reset()
        self._stray_at = event.time

    def _is_dead_key(self, event: events.Event) -> bool:
        """Whether a letter has no meaning at a choice: more letters of a text may follow, and enter."""
        if not isinstance(event, events.Key) or event.is_forwarded or not self._is_at_choice:
            return False
        return event.is_printable and not does_something(self.screen, event.key)

    @property
    def _is_at_choice(self) -> bool:
        return isinstance(self.focused, OptionList | Choices)

    def _is_stray(self, event: events.Event) -> bool:
        """Whether input was probably aimed at the previous screen."""
        if event.is_forwarded or not isinstance(
            event, events.Key | events.Paste | events.MouseDown | events.MouseUp
        ):
            return False
        if isinstance(event, events.Key) and event.key in _ALWAYS_ACCEPTED:
            return False
        if self._is_opening or isinstance(event, events.Paste):
            return self._is_opening
        if self._pause is None:
            # When it was typed: on a busy machine it may be taken much later.
            is_soon = event.time < self._stray_at + self.pause_seconds
            return is_soon and self._is_at_choice and isinstance(event, events.Key) and event.key == "enter"
        return not isinstance(event, events.Key) or event.key in self.choosing_keys


_SETTLE_SECONDS = 0.3


class ResilientFile:
    """The output file; ignores that the terminal is gone.

    A failed write would end the driver's writer thread, and everything else would wait for it forever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()


def is_terminal() -> bool:
    """Whether standard input is a terminal that is still open."""
    return sys.__stdin__ is not None and os.isatty(sys.__stdin__.fileno())


class ResilientDriver(LinuxDriver):
    """Survives the loss of its terminal, and redraws once after it was stopped and continued."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._screen_app = app
        self._main_loop = asyncio.get_running_loop()
        # The caller has checked that standard output is a terminal; standard error may be a file. Textual
        # writes to the latter, and offers no choice: https://github.com/Textualize/textual/issues/5531
        self._file: Any = ResilientFile(sys.__stdout__ or sys.stdout)
        # A shell exported them once; the terminal may have been resized since.
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
        self._is_stopping = False
        self._has_released = False
        signal.signal(signal.SIGTSTP, self._handle_stop)
        signal.signal(signal.SIGCONT, self._handle_continue)

    @property
    def can_suspend(self) -> bool:
        """Whether a shell can resume this process; the session leader has none."""
        return os.getpgrp() != os.getsid(0)

    @contextmanager
    def lend_terminal(self) -> Iterator[None]:
        """Give the terminal to another program until it ends; nothing else happens meanwhile.

        Ctrl+C is that program's, and ctrl+z stops both: a shell waits for the whole group.
        """
        self.suspend_application_mode()
        self._has_released = True
        before = {
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_DFL),
            signal.SIGCONT: signal.signal(signal.SIGCONT, signal.SIG_IGN),
        }
        try:
            with signals_to_program():
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if isinstance(self._screen_app, InputGuard):
                # Before it is drawn again: no key is shown as usable that would be dropped.
                self._screen_app.ignore_pending_input()
            self._resume()

    def _handle_stop(self, *_: object) -> None:
        # In the event loop: the signal may arrive while the screen is being written.
        if self.can_suspend and not self._is_stopping:
            self._is_stopping = True
            self._main_loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        """Release the terminal, and stop the whole process group.

        A shell waits for its leader, which is git if this was called as ``git blackbird``.
        """
        self.suspend_application_mode()
        self._has_released = True
        os.killpg(os.getpgrp(), signal.SIGSTOP)

    def _handle_continue(self, *_: object) -> None:
        self._main_loop.call_soon_threadsafe(self._resume)

    def _resume(self) -> None:
        """Take the terminal again, unless it is gone: SIGCONT is also sent with SIGHUP."""
        # A second ctrl+z typed along with the first one must not stop this again.
        self._main_loop.call_later(_SETTLE_SECONDS, self._allow_stop)
        if not is_terminal():
            return
        if not self._has_released:
            # Stopped by SIGSTOP: another program may have changed the terminal since.
            self.suspend_application_mode()
        self._has_released = False
        self.resume_application_mode()
        if isinstance(self._screen_app, InputGuard):
            # What was typed at the shell is not meant for this screen.
            self._screen_app.call_later(self._screen_app.ignore_pending_input)
        # The shell has written over it.
        self._screen_app.call_later(self._screen_app.refresh, layout=True)

    def _allow_stop(self) -> None:
        self._is_stopping = False

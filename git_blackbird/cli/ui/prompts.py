"""Prompts on a terminal: a list, a line, a text of several lines in which ``@`` completes paths.

What others do meanwhile is written above the prompt, and what is at work stands in a line below it.
"""

import asyncio
import os
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from itertools import chain
from typing import Any

import questionary
from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions, is_done
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Window
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from questionary.prompts.common import InquirerControl

from git_blackbird.cli.ui.writer import STDOUT, Writer
from git_blackbird.controller.core.drafts import Draft
from git_blackbird.messages.display.dialogue import NOTHING_CHOSEN, UNDECIDED
from git_blackbird.messages.document import line, plain, width_of, wrapped
from git_blackbird.model.base.path_search import MENTION, PathIndex


class PathCompleter(Completer):
    """Offers paths for what follows the ``@``, likeliest first; loads them once."""

    def __init__(self, load: Callable[[], list[str]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._paths: PathIndex | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return the paths for the ``@`` word before the cursor, best first."""
        del complete_event
        mention = MENTION.search(document.current_line_before_cursor)
        if mention is None:
            return
        with self._lock:
            self._paths = self._paths or PathIndex(self._load())
        for path in chain.from_iterable(self._paths.matching(mention[1])):
            yield Completion(path, start_position=-len(mention[1]))


_ESCAPE_SECONDS = 0.1
_SEQUENCE_SECONDS = 0.4
_MOST_DIGITS = 9
# The mark before a question, and a blank before and behind it.
_MARK_COLUMNS = 3
_REFRESH_SECONDS = 1.0
HOW_TO_CHOOSE = "(arrows, j/k or digits; Enter chooses)"
_COMPOSING = "(Alt+Enter or Ctrl+S sends, Esc goes back, @ names files,\n  Ctrl+X Ctrl+E opens your editor)\n"


class LeftOpenError(Exception):
    """A person left the question open: by Ctrl+C, Ctrl+D or the end of input."""


class UnfinishedText(Enum):
    """How a text was left that is not to be sent yet."""

    BACK = "back"
    IN_EDITOR = "in editor"


class Prompts:
    """Puts questions on the terminal one at a time. Each raises LeftOpenError.

    ``at_work`` returns what is at work on other tasks, on one line; "" for nothing. The terminal is asked
    nothing itself: it is neither waited for nor written to by its answers.
    """

    def __init__(self, writer: Writer, at_work: Callable[[], str], *, colored: bool) -> None:
        self._writer = writer
        self._at_work = at_work
        self._open: tuple[Application[Any], asyncio.AbstractEventLoop] | None = None
        self._is_showing = False
        self._above: set[asyncio.Task[None]] = set()
        self._input: Input = create_input(sys.stdin)
        self._settings: dict[str, Any] = {
            "input": self._input,
            "output": terminal_output(),
            "color_depth": None if colored else ColorDepth.DEPTH_1_BIT,
        }

    def forget_typed(self) -> None:
        """Throw away what was typed before there was a question: it is no answer to it."""
        clear_typeahead(self._input)
        with suppress(termios.error, OSError):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    async def choose(
        self,
        message: str,
        choices: Sequence[questionary.Choice],
        start: object = None,
        letters: Sequence[str] = (),
    ) -> Any:
        """Let one of a list be chosen: arrows, j/k or digits move, Enter chooses.

        The cursor begins at the choice whose value is ``start``, else at the first; on ``UNDECIDED`` Enter
        chooses nothing, and neither does it once text was typed or pasted, which is meant for something else,
        or the digit of a choice that is not possible, until an arrow moves the cursor. A line below says so.
        ``letters`` move it to the choices of their places.

        Returns the value.
        """
        has_digits = len(choices) <= _MOST_DIGITS
        for number, choice in enumerate(choices, start=1):
            choice.title = line(str(choice.title)).text
            choice.disabled = choice.disabled and line(choice.disabled).text
            if choice.auto_shortcut:
                choice.shortcut_key = str(number) if has_digits else False
        question = questionary.select(
            _folded(message),
            choices,
            default=start,  # type: ignore[arg-type]  # any value of a choice
            use_shortcuts=has_digits,
            pointer=">",
            instruction=HOW_TO_CHOOSE if has_digits else "(arrows or j/k; Enter chooses)",
            **self._settings,
        )
        stray = _StrayKeys(
            question, {str(one.shortcut_key): str(one.title) for one in choices if one.disabled}
        )
        bindings = question.application.key_bindings
        if isinstance(bindings, KeyBindings):
            for key in ("escape", "c-d"):
                bindings.add(key, eager=True)(_leave)
            stray.bind(bindings, letters)
        return await self._run(question, lambda: stray.remark)

    async def read_line(self, message: str, draft: Draft | None) -> str | UnfinishedText:
        """Read one line that is not blank, beginning with the draft, which has what was typed at any time.

        Without a draft it may be blank, and is not kept. Esc goes back.
        """
        bindings = KeyBindings()
        bindings.add("escape")(_go_back)
        if draft is None:
            return await self._write(message, None, None, bindings)
        default = " ".join(draft.text.splitlines())
        return await self._write(message, draft, "an answer is required", bindings, default=default)

    async def compose(
        self, message: str, draft: Draft, suggestion: str, load_paths: Callable[[], list[str]]
    ) -> str | UnfinishedText:
        """Read a text of several lines, in which ``@`` completes paths.

        It begins with the draft, or else with ``suggestion``; the draft has what was typed at any time.
        """
        return await self._write(
            message,
            draft,
            "change request cannot be empty",
            _composing(),
            default=draft.text or suggestion,
            multiline=True,
            instruction=_COMPOSING,
            completer=ThreadedCompleter(PathCompleter(load_paths)),
            complete_while_typing=True,
        )

    async def _write(
        self, message: str, draft: Draft | None, missing: str | None, bindings: KeyBindings, **settings: Any
    ) -> str | UnfinishedText:
        """Read a text that a draft follows; ``missing`` is the complaint about a blank one, if any."""
        question = questionary.text(
            _folded(message),
            validate=lambda text: True if missing is None or text.strip() else missing,
            validate_while_typing=False,
            key_bindings=bindings,
            **settings,
            **self._settings,
        )

        def follow(buffer: Buffer) -> None:
            if draft is not None:
                draft.text = buffer.text

        question.application.current_buffer.on_text_changed += follow
        text: str | UnfinishedText = await self._run(question)
        return text

    def show_above(self) -> None:
        """Show above an open prompt what its writer keeps; what is at work may have changed too."""
        is_open = self._open
        if is_open is not None and not self._is_showing:
            self._is_showing = True
            is_open[1].call_soon_threadsafe(self._begin_showing)

    def _begin_showing(self) -> None:
        if self._open is None:
            self._is_showing = False
        else:
            showing = self._open[0].create_background_task(self._show_above())
            self._above.add(showing)
            showing.add_done_callback(self._above.discard)

    async def _show_above(self) -> None:
        async with in_terminal():
            self._is_showing = False
            await self._writer.let_through()

    async def _run(self, question: questionary.Question, remark: Callable[[], str] = str) -> Any:
        """Run one prompt without touching the signal handlers of the loop that it runs in."""
        application = question.application
        application.ttimeoutlen = _ESCAPE_SECONDS
        application.timeoutlen = _SEQUENCE_SECONDS
        application.refresh_interval = _REFRESH_SECONDS
        layout = application.layout
        layout.container = HSplit([layout.container, self._line_below(remark)])
        async with self._writer.held():
            self._open, self._is_showing = (application, asyncio.get_running_loop()), False
            # What came while the writer made room for the prompt found none to be shown above.
            if self._writer.has_kept:
                self.show_above()
            try:
                return await application.run_async(handle_sigint=False, set_exception_handler=False)
            except (KeyboardInterrupt, EOFError):
                raise LeftOpenError from None
            finally:
                self._open = None
                # One that began while the prompt ended would hold its writer for good.
                for showing in self._above:
                    showing.cancel()
                await asyncio.gather(*self._above, return_exceptions=True)

    def _line_below(self, remark: Callable[[], str]) -> ConditionalContainer:
        control = FormattedTextControl(lambda: [("class:instruction", remark() or self._at_work())])
        is_shown = ~is_done & Condition(lambda: bool(remark() or self._at_work()))
        return ConditionalContainer(Window(control, height=1, dont_extend_height=True), filter=is_shown)


def _folded(message: str) -> str:
    """Return a question on lines that end between words, as far as they do."""
    return "\n".join(plain(wrapped(line(message), max(1, _size().columns - _MARK_COLUMNS), width_of)))


def _composing() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-s")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("enter", filter=has_completions, eager=True)
    def _take(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if (matches := buffer.complete_state) is not None:
            buffer.apply_completion(matches.current_completion or matches.completions[0])
            buffer.insert_text(" ")

    @bindings.add("escape")
    def _back(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        else:
            event.app.exit(result=UnfinishedText.BACK)

    @bindings.add("c-x", "c-e")
    def _edit(event: KeyPressEvent) -> None:
        event.app.exit(result=UnfinishedText.IN_EDITOR)

    return bindings


class _StrayKeys:
    """Keys at a list that choose nothing: other text, digits of choices that are not possible, Enter at once.

    ``blocked`` has the labels of those choices by their digits.
    """

    def __init__(self, question: questionary.Question, blocked: Mapping[str, str]) -> None:
        controls = question.application.layout.find_all_controls()
        self._lists = [one for one in controls if isinstance(one, InquirerControl)]
        self._blocked = blocked
        self._stray = ""
        self._has_entered = False

    @property
    def remark(self) -> str:
        """What to say of them, as long as Enter chooses nothing because of them."""
        return self._stray or (NOTHING_CHOSEN if self._has_entered and self._is_undecided else "")

    @property
    def _is_undecided(self) -> bool:
        return any(one.get_pointed_at().title == UNDECIDED.label for one in self._lists)

    def bind(self, bindings: KeyBindings, letters: Sequence[str]) -> None:
        """Take keys without a meaning, those that end it, and letters that have one."""
        bindings.add(Keys.Any)(self._note)
        bindings.add(Keys.BracketedPaste)(self._note)
        is_refused = Condition(lambda: bool(self._stray) or self._is_undecided)
        bindings.add("enter", filter=is_refused, eager=True)(self._stay)
        for key, move in (("up", InquirerControl.select_previous), ("down", InquirerControl.select_next)):
            bindings.add(key, eager=True)(partial(self._move, move))

        for place, letter in enumerate(letters):
            bindings.add(letter)(partial(self._point, place))

    def _point(self, place: int, event: KeyPressEvent) -> None:
        del event
        for one in self._lists:
            one.pointed_at = place

    def _note(self, event: KeyPressEvent) -> None:
        if event.data.strip() and (event.data.isprintable() or len(event.data) > 1):
            blocked = "" if self._stray else self._blocked.get(event.data)
            self._stray = "no choice: press an arrow key before Enter; Ctrl+C leaves"
            if blocked:
                self._stray = f"{blocked} is not possible: an arrow key moves, then Enter chooses"

    def _stay(self, event: KeyPressEvent) -> None:
        del event
        self._has_entered = True

    def _move(self, move: Callable[[InquirerControl], None], event: KeyPressEvent) -> None:
        del event
        self._stray = ""
        for one in self._lists:
            move(one)
            while not one.is_selection_valid():
                move(one)


def _leave(event: KeyPressEvent) -> None:
    event.app.exit(exception=LeftOpenError())


def _go_back(event: KeyPressEvent) -> None:
    event.app.exit(result=UnfinishedText.BACK)


def terminal_output() -> Vt100_Output:
    """Return standard output for prompts, which asks the terminal nothing."""
    return Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)


def _size() -> Size:
    try:
        columns, rows = os.get_terminal_size(STDOUT)
    except OSError:
        columns, rows = 0, 0
    # Some terminals give no size; a prompt needs one all the same.
    return Size(rows=rows or 24, columns=columns or 80)

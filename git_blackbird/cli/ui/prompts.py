"""Prompts on a terminal: a list, a line, a text of several lines in which ``@`` completes paths."""

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, TypeVar

import click
import questionary
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from git_blackbird.cli.ui.writer import STDOUT
from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.model.base.path_search import MENTION, PathIndex
from git_blackbird.model.base.sanitize import clean_line


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
        wanted = mention[1]
        for path in chain.from_iterable(self._known().matching(wanted)):
            yield Completion(path, start_position=-len(wanted))

    def _known(self) -> PathIndex:
        with self._lock:
            if self._paths is None:
                self._paths = PathIndex(self._load())
            return self._paths


T = TypeVar("T")
_ESCAPE_SECONDS = 0.1
_SEQUENCE_SECONDS = 0.4
_DIGITS = "123456789"
_COMPOSING = "(Alt+Enter or Ctrl+S sends, Esc goes back, @ names files,\n  Ctrl+X Ctrl+E opens your editor)\n"


@dataclass(frozen=True)
class PromptItem:
    """One line of a list; ``obstacle`` says why it cannot be chosen."""

    value: object
    title: str
    blocked_reason: str | None = None


class UnfinishedText(Enum):
    """How a text was left that is not to be sent yet."""

    BACK = "back"
    IN_EDITOR = "in editor"


class Prompts:
    """Puts questions on the terminal one at a time; Ctrl+C, Ctrl+D and the end of input leave them open.

    The terminal is asked nothing itself (W26): it is neither waited for nor written to by its answers.
    """

    def __init__(self, *, colored: bool) -> None:
        self._input: Input = create_input(sys.stdin)
        self._looks: dict[str, Any] = {
            "input": self._input,
            "output": Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False),
            "color_depth": None if colored else ColorDepth.DEPTH_1_BIT,
        }

    def forget_typed(self) -> None:
        """Throw away what was typed before there was a question: it is no answer to it."""
        clear_typeahead(self._input)
        with suppress(termios.error, OSError):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    async def choose(self, message: str, offers: Sequence[PromptItem], start: object = None) -> Any:
        """Let one of a list be chosen: arrows, j/k or digits move, Enter chooses.

        The cursor begins at the offer whose value is ``start``, else at the first. Gives the offer's value,
        or Unanswered.
        """
        has_digits = len(offers) <= len(_DIGITS)
        question = questionary.select(
            message,
            [_choice(offer, _DIGITS[index] if has_digits else None) for index, offer in enumerate(offers)],
            default=start,  # type: ignore[arg-type]  # any value of an offer
            use_shortcuts=has_digits,
            pointer=">",
            instruction=f"(arrows{', j/k or digits' if has_digits else ' or j/k'}; Enter chooses)",
            **self._looks,
        )
        bindings = question.application.key_bindings
        if isinstance(bindings, KeyBindings):
            bindings.add("escape", eager=True)(_leave)
            bindings.add("c-d", eager=True)(_leave)
        return await _run(question)

    async def read_line(self, message: str, draft: Draft) -> str | UnfinishedText | Unanswered:
        """Read one line that is not blank, beginning with the draft, which has what was typed at any time.

        Esc goes back.
        """
        bindings = KeyBindings()
        bindings.add("escape")(_go_back)
        question = questionary.text(
            message,
            default=" ".join(draft.text.splitlines()),
            validate=lambda text: True if text.strip() else "an answer is required",
            validate_while_typing=False,
            key_bindings=bindings,
            **self._looks,
        )
        answer: str | UnfinishedText | Unanswered = await _run(_kept(question, draft))
        return answer

    async def compose(
        self, message: str, draft: Draft, suggestion: str, load_paths: Callable[[], list[str]]
    ) -> str | UnfinishedText | Unanswered:
        """Read a text of several lines, in which ``@`` completes paths.

        It begins with the draft, or else with ``suggestion``; the draft has what was typed at any time.
        """
        question = questionary.text(
            message,
            default=draft.text or suggestion,
            multiline=True,
            instruction=_COMPOSING,
            completer=ThreadedCompleter(PathCompleter(load_paths)),
            complete_while_typing=True,
            validate=lambda text: True if text.strip() else "change request cannot be empty",
            validate_while_typing=False,
            key_bindings=_composing(),
            **self._looks,
        )
        text: str | UnfinishedText | Unanswered = await _run(_kept(question, draft))
        return text


def _kept(question: questionary.Question, draft: Draft) -> questionary.Question:
    """Have a draft follow what is typed."""

    def follow(buffer: Buffer) -> None:
        draft.text = buffer.text

    question.application.current_buffer.on_text_changed += follow
    return question


def _choice(offer: PromptItem, digit: str | None) -> questionary.Choice:
    return questionary.Choice(
        clean_line(offer.title), offer.value, disabled=offer.blocked_reason, shortcut_key=digit or False
    )


def _composing() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-s")
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

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


def _leave(event: KeyPressEvent) -> None:
    event.app.exit(result=Unanswered())


def _go_back(event: KeyPressEvent) -> None:
    event.app.exit(result=UnfinishedText.BACK)


async def _run(question: questionary.Question) -> Any:
    """Run one prompt without touching the signal handlers of the loop that it runs in."""
    question.application.ttimeoutlen = _ESCAPE_SECONDS
    question.application.timeoutlen = _SEQUENCE_SECONDS
    try:
        return await question.application.run_async(handle_sigint=False, set_exception_handler=False)
    except (KeyboardInterrupt, EOFError):
        return Unanswered()


def _size() -> Size:
    try:
        columns, rows = os.get_terminal_size(STDOUT)
    except OSError:
        columns, rows = 0, 0
    # Some terminals give no size; a prompt needs one all the same.
    return Size(rows=rows or 24, columns=columns or 80)


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_MANY = 4096


def confirm(question: str, *, default: bool, err: bool = False) -> bool:
    """Ask until the answer is yes, no, or empty for the default.

    Raises click.Abort for Ctrl+C and at the end of input.
    """
    prompt = f"{question} [{'Y/n' if default else 'y/N'}]: "
    answers = _ANSWERS | {"": default}
    try:
        while True:
            click.echo(prompt, nl=False, err=err)
            answer = answers.get(_read_line().strip().lower())
            if answer is not None:
                return answer
            click.echo("Error: invalid input", err=err)
    except KeyboardInterrupt:
        raise click.Abort from None


def _read_line() -> str:
    """Read a line once there is one.

    ``input`` misses a signal that comes just before it blocks: its handler would run after the next key. A
    terminal that is readable has a whole line.
    """
    with _signal_pipe() as woken:
        while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
            # The handlers of these signals have run, and raised nothing.
            os.read(woken, _MANY)
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line


@contextmanager
def _signal_pipe() -> Iterator[int]:
    """Yield a descriptor that is readable as soon as a signal has come for which there is a handler."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(former)
        os.close(reader)
        os.close(writer)

"""The user interface of plain lines, for pipes, simple terminals and unattended calls, and what it reads."""

import asyncio
import os
import select
import shutil
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from git_blackbird.cli.ui.base import AskingUI, OpenDraft
from git_blackbird.cli.ui.writer import STDERR, STDOUT, Writer
from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.checkpoint import TITLE, fit_checkpoint, render_checkpoint
from git_blackbird.messages.display.dialogue import (
    Confirm,
    PlanChoice,
    PlanPanel,
    PlanReply,
    Unsent,
    WriteRequest,
    answers_to,
    offers_of,
)
from git_blackbird.messages.display.events import (
    render_event,
    render_step,
    render_verdicts,
)
from git_blackbird.messages.display.format import question_line
from git_blackbird.messages.document import Line, Span, block, width_of
from git_blackbird.messages.incoming.questions import parse_answer, take_answer
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.change.decision import Reply, parse_choice
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.agent_io import ProgressKind
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import (
    Decided,
    Event,
    Level,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunProgress,
)

_CHUNK = 65536
_MAX_LINE = 1024 * 1024
_STDIN = 0


class StdinReader:
    """Reads in a thread that is never waited for: a cancelled question leaves nothing hanging.

    Reading begins with the first question and goes no further than asked. What was typed on a terminal
    before a question was put is no answer to it; what came from a pipe or a file is.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._rest = b""
        # Without a standard input its number may belong to any other file by now.
        self._ended = sys.stdin is None
        self._wanted = threading.Semaphore(0)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_reading = False
        self._thread: threading.Thread | None = None

    @property
    def is_terminal(self) -> bool:
        return sys.stdin is not None and sys.stdin.isatty()

    def begin(self) -> None:
        if self.is_terminal:
            while not self._chunks.empty():
                self._take(self._chunks.get_nowait())
            self._lines.clear()

    async def line(self) -> str | None:
        """Return the next line without its end; None once there are no more."""
        while not self._lines:
            if self._ended:
                return None
            if not self._is_reading:  # as it still does for a question that was cancelled
                self._start_reading()
            self._take(await self._chunks.get())
        return self._lines.popleft()

    async def has_ended(self) -> bool:
        """Whether nothing more can come, as from ``/dev/null``; a pipe that is open may bring more."""
        if not (self._lines or self._ended or self._is_reading) and select.select([_STDIN], [], [], 0)[0]:
            self._start_reading()
            self._take(await self._chunks.get())
        return self._ended and not self._lines

    def _start_reading(self) -> None:
        self._is_reading = True
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(
                target=self._read, args=(loop,), name="standard input", daemon=True
            )
            self._thread.start()
        self._wanted.release()

    def _take(self, data: bytes) -> None:
        self._is_reading = False
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(_text(line) for line in lines)
        self._ended = not data or len(self._rest) > _MAX_LINE
        if self._ended and self._rest:
            self._lines.append(_text(self._rest[:_MAX_LINE]))
            self._rest = b""

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            self._wanted.acquire()
            data = b""
            with suppress(OSError):
                data = os.read(_STDIN, _CHUNK)
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, data)
            except RuntimeError:
                # The loop is closed: the program is about to end and asks no more.
                return


def _text(line: bytes) -> str:
    return line.decode(errors="replace").removesuffix("\r")


CANCEL = "/cancel"
# The title, two that are blank, and the prompt.
_LINES_AROUND = 4
_MAX_MISTAKES = 100


class EndOfInput(Exception):  # noqa: N818  # a state of the input, as EOFError is
    """Standard input is at its end."""


class PlainUI(AskingUI):
    """Prints a line per event, and asks by number and label when somebody may be there to answer."""

    def __init__(self, workspace: Workspace, writer: Writer, *, asks: bool, wants_output: bool) -> None:
        super().__init__(workspace, writer, colored=False, wants_output=wants_output)
        self._asks = self.shows_checkpoints = asks
        # The task that is asked about, before each prompt.
        self._asked = ""
        self._input = StdinReader()
        self.is_on_terminal = asks and self._input.is_terminal and sys.stdout.isatty()

    def show(self, event: Event) -> None:
        """Print what happens; standard error gets what is wrong."""
        match event:
            case RunOutput():
                self._printer(event).show(event)
            case Decided():
                self._drafts.settle(event)
                self._print_line(event)
            case RunProgress() if self.wants_output:
                self._printer(event).follow(event.progress)
            case RunProgress() if event.progress.kind is ProgressKind.WAITS:
                self._print(f"{event.task_id}: {render_step(event.progress)}")
            case ReviewsEnded() if self._asks and event.run.is_pending:
                self._print(render_verdicts(event))
            case RunEnded() if self.wants_output:
                self._finish_printing(event.run)
                self._print_line(event)
            case _:
                self._print_line(event)

    def _print_line(self, event: Event) -> None:
        text = render_event(event, shows_checkpoints=self.shows_checkpoints)
        if text is not None:
            is_fault = isinstance(event, Notice) and event.weight is not Level.INFO
            self._writer.put(f"{text}\n", STDERR if is_fault else STDOUT)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask question by question; None at the end of input. Where nobody answers, they are shown."""
        who = "The planner" if task.id == PLANNING else f"{task.id} - {task.title}"
        self._print(f"{who} asks:")
        if not self._asks or await self._is_unattended():
            self._print(*(f"  {question_line(question)}" for question in questions))
            return None
        self._input.begin()
        self._asked = self._about(task.id)
        try:
            return {question.id: await self._answer_one(task.id, question) for question in questions}
        except EndOfInput:
            return None

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        """Ask at a terminal; what comes from a pipe is no agreement."""
        if not self._asks or not self._input.is_terminal:
            return None
        self._input.begin()
        self._asked = ""
        self._print("", *step.remarks)
        try:
            return await self._confirms(step)
        except EndOfInput:
            return Unanswered()

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Show the checkpoint and ask; None at the end of input."""
        if not self._asks:
            return None
        self._input.begin()
        self._asked = self._about(checkpoint.task.id)
        self._print("", TITLE, *self._fitted(checkpoint), "")
        try:
            return await self._decide(checkpoint)
        except EndOfInput:
            return None

    def _fitted(self, checkpoint: Checkpoint) -> list[Line]:
        """Return all of a checkpoint, or, where a person sees it on a terminal, what fits there."""
        if not self._input.is_terminal or not sys.stdout.isatty():
            return render_checkpoint(checkpoint)
        size = shutil.get_terminal_size()
        rows = size.lines - len(offers_of(checkpoint)) - _LINES_AROUND
        return fit_checkpoint(checkpoint, rows, lambda line: -(-width_of(line.text) // size.columns) or 1)[0]

    async def _is_unattended(self) -> bool:
        return not self._input.is_terminal and await self._input.has_ended()

    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        if await self._is_unattended():
            # Choices are for somebody who may choose.
            raise EndOfInput
        self._print(*(offer.text for offer in offers_of(checkpoint) if offer.choice is not None))
        for _ in range(_MAX_MISTAKES):
            choice = parse_choice(await self._line("Select option: "), checkpoint.offers())
            if choice is None:
                self._print("invalid selection; try again")
            elif not checkpoint.is_possible(choice):
                self._print(f"not possible: {checkpoint.blocked_reason(choice) or ''}; try again")
            else:
                return choice
        # A pipe that says the same for ever is nobody.
        raise EndOfInput

    def _unsent(self, run: Run) -> Unsent:
        """Return what is not sent; what a pipe answers knows of none."""
        return super()._unsent(run) if self._input.is_terminal else Unsent()

    async def _confirms(self, step: Confirm) -> bool:
        return await self._agrees(step.question)

    async def _agrees(self, question: str) -> bool:
        return (await self._line(f"{question} [y/N] ")).strip().casefold() in {"y", "yes"}

    async def _show_diff(self, pair: Trees, run: Run) -> None:
        del run
        self._print(*block(full_diff(self._workspace, pair)))

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        """Show the plan, and ask at a terminal: what comes from a pipe accepts nothing."""
        self._print("", *panel.lines, "")
        if not self._asks or not self._input.is_terminal:
            return None
        self._input.begin()
        self._asked = ""
        try:
            return await self._review_plan(panel)
        except EndOfInput:
            return Unanswered()

    async def _choose_for_plan(self, panel: PlanPanel) -> PlanChoice:
        self._print(*(offer.text for offer in panel.offers))
        for _ in range(_MAX_MISTAKES):
            offer = panel.find(await self._line("Select option: "))
            if offer is not None and offer.blocked_reason is None:
                return offer.choice
            self._print("invalid selection; try again")
        raise EndOfInput

    async def _request(self, about: str, draft: OpenDraft, step: WriteRequest) -> str | None:  # noqa: ARG002  # it says whom it asks about
        """Read a change request. At a terminal, its lines are kept as a draft."""
        if not self._input.is_terminal:
            return await self._read_request(step, None)
        return await self._write_request(step, draft())

    async def _reason(self, title: str) -> str:
        """Ask a person at a terminal; what comes from a pipe is the next choice."""
        return await self._line(f"{title}: ") if self._input.is_terminal else ""

    async def _write_request(self, step: WriteRequest, draft: Draft) -> str | None:
        try:
            if draft.text.strip():
                self._print("You wrote before:", *block(draft.text))
                if await self._agrees("Send it?"):
                    return draft.text
            text = await self._read_request(step, draft)
            return text if text is None or await self._is_meant(draft, step) else None
        finally:
            self._save(draft)

    async def _read_request(self, step: WriteRequest, draft: Draft | None) -> str | None:
        """Read lines up to a blank one; None when they were given up.

        Where there is a suggestion, a blank first line takes it as it is.
        """
        for _ in range(_MAX_MISTAKES):
            self._print(f"Change request (end with a blank line, {CANCEL} to go back):")
            if step.source and step.suggestion is not None:
                self._print(f"A blank first line asks for {step.source}.")
            lines = await self._lines(draft)
            if lines is None:
                return None
            if lines:
                return "\n".join(lines)
            if step.source and step.suggestion is not None:
                self._print(f"asked for {step.source}")
                return step.suggestion
            self._print("change request cannot be empty")
        raise EndOfInput

    async def _lines(self, draft: Draft | None) -> list[str] | None:
        """Read lines up to a blank one; None when they were given up.

        Input that ends before may have been cut off: nothing is done with it, and a line says so.
        """
        lines: list[str] = []
        try:
            while (line := await self._line("")).strip():
                if line.strip() == CANCEL:
                    return None
                lines.append(line)
                if draft is not None:
                    draft.text = "\n".join(lines)
        except EndOfInput:
            if lines:
                self._print("not recorded: the input ended before the blank line that ends a change request")
            raise
        return lines

    async def _answer_one(self, task_id: TaskId, question: Question) -> str:
        """Ask one question. At a terminal the answer is kept as a draft, and offered again."""
        self._print(*block(f"{question.id}: {question.prompt}"))
        offers = answers_to(question)
        self._print(*(f"{number}) {offer.label}" for number, offer in enumerate(offers, start=1)))
        draft = self._drafts.answer(task_id, question) if self._input.is_terminal else None
        kept = "" if draft is None else draft.text.strip()
        if kept:
            self._print(f"You answered before: {kept} (Enter takes it again)")
        for _ in range(_MAX_MISTAKES):
            try:
                answer = await self._read_answer(question, str(len(offers)) if offers else None, kept)
            except RequestError as error:
                self._print(error.message)
            else:
                if draft is not None:
                    draft.replace(answer)
                return answer
        raise EndOfInput

    async def _read_answer(self, question: Question, other: str | None, kept: str) -> str:
        """Read an answer; ``other`` is the number of the line for another one. Raises RequestError."""
        text = await self._line("Answer: ")
        if text.strip() == other and other not in question.options:
            return take_answer(question, await self._line("Your answer: "))
        return parse_answer(question, text if text.strip() else kept)

    async def _line(self, prompt: str) -> str:
        self._writer.put(Span(prompt and f"{self._asked}{prompt}").text)
        async with self._writer.held():
            line = await self._input.line()
        if line is None:
            self._writer.put("\n")
            raise EndOfInput
        if not self._input.is_terminal:
            # What a pipe answers is not echoed by a terminal; shown, the exchange can be read afterwards.
            self._print(line)
        return line

"""The user interface of plain lines: for pipes, simple terminals, and unattended calls."""

from collections.abc import Mapping

from git_blackbird.cli.ui.base import STDERR, STDOUT, AskingUI, Writer
from git_blackbird.cli.ui.stdin import StdinReader
from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.checkpoint import TITLE, render_checkpoint
from git_blackbird.messages.display.events import render_ask, render_event, render_rights, render_verdicts
from git_blackbird.messages.incoming.questions import OTHER, parse_answer, take_answer
from git_blackbird.messages.outgoing.prompts import suggestion_source
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.agent_io import RightsQuestion
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.decision import APPROVE_ANYWAY, Choice, Reply, parse_choice
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Question
from git_blackbird.model.views import (
    Checkpoint,
    Decided,
    Event,
    Level,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunProgress,
)

CANCEL = "/cancel"
_MAX_MISTAKES = 100


class EndOfInput(Exception):  # noqa: N818  # a state of the input, as EOFError is
    """Standard input is at its end."""


class PlainUI(AskingUI):
    """Prints a line per event, and asks by number and label when somebody may be there to answer."""

    def __init__(self, workspace: Workspace, writer: Writer, *, asks: bool, wants_output: bool) -> None:
        super().__init__(workspace, writer, colored=False, wants_output=wants_output)
        self._asks = asks
        self._input = StdinReader()

    def show(self, event: Event) -> None:
        """Print what happens; standard error gets what is wrong."""
        match event:
            case RunOutput():
                self._agent.show(event)
            case Decided():
                self._drafts.settle(event)
                self._print_line(event)
            case RunProgress() if self.wants_output:
                self._agent.follow(event.progress)
            case ReviewsEnded() if self._asks and event.run.is_pending:
                self._print(render_verdicts(event))
            case RunEnded() if self.wants_output:
                self._agent.finish(event.run)
                self._print_line(event)
            case _:
                self._print_line(event)

    def _print_line(self, event: Event) -> None:
        text = render_event(event)
        if text is not None:
            is_fault = isinstance(event, Notice) and event.weight is not Level.INFO
            self._writer.put(f"{text}\n", STDERR if is_fault else STDOUT)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask question by question; None at the end of input."""
        if not self._asks:
            return None
        self._input.begin()
        self._print(f"{task.id} - {clean_line(task.title)} asks:")
        try:
            return {question.id: await self._answer_one(question) for question in questions}
        except EndOfInput:
            return None

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask at a terminal; what comes from a pipe is no agreement."""
        if not self._asks or not self._input.is_terminal:
            return None
        self._input.begin()
        self._print("", *render_rights(question))
        try:
            return await self._confirms(render_ask(question))
        except EndOfInput:
            return False

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Show the checkpoint and ask; None at the end of input."""
        if not self._asks:
            return None
        self._input.begin()
        self._print("", TITLE, *(line.text for line in render_checkpoint(checkpoint)), "")
        try:
            return await self._decide(checkpoint)
        except EndOfInput:
            return None

    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        for number, offer in enumerate(checkpoint.offers(), start=1):
            obstacle = clean_line(checkpoint.blocked_reason(offer.choice) or "")
            self._print(f"{number}) {offer.label}" + (f" (not possible: {obstacle})" if obstacle else ""))
        for _ in range(_MAX_MISTAKES):
            choice = parse_choice(await self._line("Select option: "), checkpoint.offers())
            if choice is None:
                self._print("invalid selection; try again")
            elif not checkpoint.is_possible(choice):
                self._print(f"not possible: {clean_line(checkpoint.blocked_reason(choice) or '')}; try again")
            else:
                return choice
        # A pipe that says the same for ever is nobody.
        raise EndOfInput

    async def _confirms_branch(self) -> bool:
        return await self._confirms(f"{APPROVE_ANYWAY}?")

    async def _confirms(self, question: str) -> bool:
        return (await self._line(f"{question} [y/N] ")).strip().casefold() in {"y", "yes"}

    def _show_diff(self, pair: TreePair) -> None:
        self._print(strip_controls(full_diff(self._workspace, pair)).rstrip("\n"))

    async def _request(self, checkpoint: Checkpoint) -> str | None:
        """Read a change request. At a terminal, its lines are kept as a draft."""
        if not self._input.is_terminal:
            return await self._read_request(checkpoint, None)
        draft = self._drafts.message(checkpoint.run.task_id)
        try:
            if draft.text.strip():
                self._print("You wrote before:", strip_controls(draft.text))
                if await self._confirms("Send it?"):
                    return draft.text
            return await self._read_request(checkpoint, draft)
        finally:
            self._save(draft)

    async def _read_request(self, checkpoint: Checkpoint, draft: Draft | None) -> str | None:
        """Read lines up to a blank one; None when they were given up.

        Where there is a suggestion, a blank first line takes it as it is.
        """
        suggestion = checkpoint.suggested_request
        source = suggestion_source(checkpoint.run, checkpoint.merged)
        for _ in range(_MAX_MISTAKES):
            self._print(f"Change request (end with a blank line, {CANCEL} to go back):")
            if suggestion is not None:
                self._print(f"A blank first line asks for {source}.")
            lines = await self._lines(draft)
            if lines is None:
                return None
            if lines:
                return "\n".join(lines)
            if suggestion is not None:
                self._print(f"asked for {source}")
                return suggestion
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

    async def _answer_one(self, question: Question) -> str:
        self._print(f"{clean_line(question.id)}: {strip_controls(question.prompt)}")
        choices = [*map(clean_line, question.options), OTHER] if question.options else []
        self._print(*(f"{number}) {choice}" for number, choice in enumerate(choices, start=1)))
        other = str(len(choices)) if choices else None
        for _ in range(_MAX_MISTAKES):
            text = await self._line("Answer: ")
            try:
                if text.strip() == other and other not in question.options:
                    return take_answer(question, await self._line("Your answer: "))
                return parse_answer(question, text)
            except RequestError as error:
                self._print(clean_line(error.message))
        raise EndOfInput

    async def _line(self, prompt: str) -> str:
        self._writer.put(prompt)
        line = await self._input.line()
        if line is None:
            self._writer.put("\n")
            raise EndOfInput
        if not self._input.is_terminal:
            # What a pipe answers is not echoed by a terminal; shown, the exchange can be read afterwards.
            self._writer.put(f"{clean_line(line)}\n")
        return line

"""The user interface of plain lines: for pipes, simple terminals, and unattended calls."""

from collections.abc import Mapping

from git_blackbird.cli.ui.base import AgentPrinter, BaseUI
from git_blackbird.cli.ui.stdin import StdinReader
from git_blackbird.cli.ui.writer import STDERR, STDOUT, Writer
from git_blackbird.controller.core.drafts import Draft, Drafts
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.messages.display.checkpoint import TITLE, render_checkpoint
from git_blackbird.messages.display.events import render_ask, render_event, render_rights, render_verdicts
from git_blackbird.messages.incoming.questions import OTHER, parse_answer, take_answer
from git_blackbird.messages.outgoing.prompts import suggestion_source
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.agent_io import RightsQuestion
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.decision import (
    APPROVE_ANYWAY,
    APPROVES,
    VIEWS,
    Choice,
    Decision,
    Reply,
    parse_choice,
    reply_of,
)
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState, Question
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

CANCEL = "/cancel"
_MAX_MISTAKES = 100


class EndOfInput(Exception):  # noqa: N818  # a state of the input, as EOFError is
    """Standard input is at its end."""


class PlainUI(BaseUI):
    """Prints a line per event, and asks by number and label when somebody may be there to answer."""

    def __init__(self, workspace: Workspace, writer: Writer, *, asks: bool, wants_output: bool) -> None:
        super().__init__(wants_output=wants_output)
        self._workspace = workspace
        self._drafts = Drafts(workspace)
        self._writer = writer
        self._asks = asks
        self._input = StdinReader()
        self._agent = AgentPrinter(writer, colored=False)

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
                self._say(render_verdicts(event))
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
        self._say(f"{task.id} - {clean_line(task.title)} asks:")
        try:
            return {question.id: await self._answer_one(question) for question in questions}
        except EndOfInput:
            return None

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask at a terminal; what comes from a pipe is no agreement."""
        if not self._asks or not self._input.is_terminal:
            return None
        self._input.begin()
        self._say("", *render_rights(question))
        try:
            answer = await self._line(f"{render_ask(question)} [y/N] ")
        except EndOfInput:
            return False
        return answer.strip().casefold() in {"y", "yes"}

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Show the checkpoint and ask; None at the end of input."""
        if not self._asks:
            return None
        self._input.begin()
        self._say("", TITLE, *(line.text for line in render_checkpoint(checkpoint)), "")
        try:
            return await self._decide(checkpoint)
        except EndOfInput:
            return None

    async def _decide(self, checkpoint: Checkpoint) -> Reply:
        while True:
            choice = await self._choose(checkpoint)
            if choice in VIEWS:
                self._show_diff(checkpoint.pair_of(choice))
            elif choice is Choice.REQUEST_CHANGES:
                feedback = await self._request(checkpoint)
                if feedback is not None:
                    return Decision(DecisionState.CHANGES_REQUESTED, feedback)
            elif choice not in APPROVES or await self._confirms_branch(checkpoint):
                return reply_of(choice, branch_confirmed=checkpoint.other_branch is not None)

    async def _confirms_branch(self, checkpoint: Checkpoint) -> bool:
        """Ask whether to approve on another branch than the run's."""
        if checkpoint.other_branch is None:
            return True
        self._say(f"Careful: {checkpoint.other_branch.text}.")
        return (await self._line(f"{APPROVE_ANYWAY}? [y/N] ")).strip().lower() in {"y", "yes"}

    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        self._say(*_offers(checkpoint))
        for _ in range(_MAX_MISTAKES):
            choice = parse_choice(await self._line("Select option: "), checkpoint.offers())
            if choice is None:
                self._say("invalid selection; try again")
            elif not checkpoint.is_possible(choice):
                self._say(f"not possible: {clean_line(checkpoint.blocked_reason(choice) or '')}; try again")
            else:
                return choice
        # A pipe that says the same for ever is nobody.
        raise EndOfInput

    def _show_diff(self, pair: TreePair | None) -> None:
        if pair is None:
            return
        try:
            self._say(strip_controls(full_diff(self._workspace, pair)).rstrip("\n"))
        except BlackbirdError as error:
            self._say(f"no diff can be shown: {clean_line(error.message)}")

    async def _request(self, checkpoint: Checkpoint) -> str | None:
        """Read a change request; None when it was given up. At a terminal, its lines are kept as a draft."""
        if not self._input.is_terminal:
            return await self._read_request(checkpoint, None)
        draft = self._drafts.message(checkpoint.run.task_id)
        try:
            return await self._continue_request(draft) or await self._read_request(checkpoint, draft)
        finally:
            draft.save()
            if draft.fault is not None:
                self._say(f"warning: what you wrote could not be saved: {draft.fault.message}")

    async def _continue_request(self, draft: Draft) -> str | None:
        """Offer what was written before; None where there is nothing, or it is not wanted."""
        if not draft.text.strip():
            return None
        self._say("You wrote before:", strip_controls(draft.text))
        if (await self._line("Send it? [y/N] ")).strip().lower() in {"y", "yes"}:
            return draft.text
        return None

    async def _read_request(self, checkpoint: Checkpoint, draft: Draft | None) -> str | None:
        """Read lines up to a blank one; None when they were given up.

        Where there is a suggestion, a blank first line takes it as it is.
        """
        suggestion = checkpoint.suggested_request
        source = suggestion_source(checkpoint.run, checkpoint.merged)
        for _ in range(_MAX_MISTAKES):
            self._say(f"Change request (end with a blank line, {CANCEL} to go back):")
            if suggestion is not None:
                self._say(f"A blank first line asks for {source}.")
            lines = await self._lines(draft)
            if lines is None:
                return None
            if lines:
                return "\n".join(lines)
            if suggestion is not None:
                self._say(f"asked for {source}")
                return suggestion
            self._say("change request cannot be empty")
        raise EndOfInput

    async def _lines(self, draft: Draft | None) -> list[str] | None:
        """Read lines up to a blank one; None when they were given up.

        Input that ends before may have been cut off: nothing is done with it, and that is said.
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
                self._say("not recorded: the input ended before the blank line that ends a change request")
            raise
        return lines

    async def _answer_one(self, question: Question) -> str:
        self._say(f"{clean_line(question.id)}: {strip_controls(question.prompt)}")
        self._say(*(f"{number}) {clean_line(one)}" for number, one in enumerate(question.options, start=1)))
        other = str(len(question.options) + 1) if question.options else None
        if other is not None:
            self._say(f"{other}) {OTHER}")
        for _ in range(_MAX_MISTAKES):
            text = await self._line("Answer: ")
            try:
                if text.strip() == other and other not in question.options:
                    return take_answer(question, await self._line("Your answer: "))
                return parse_answer(question, text)
            except RequestError as error:
                self._say(clean_line(error.message))
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

    def _say(self, *lines: str) -> None:
        self._writer.put("".join(f"{line}\n" for line in lines))


def _offers(checkpoint: Checkpoint) -> list[str]:
    lines = []
    for number, offer in enumerate(checkpoint.offers(), start=1):
        obstacle = checkpoint.blocked_reason(offer.choice)
        lines.append(
            f"{number}) {offer.label}" + (f" (not possible: {clean_line(obstacle)})" if obstacle else "")
        )
    return lines

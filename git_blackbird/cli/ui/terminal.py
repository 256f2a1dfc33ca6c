"""The user interface of a terminal: a status line while agents run, panels and lists for questions."""

import asyncio
import signal
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any, Self

from git_blackbird.cli.output import Output
from git_blackbird.cli.render.panels import checkpoint_panel, event_line, question_panel
from git_blackbird.cli.render.transcript import colored_pieces
from git_blackbird.cli.ui.base import AgentPrinter, BaseUI
from git_blackbird.cli.ui.live_line import LiveActivity, LiveDisplay
from git_blackbird.cli.ui.prompts import PromptItem, Prompts, UnfinishedText
from git_blackbird.cli.ui.writer import STDERR
from git_blackbird.controller.core.drafts import Draft, Drafts
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import page_diff, paths_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.events import (
    AGREE,
    REFUSE,
    render_ask,
    render_notice,
    render_rights,
    render_step,
    render_verdicts,
)
from git_blackbird.messages.display.format import UsageMeter
from git_blackbird.messages.incoming.questions import OTHER
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.agent_io import RightsQuestion
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.decision import (
    APPROVE_ANYWAY,
    APPROVES,
    VIEWS,
    Choice,
    Decision,
    Reply,
    reply_of,
)
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import REVIEWER_TYPES, DecisionState, Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import (
    Decided,
    Event,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunProgress,
    RunStarted,
)

_LATER = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_to_pager() -> Iterator[None]:
    """Leave Ctrl+C to the pager, and what would end this program until the pager is done.

    For the thread of the event loop, which does not run meanwhile: its signals come through a descriptor
    that it would read afterwards, as if they had been meant for it.
    """
    missed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGINT:
            missed.append(number)

    descriptor = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, *_LATER)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(descriptor)
        for one in missed:
            signal.raise_signal(one)


_BELL = "\a"


class TerminalUI(BaseUI):
    """Shows and asks on a terminal, and leaves it as it was; a context manager."""

    def __init__(self, output: Output, workspace: Workspace, *, wants_output: bool) -> None:
        super().__init__(wants_output=wants_output)
        self._workspace = workspace
        self._drafts = Drafts(workspace)
        self._display = LiveDisplay(colored=output.colored)
        self._prompts = Prompts(colored=output.colored)
        self._agent = AgentPrinter(self._display, colored=output.colored)
        self._meter = UsageMeter()
        self._activities: dict[RunId, LiveActivity] = {}
        self._activity: LiveActivity | None = None
        self._mode: list[Any] | None = None

    def __enter__(self) -> Self:
        """Remember how the terminal is set."""
        with suppress(termios.error):
            self._mode = termios.tcgetattr(sys.stdin)
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is left and set the terminal as it was."""
        try:
            self._display.close()
        finally:
            with suppress(termios.error):
                if self._mode is not None:
                    termios.tcsetattr(sys.stdin, termios.TCSANOW, self._mode)

    def show(self, event: Event) -> None:
        """Show what happens."""
        match event:
            case RunStarted():
                self._begin(event)
            case RunOutput():
                self._agent.show(event)
                if not event.is_plain and event.stream == "stdout":
                    # Among whole lines one can move; plain output ends anywhere.
                    self._move()
            case RunProgress():
                self._follow(event)
            case RunEnded():
                self._end(event)
            case ReviewsEnded() if event.run.is_pending:
                self._display.put(f"{render_verdicts(event)}\n")
            case Decided():
                self._drafts.settle(event)
                self._show_line(event)
            case Notice() if not sys.stderr.isatty():
                self._display.put(f"{render_notice(event)}\n", STDERR)
            case _:
                self._show_line(event)

    def _begin(self, event: RunStarted) -> None:
        activity = LiveActivity(event.task_id, clean_line(event.title), time.monotonic(), self._meter.spent)
        self._activities[event.run_id] = self._activity = activity
        if self.wants_output or event.run_type in REVIEWER_TYPES:
            self._show_line(event)
        if not self.wants_output:
            self._move()

    def _follow(self, event: RunProgress) -> None:
        step = event.progress
        self._meter.tell(event.run_id, step.usage, step.cost_usd)
        if self._activity is not None:
            self._activity = replace(self._activity, spent=self._meter.spent)
        if self.wants_output:
            self._agent.follow(step, self._display.columns)
        else:
            self._move(render_step(step))

    def _move(self, last: str = "") -> None:
        """Let the line that moves tell of the activity, with its last step where it has a new one."""
        if self._activity is not None:
            self._activity = replace(self._activity, last=last or self._activity.last)
            self._display.follow(self._activity)

    def _end(self, event: RunEnded) -> None:
        run = event.run
        self._activities.pop(run.id, None)
        # Of two reviewers one is at work still.
        self._activity = next(iter(self._activities.values()), None)
        if self._activity is None:
            self._display.rest()
        self._meter.tell(run.id, run.usage, run.cost_usd)
        if self.wants_output:
            self._agent.finish(run)
        self._show_line(event)
        if not self.wants_output:
            self._move()

    def _show_line(self, event: Event) -> None:
        line = event_line(event)
        if line is not None:
            self._display.show(line)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask question by question: a list where there are options, which offers a line too, else a line."""
        answers: dict[str, str] = {}
        for number, question in enumerate(questions, start=1):
            self._display.show(question_panel(task, question, (number, len(questions))))
            await self._take_terminal(is_first=number == 1)
            answer = await self._answer_one(question, self._drafts.answer(task.id, question))
            if isinstance(answer, Unanswered):
                return answer
            answers[question.id] = answer
        return answers

    async def _answer_one(self, question: Question, draft: Draft) -> str | Unanswered:
        if not question.options:
            answer = await self._write_answer(question, draft)
            return Unanswered() if isinstance(answer, UnfinishedText) else answer
        offers = [PromptItem(option, option) for option in question.options]
        while True:
            chosen: str | UnfinishedText | Unanswered = await self._prompts.choose(
                clean_line(question.id), [*offers, PromptItem(UnfinishedText.BACK, OTHER)]
            )
            if isinstance(chosen, UnfinishedText):
                chosen = await self._write_answer(question, draft)
            if not isinstance(chosen, UnfinishedText):
                return chosen

    async def _write_answer(self, question: Question, draft: Draft) -> str | UnfinishedText | Unanswered:
        if draft.text in question.options:
            draft.text = ""
        try:
            return await self._prompts.read_line(f"{clean_line(question.id)}:", draft)
        finally:
            draft.save()

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask, with the answer that starts nothing under the cursor."""
        self._display.put("\n".join(("", *render_rights(question), "")))
        await self._take_terminal(is_first=True)
        answer = await self._prompts.choose(
            render_ask(question), [PromptItem(False, REFUSE), PromptItem(True, AGREE)]
        )
        return answer is True

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Show the checkpoint and let one of its choices be made."""
        self._display.show(checkpoint_panel(checkpoint))
        await self._take_terminal(is_first=True)
        offers = [
            PromptItem(offer.choice, offer.label, _obstacle(checkpoint, offer.choice))
            for offer in checkpoint.offers()
        ]
        draft = self._drafts.message(checkpoint.run.task_id)
        if draft.text.strip():
            self._display.put("Your earlier text is kept: Request changes continues it.\n")
            await self._display.drained()
        try:
            decision = await self._choose(checkpoint, offers, draft)
        except asyncio.CancelledError:
            self._tell_kept(checkpoint, draft)
            raise
        if isinstance(decision, Unanswered):
            self._tell_kept(checkpoint, draft)
        return decision

    async def _choose(
        self, checkpoint: Checkpoint, offers: list[PromptItem], draft: Draft
    ) -> Reply | Unanswered:
        while True:
            choice = await self._prompts.choose("Select an action", offers, checkpoint.preselected)
            if isinstance(choice, Unanswered):
                return choice
            if choice in VIEWS:
                await self._view(checkpoint.pair_of(choice))
            elif choice is Choice.REQUEST_CHANGES:
                request = await self._compose(draft, checkpoint.suggested_request or "")
                if isinstance(request, Unanswered):
                    return request
                if isinstance(request, str):
                    return Decision(DecisionState.CHANGES_REQUESTED, request)
            else:
                is_meant = choice not in APPROVES or await self._confirms_branch(checkpoint)
                if isinstance(is_meant, Unanswered):
                    return is_meant
                if is_meant:
                    return reply_of(choice, branch_confirmed=checkpoint.other_branch is not None)

    async def _confirms_branch(self, checkpoint: Checkpoint) -> bool | Unanswered:
        """Ask whether to approve on another branch than the run's."""
        if checkpoint.other_branch is None:
            return True
        self._display.put(f"Careful: {checkpoint.other_branch.text}.\n")
        await self._display.drained()
        offers = [PromptItem(False, "Go back"), PromptItem(True, APPROVE_ANYWAY)]
        answer: bool | Unanswered = await self._prompts.choose("Approve on this branch?", offers)
        return answer

    async def _compose(self, draft: Draft, suggestion: str) -> str | Unanswered | None:
        """Read a change request; None goes back to the list. However this ends, the draft is on disk then."""
        try:
            while True:
                text = await self._prompts.compose("What should change?", draft, suggestion, self._paths)
                if not isinstance(text, UnfinishedText):
                    return text
                if text is UnfinishedText.BACK:
                    return None
                draft.text = draft.text or suggestion
                await self._edit(draft)
        finally:
            draft.save()
            if draft.fault is not None:
                self._display.put(
                    f"warning: what you wrote could not be saved: {draft.fault.message}\n", STDERR
                )

    async def _edit(self, draft: Draft) -> None:
        try:
            with signals_to_pager():
                draft.edit(self._workspace)
        except BlackbirdError as error:
            self._display.put(f"{clean_line(error.message)}\n")
            await self._display.drained()
        # What was typed for the editor is no part of the request.
        self._prompts.forget_typed()

    def _tell_kept(self, checkpoint: Checkpoint, draft: Draft) -> None:
        """Say where a request is that was begun and is not sent."""
        if draft.text.strip() and draft.fault is None:
            again = task_command("resume", checkpoint.run.task_id, " -e")
            self._display.put(f"Your text was not sent; it is kept, and `{again}` continues it.\n")

    async def _take_terminal(self, *, is_first: bool) -> None:
        """Ring once, and wait until all is shown; what was typed until then is no answer."""
        if is_first:
            self._display.put(_BELL)
        await self._display.drained()
        if is_first:
            self._prompts.forget_typed()

    async def _view(self, pair: TreePair | None) -> None:
        if pair is None:
            return
        try:
            with signals_to_pager():
                page_diff(self._workspace, pair, colored_pieces)
            # The pager's keys are no choice from the list.
            self._prompts.forget_typed()
        except BlackbirdError as error:
            self._display.put(f"no diff can be shown: {clean_line(error.message)}\n")
            await self._display.drained()

    def _paths(self) -> list[str]:
        try:
            return paths_of(self._workspace)
        except BlackbirdError:
            # Completing is a convenience: a request can be written without it.
            return []


def _obstacle(checkpoint: Checkpoint, choice: Choice) -> str | None:
    obstacle = checkpoint.blocked_reason(choice)
    return None if obstacle is None else clean_line(obstacle)

"""The user interface of a terminal: a status line while agents run, panels and lists for questions."""

import asyncio
import sys
import termios
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import questionary

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.transcript import marked_diff
from git_blackbird.cli.ui.base import AskingUI, OpenDraft
from git_blackbird.cli.ui.display import (
    LiveActivity,
    LiveDisplay,
    at_work_text,
)
from git_blackbird.cli.ui.prompts import HOW_TO_CHOOSE, LeftOpenError, Prompts, UnfinishedText
from git_blackbird.cli.ui.writer import STDERR
from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import page_diff, paths_of, unproven_diff
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.checkpoint import TITLE, fit_checkpoint
from git_blackbird.messages.display.dialogue import (
    Confirm,
    Offer,
    PlanChoice,
    PlanPanel,
    PlanReply,
    WriteRequest,
    answers_to,
    offers_of,
    own_words,
    question_title,
)
from git_blackbird.messages.display.events import (
    event_style,
    render_event,
    render_notice,
    render_step,
    render_verdicts,
)
from git_blackbird.messages.display.format import review_word
from git_blackbird.messages.document import Line, Style, block, line, styled
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.system import signals_to_program
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.rules.spending import Spent, total_of
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import REVIEWER_TYPES, Choice
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import (
    Decided,
    Event,
    LimitsHeld,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunPlaced,
    RunProgress,
    RunStarted,
)

_BELL = "\a"
_SELECT = "Select an action"


def _countdown_line(hold: LimitHold) -> LiveActivity:
    """Return the line that counts down to the end of a usage limit."""
    name = " ".join(filter(None, hold.by))
    return LiveActivity(name, "usage limit; Ctrl+C ends the waiting", 0, Spent(), "", hold.until / 10**9)


def _choice(offer: Offer[Any]) -> questionary.Choice:
    digit = False if offer.digit is None else str(offer.digit)
    return questionary.Choice(offer.label, offer.choice, offer.blocked_reason, shortcut_key=digit)


class TerminalUI(AskingUI):
    """Shows and asks on a terminal, and leaves it as it was; a context manager."""

    is_on_terminal = shows_checkpoints = True

    def __init__(self, call: CommandContext, workspace: Workspace, *, wants_output: bool) -> None:
        self._display = LiveDisplay(colored=call.colored)
        super().__init__(workspace, self._display, colored=call.colored, wants_output=wants_output)
        self._prompts = Prompts(self._display, self._at_work, colored=call.colored)
        self._spent_in: dict[RunId, Spent] = defaultdict(Spent)
        self._activities: dict[RunId, LiveActivity] = {}
        self._waits: tuple[LiveActivity, ...] = ()
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
        self._show(event)
        if not isinstance(event, RunOutput | RunProgress):
            self._prompts.show_above()

    def _show(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin(event)
            case RunPlaced():
                self._place(event)
            case RunOutput():
                self._printer(event).show(event)
                if not event.is_plain and event.stream == "stdout":
                    # Among whole lines one can move; plain output ends anywhere.
                    self._move()
            case RunProgress():
                self._follow(event)
            case RunEnded():
                self._end(event)
            case LimitsHeld():
                self._waits = tuple(map(_countdown_line, event.holds))
                self._show_line(event)
                self._move()
            case ReviewsEnded() if event.run.is_pending:
                self._print(render_verdicts(event))
            case Decided():
                self._drafts.settle(event)
                self._show_line(event)
            case Notice() if not sys.stderr.isatty():
                self._display.put(f"{render_notice(event)}\n", STDERR)
            case _:
                self._show_line(event)

    def _begin(self, event: RunStarted) -> None:
        word = review_word(event.run_type) if self._is_parallel else ""
        name = f"{event.task_id} ({word})" if word else event.task_id
        activity = LiveActivity(name, event.title, time.monotonic(), self._spent(event.run_id))
        self._activities[event.run_id] = activity
        if self.wants_output or self._is_parallel or event.run_type in REVIEWER_TYPES:
            self._show_line(event)
        if not self.wants_output:
            self._move()

    def _place(self, event: RunPlaced) -> None:
        activity = self._activities.get(event.run_id)
        if activity is not None:
            name = f"{activity.task_id} on {event.worker}"
            self._activities[event.run_id] = replace(activity, task_id=name)
        if self._is_parallel:
            self._show_line(event)

    def _follow(self, event: RunProgress) -> None:
        step = event.progress
        self._spent_in[event.run_id] = self._spent_in[event.run_id].updated(step.usage, step.cost_usd)
        activity = self._activities.get(event.run_id)
        if activity is not None:
            last = "" if self.wants_output else render_step(step)
            spent = self._spent(event.run_id)
            self._activities[event.run_id] = replace(activity, spent=spent, last=last or activity.last)
        if self.wants_output:
            self._printer(event).follow(step, self._display.columns)
        else:
            self._move()

    def _spent(self, run_id: RunId) -> Spent:
        """Return what a run has cost; where one works after the other, what all of them have."""
        return self._spent_in[run_id] if self._is_parallel else total_of(self._spent_in.values())

    def _move(self) -> None:
        """Let the lines that move tell of what is at work; of two reviewers, of the one that began last."""
        activities = tuple(self._activities.values())
        shown = (*(activities if self._is_parallel else activities[-1:]), *self._waits)
        if shown:
            self._display.follow(shown)
        else:
            self._display.rest()

    def _at_work(self) -> str:
        return at_work_text(tuple(self._activities.values()))

    def _end(self, event: RunEnded) -> None:
        run = event.run
        self._activities.pop(run.id, None)
        if not self._activities and not self._waits:
            self._display.rest()
        self._spent_in[run.id] = self._spent_in[run.id].updated(run.usage, run.cost_usd)
        self._finish_printing(run)
        self._show_line(event)
        if not self.wants_output:
            self._move()

    def _show_line(self, event: Event) -> None:
        if text := render_event(event):
            self._display.show(styled(row, event_style(event)) for row in text.splitlines())

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask question by question: a list where there are options, which offers a line too, else a line."""
        answers: dict[str, str] = {}
        try:
            for number, question in enumerate(questions, start=1):
                head = styled(f"Task: {task.id} - {task.title}", Style.FAINT)
                title = question_title(task.id, (number, len(questions)))
                self._display.show_panel(title, [head, *block(question.prompt)])
                await self._take_terminal(is_first=number == 1)
                draft = self._drafts.answer(task.id, question)
                answers[question.id] = await self._answer_one(task, question, draft)
        except LeftOpenError:
            return Unanswered()
        return answers

    async def _answer_one(self, task: Task, question: Question, draft: Draft) -> str:
        name = f"{self._about(task.id)}{question.id}"
        if not question.options:
            answer = await self._write_answer(name, question, draft)
            if isinstance(answer, UnfinishedText):
                raise LeftOpenError
            return answer
        choices = [
            questionary.Choice(offer.label, offer.answer or UnfinishedText.BACK)
            for offer in answers_to(question)
        ]
        kept = draft.text if draft.text in question.options else draft.text and UnfinishedText.BACK
        while True:
            answer = await self._prompts.choose(name, choices, kept or None)
            if isinstance(answer, UnfinishedText):
                answer = await self._write_answer(name, question, draft)
            else:
                draft.replace(answer)
            if not isinstance(answer, UnfinishedText):
                return answer

    async def _write_answer(self, name: str, question: Question, draft: Draft) -> str | UnfinishedText:
        draft.text = own_words(question, draft.text)
        try:
            return await self._prompts.read_line(f"{name}:", draft)
        finally:
            draft.save()

    def _print(self, *parts: str | Line) -> None:
        self._display.show(line(part) if isinstance(part, str) else part for part in parts)

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        self._print("", *step.remarks)
        await self._take_terminal(is_first=True)
        try:
            return await self._confirms(step)
        except LeftOpenError:
            return Unanswered()

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        draft = self._drafts.message(checkpoint.run.task_id)
        has_begun = bool(draft.text.strip())
        rows = self._display.rows_in_panel - self._rows_below(checkpoint) - has_begun
        lines, checkpoint = fit_checkpoint(checkpoint, rows, self._display.height)
        self._display.show_panel(TITLE, lines)
        await self._take_terminal(is_first=True)
        if has_begun:
            self._print("Your earlier text is kept: Request changes continues it.")
        try:
            return await self._decide(checkpoint)
        except LeftOpenError:
            self._print_kept(checkpoint, draft)
            return Unanswered()
        except asyncio.CancelledError:
            self._print_kept(checkpoint, draft)
            raise

    def _print_kept(self, checkpoint: Checkpoint, draft: Draft) -> None:
        """Say where a request is that was begun and is not sent."""
        if draft.text.strip() and draft.fault is None:
            command = TaskCommand("resume", checkpoint.run.task_id, " -e")
            self._print(Sentence("Your text was not sent; it is kept, and ", command, " continues it."))

    def _rows_below(self, checkpoint: Checkpoint) -> int:
        """Return how many rows the list of choices takes, and what is at work below it."""
        offers = offers_of(checkpoint._replace(is_shown=False))
        labels = (f"{offer.label} {offer.blocked_reason or ''}" for offer in offers)
        texts = (f"{self._about(checkpoint.task.id)}{_SELECT}{HOW_TO_CHOOSE}", *labels)
        return sum(self._display.height(styled(text)) for text in texts) + self._is_parallel

    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        await self._display.drained()
        message = f"{self._about(checkpoint.task.id)}{_SELECT}"
        choices = list(map(_choice, offers_of(checkpoint)))
        choice: Choice = await self._prompts.choose(message, choices, checkpoint.preselected)
        return choice

    async def _confirms(self, step: Confirm) -> bool:
        """Ask, with the answer no under the cursor."""
        await self._display.drained()
        choices = [questionary.Choice(step.no, False), questionary.Choice(step.yes, True)]
        answer: bool = await self._prompts.choose(step.question, choices, letters="ny")
        return answer

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        self._print("", *panel.lines, "")
        await self._take_terminal(is_first=True)
        try:
            return await self._review_plan(panel)
        except LeftOpenError:
            return Unanswered()

    async def _choose_for_plan(self, panel: PlanPanel) -> PlanChoice:
        await self._display.drained()
        choices = list(map(_choice, panel.offers))
        choice: PlanChoice = await self._prompts.choose("What becomes of this plan?", choices)
        return choice

    async def _request(self, about: str, draft: OpenDraft, step: WriteRequest) -> str | None:
        """Let a change request be written. However this ends, the draft is on disk then."""
        return await self._compose(f"{about}{step.title}", draft(), step)

    async def _reason(self, title: str) -> str | None:
        text = await self._prompts.read_line(f"{title}:", None)
        return None if isinstance(text, UnfinishedText) else text

    async def _compose(self, message: str, draft: Draft, step: WriteRequest) -> str | None:
        suggestion = step.suggestion or ""
        try:
            while True:
                text = await self._prompts.compose(
                    message, draft, suggestion, lambda: self._paths(step.worktree)
                )
                if text is UnfinishedText.IN_EDITOR:
                    draft.text = draft.text or suggestion
                    await self._edit(draft)
                elif isinstance(text, UnfinishedText):
                    return None
                elif await self._is_meant(draft, step):
                    return text
        finally:
            self._save(draft, STDERR)

    async def _edit(self, draft: Draft) -> None:
        try:
            await self.run_apart(lambda: draft.edit(self._workspace))
        except BlackbirdError as error:
            self._print(error.message)
            await self._display.drained()
        # What was typed for the editor is no part of the request.
        self._prompts.forget_typed()

    async def _take_terminal(self, *, is_first: bool) -> None:
        """Ring once, and wait until all is shown; what was typed until then is no answer."""
        if is_first:
            self._display.put(_BELL)
        await self._display.drained()
        if is_first:
            self._prompts.forget_typed()

    async def _show_diff(self, pair: Trees, run: Run) -> None:
        first = partial(unproven_diff, self._workspace, pair, run.evidence)
        painted = partial(marked_diff, evidence=run.evidence, find_unproven=first)
        await self.run_apart(lambda: page_diff(self._workspace, pair, painted))
        # The pager's keys are no choice from the list.
        self._prompts.forget_typed()

    async def run_apart(self, program: Callable[[], object]) -> None:
        """Leave the terminal to a program of the user's until its end; agents are looked after meanwhile."""
        async with self._display.held():
            with signals_to_program():
                running = asyncio.ensure_future(asyncio.to_thread(program))
                try:
                    await asyncio.shield(running)
                except asyncio.CancelledError:
                    # Nobody may ask, or leave, while it has the terminal.
                    await asyncio.wait([running])
                    running.exception()
                    raise

    def _paths(self, worktree: str | None) -> list[str]:
        try:
            return paths_of(self._workspace, worktree)
        except BlackbirdError:
            # Completing is a convenience: a request can be written without it.
            return []

"""The user interface of ``demo --auto``: it answers by itself, and shows the command for each answer."""

import shlex
from collections.abc import Mapping

from git_blackbird.cli.ui.base import BaseUI
from git_blackbird.cli.ui.writer import Writer
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.setup.demo import CHANGE_REQUEST
from git_blackbird.messages.display.checkpoint import TITLE, render_checkpoint
from git_blackbird.messages.display.events import render_verdicts
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.decision import STATE_OF, Choice, Decision
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState, Question, RunStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, ReviewsEnded


class ScriptedUI(BaseUI):
    """Requests changes once, rejects what failed, approves the rest, takes the first of all options.

    ``shown`` shows what happens; its answers are not used.
    """

    def __init__(self, shown: UserInterface, writer: Writer, *, as_json: bool) -> None:
        super().__init__(wants_output=False)
        self._shown = shown
        self._writer = writer
        self._as_json = as_json

    def show(self, event: Event) -> None:
        """Show what happens; reviews that a checkpoint shows next take one line."""
        if isinstance(event, ReviewsEnded) and event.run.is_pending and not self._as_json:
            self._say(render_verdicts(event))
        else:
            self._shown.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Answer with the first option, as the command line would."""
        answers = {question.id: (*question.options, "as you like")[0] for question in questions}
        for question in questions:
            options = "".join(f"\n  {one}" for one in map(clean_line, question.options))
            self._say(f"{clean_line(question.id)}: {strip_controls(question.prompt)}{options}")
        given = (f"--answer {name}={value}" for name, value in answers.items())
        self._say_command(f"git blackbird resume {task.id} {' '.join(given)}")
        await self._shown.answer(task, questions)
        return answers

    async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
        """Decide by what the checkpoint shows."""
        self._say("\n".join(["", TITLE, *(line.text for line in render_checkpoint(checkpoint)), ""]))
        choice = _choice(checkpoint)
        offer = next(offer for offer in checkpoint.offers() if offer.choice is choice)
        command = checkpoint.command_for(offer).command
        feedback = CHANGE_REQUEST if choice is Choice.REQUEST_CHANGES else None
        self._say_command(command.replace("TEXT", shlex.quote(feedback)) if feedback else command)
        await self._shown.decide(checkpoint)
        return Decision(STATE_OF[choice], feedback)

    def _say(self, text: str) -> None:
        if not self._as_json:
            self._writer.put(f"{text}\n")

    def _say_command(self, command: str) -> None:
        self._say(f"$ {command}")


def _choice(checkpoint: Checkpoint) -> Choice:
    run = checkpoint.run
    if run.status is RunStatus.FAILED:
        return Choice.REJECT
    is_first = run.resumes is None and not checkpoint.task.deps
    asked_before = run.decision_state is DecisionState.CHANGES_REQUESTED
    return Choice.REQUEST_CHANGES if is_first and not asked_before else Choice.APPROVE_CONTINUE

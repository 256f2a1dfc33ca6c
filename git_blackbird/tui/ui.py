"""The application as the user interface of the controller: it shows events and asks in modal screens."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.dialogue import REVISION, Confirm, PlanChoice, PlanPanel, PlanReply
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parts import Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event
from git_blackbird.tui.commands import ask_decision
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.screens.modal import ConfirmModal
from git_blackbird.tui.screens.proposal import ProposalScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen

T = TypeVar("T")


class TuiUI:
    """Implements UserInterface; to be called from workers of the application."""

    is_on_terminal = shows_checkpoints = True

    def __init__(self, app: AppContext, workspace: Workspace) -> None:
        self.wants_output = True
        self._app = app
        self._workspace = workspace

    def notify(self, event: Event) -> None:
        self._app.handle_event(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask one question after another, and go back on request.

        Who leaves one leaves all of them open, and stops nobody else.
        """
        drafts = [self._app.drafts.answer(task.id, question) for question in questions]
        index = 0
        await self._announce(f"question of {'the planner' if task.id == PLANNING else task.id}")
        while index < len(questions):
            position = index + 1, len(questions)
            screen = QuestionScreen(task.id, questions[index], position, drafts[index])
            step = await self._app.ask(screen)
            if step is None:
                return None
            index += step
        return {question.id: draft.text for question, draft in zip(questions, drafts, strict=True)}

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        await self._announce("a question before agents start")
        answer = await self._app.ask(ConfirmModal(step))
        return Unanswered() if answer is None else answer

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Show the checkpoint and ask for one of its choices; who leaves it stops nobody."""
        await self._announce(f"decision on {checkpoint.task.id}")
        return await ask_decision(self._app, self._workspace, checkpoint)

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        """Show a proposal and ask for one of its choices; a text that is left leads back to them."""
        await self._announce("a plan that is proposed")
        while True:
            choice = await self._app.ask(ProposalScreen(panel))
            if choice is not PlanChoice.REVISE:
                return Unanswered() if choice is None else PlanReply(choice)
            draft = self._app.drafts.revision()
            folders = (self._workspace.paths.state_root,)
            screen = RequestScreen(REVISION.title, self._app.path_lister, draft, folders=folders)
            text = await self._app.ask(screen)
            if text is not None:
                draft.drop()
                return PlanReply(choice, text)

    async def _announce(self, what: str) -> None:
        """Ring the bell, wait while someone writes, and ignore keys meant for the screen before."""
        self._app.bell()
        await self._app.questions.wait(what)
        self._app.ignore_pending_input()


class ThreadsafeUI:
    """A user interface for another thread: questions are asked in the event loop ``ui_loop``."""

    def __init__(self, ui: UserInterface, ui_loop: asyncio.AbstractEventLoop) -> None:
        self.wants_output, self.is_on_terminal = ui.wants_output, ui.is_on_terminal
        self.shows_checkpoints = ui.shows_checkpoints
        self._ui = ui
        self._ui_loop = ui_loop

    def notify(self, event: Event) -> None:
        """Show an event, which is possible from any thread."""
        self._ui.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        return await self._run(self._ui.answer(task, questions))

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        return await self._run(self._ui.agree(step))

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        return await self._run(self._ui.decide(checkpoint))

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        return await self._run(self._ui.review_plan(panel))

    async def _run(self, question: Coroutine[Any, Any, T]) -> T:
        # Cancelling this cancels the question as well.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question, self._ui_loop))

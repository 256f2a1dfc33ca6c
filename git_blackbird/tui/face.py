"""The application as a face: what happens is shown, and what is asked comes up over everything else."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from git_blackbird.controller.face import Face, LeftOpen
from git_blackbird.controller.workspace import Workspace
from git_blackbird.messages.rights_text import AGREE, REFUSE, render_ask, render_rights
from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Reply
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event
from git_blackbird.model.plan import Task
from git_blackbird.tui.asking import ask_decision
from git_blackbird.tui.modals.chooser import Chooser, Offer
from git_blackbird.tui.modals.questions import QuestionScreen

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


T = TypeVar("T")


class TuiFace:
    """Implements the Protocol of a face; to be used in a worker of the application."""

    def __init__(self, app: "BlackbirdApp", workspace: Workspace) -> None:
        self.wants_output = True
        self._app = app
        self._workspace = workspace

    def notify(self, event: Event) -> None:
        """Show what happens."""
        self._app.tell(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Ask one question after the other, and go back among them; leaving one leaves all of them open."""
        drafts = [self._app.drafts.answer(task.id, one) for one in questions]
        index = 0
        self._come_up()
        while index < len(questions):
            place = index + 1, len(questions)
            screen = QuestionScreen(task.id, questions[index], place, drafts[index])
            move = await self._app.ask(screen)
            if move is None:
                return LeftOpen()
            index += move
        return {one.id: draft.text for one, draft in zip(questions, drafts, strict=True)}

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask, with the answer that starts nothing under the cursor."""
        self._come_up()
        offers = [Offer(False, REFUSE), Offer(True, AGREE)]
        title = "\n".join((*render_rights(question), render_ask(question)))
        return await self._app.ask(Chooser[bool](title, offers)) is True

    async def decide(self, checkpoint: Checkpoint) -> Reply | LeftOpen | None:
        """Show the checkpoint and let one of its choices be made."""
        self._come_up()
        return await ask_decision(self._app, self._workspace, checkpoint) or LeftOpen()

    def _come_up(self) -> None:
        """Come up unasked: be heard, and take no key that was meant for something else."""
        self._app.bell()
        self._app.ignore_strays()


class FaceAtHome:
    """The application as a face for another thread: it is asked in its own, whose loop is ``home``."""

    def __init__(self, face: Face, home: asyncio.AbstractEventLoop) -> None:
        self.wants_output = face.wants_output
        self._face = face
        self._home = home

    def notify(self, event: Event) -> None:
        """Show what happens; the face takes that from any thread."""
        self._face.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Ask there."""
        return await self._there(self._face.answer(task, questions))

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask there."""
        return await self._there(self._face.agree(question))

    async def decide(self, checkpoint: Checkpoint) -> Reply | LeftOpen | None:
        """Ask there."""
        return await self._there(self._face.decide(checkpoint))

    async def _there(self, asking: Coroutine[Any, Any, T]) -> T:
        # Whoever cancels this cancels it there as well.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._home))

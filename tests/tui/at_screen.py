"""A loop run in the application: the replies of a scripted person are typed on its screens."""

import asyncio
from collections.abc import Mapping

from textual.pilot import Pilot

from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.dialogue import Confirm, PlanPanel, PlanReply
from git_blackbird.model.change.decision import STATE_OF, Decision, Reply, Retry
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import Choice, DecisionState
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event
from git_blackbird.model.views.stop import Stop
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ConfirmModal
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import ReasonScreen, RequestScreen
from git_blackbird.tui.ui import ThreadsafeUI
from tests.controller.support import Prepare
from tests.tui.driver import PATIENCE_SECONDS, SIZE, QuickApp, wait_for

CALL_SECONDS = 4 * PATIENCE_SECONDS
LEAVE = "escape"
SELECT_ALL = "f7"


class Watched(QuickApp):
    """The application; ``ended`` has the stop of the loop."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment, WorktreeWatcher(environment))
        self.animation_level = "none"
        self.ended: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()

    def show_stop(self, stop: Stop) -> None:
        super().show_stop(stop)
        if not self.ended.done():
            self.ended.set_result(stop)

    def show_error(self, error: BlackbirdError) -> None:
        super().show_error(error)
        self._end_with(error)

    def exit_with_error(self, error: Exception) -> None:
        super().exit_with_error(error)
        self._end_with(error)

    def _end_with(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)


class AtScreen:
    """A user interface that types the replies of a scripted person into the application.

    Without a reply, the question is cancelled.
    """

    def __init__(self, shown: UserInterface, person: UserInterface, pilot: Pilot[None]) -> None:
        self.wants_output, self.is_on_terminal = person.wants_output, person.is_on_terminal
        self.shows_checkpoints = True
        self._shown = shown
        self._person = person
        self._pilot = pilot

    def notify(self, event: Event) -> None:
        self._person.notify(event)
        self._shown.notify(event)

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        return await self._person.agree(step)

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        asked = asyncio.create_task(self._shown.decide(checkpoint))
        try:
            await self._see(CheckpointScreen)
            reply = await self._person.decide(checkpoint)
            if reply is None:
                return None
            await self._type_decision(checkpoint, reply)
            return await asked
        finally:
            await _end(asked)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        asked = asyncio.create_task(self._shown.answer(task, questions))
        try:
            await self._see(QuestionScreen)
            reply = await self._person.answer(task, questions)
            if reply is None:
                return None
            if isinstance(reply, Unanswered):
                await self._pilot.press(LEAVE)
                return await asked
            for question in questions:
                await wait_for(self._pilot, lambda question=question: self._is_asked(question))  # type: ignore[misc]
                await self._pilot.press(*_keys_of_answer(question, reply[question.id]))
            return await asked
        finally:
            await _end(asked)

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        return await self._shown.review_plan(panel)

    async def _type_decision(self, checkpoint: Checkpoint, reply: Reply | Unanswered) -> None:
        if isinstance(reply, Unanswered):
            await self._pilot.press(LEAVE)
            return
        await self._pilot.press(_digit(checkpoint, reply), "enter")
        if not isinstance(reply, Decision):
            return
        if reply.undoes:
            await self._see(ConfirmModal)
            await self._pilot.press("2", "enter")
        if reply.state is DecisionState.REJECTED:
            await self._see(ReasonScreen)
            await self._pilot.press(*(reply.feedback or ""), "enter")
        elif reply.feedback is not None:
            await self._see(RequestScreen)
            typed = ("enter" if letter == "\n" else letter for letter in reply.feedback)
            await self._pilot.press(SELECT_ALL, *typed, "ctrl+s")

    def _is_asked(self, question: Question) -> bool:
        screen = self._pilot.app.screen
        return isinstance(screen, QuestionScreen) and screen.question == question

    async def _see(self, screen: type[object]) -> None:
        await wait_for(self._pilot, lambda: isinstance(self._pilot.app.screen, screen))


def _digit(checkpoint: Checkpoint, reply: Reply) -> str:
    return str(next(offer.digit for offer in checkpoint.offers() if _is_said_by(offer.choice, reply)))


def _is_said_by(choice: Choice, reply: Reply) -> bool:
    if isinstance(reply, Decision):
        said = STATE_OF.get(choice), choice is Choice.REJECT_AND_UNDO, choice is Choice.ACCEPT_WITHOUT_COMMIT
        return said == (reply.state, reply.undoes, reply.without_commit)
    return choice is (Choice.RETRY if isinstance(reply, Retry) else Choice.REVIEW_AGAIN)


def _keys_of_answer(question: Question, answer: str) -> tuple[str, ...]:
    typed = (str(question.options.index(answer) + 1),) if question.options else tuple(answer)
    return (*typed, "enter")


async def _end(asked: "asyncio.Task[object]") -> None:
    asked.cancel()
    await asyncio.wait([asked])


def on_screen(workspace: Workspace, person: UserInterface, prepare: Prepare) -> Stop:
    """Run a loop in the application, with the replies of a scripted person."""

    async def run() -> Stop:
        watched = Watched(workspace.environment)
        async with watched.run_test(size=SIZE, notifications=True) as pilot:
            ui_loop = asyncio.get_running_loop()

            def begin(opened: Workspace, shown: UserInterface) -> Loop:
                return prepare(opened, ThreadsafeUI(AtScreen(shown, person, pilot), ui_loop))

            watched.start("test", begin)
            async with asyncio.timeout(CALL_SECONDS):
                return await watched.ended

    return asyncio.run(run())

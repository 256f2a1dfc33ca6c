"""The application as a face: what happens is shown, and what is asked comes up over everything else."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from git_blackbird.controller.face import LeftOpen
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Decision, ReviewAgain
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event
from git_blackbird.model.plan import Task

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


class TuiFace:
    """Implements the Protocol of a face; to be used inside the event loop of the application."""

    def __init__(self, app: "BlackbirdApp") -> None:
        self.wants_output = False
        self._app = app

    def notify(self, event: Event) -> None:
        """Show what happens."""
        self._app.tell(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Nobody can answer here yet."""
        del task, questions
        return None

    async def decide(self, checkpoint: Checkpoint) -> Decision | ReviewAgain | LeftOpen | None:
        """Nobody can decide here yet."""
        del checkpoint
        return None

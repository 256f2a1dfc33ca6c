"""The user interface for programs: one line of JSON per event; they answer with further commands."""

from collections.abc import Mapping

from git_blackbird.cli.output import event_line
from git_blackbird.cli.printed.events import CheckpointReached, Dropped, QuestionsAsked, shown_event
from git_blackbird.cli.ui.base import BaseUI
from git_blackbird.cli.ui.writer import Writer
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parts import Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunOutput, RunProgress


class JsonUI(BaseUI):
    """Print everything and ask nothing: the call stops where a decision or an answer is due."""

    shows_checkpoints = True

    def __init__(self, writer: Writer, *, wants_output: bool) -> None:
        super().__init__(wants_output=wants_output)
        self._writer = writer
        self._dropped = 0

    def show(self, event: Event) -> None:
        """Print the event; output and progress are counted instead while the reader does not keep up."""
        line = event_line(*shown_event(event))
        if isinstance(event, RunOutput | RunProgress) and self._writer.is_behind:
            self._dropped += 1
            return
        if self._dropped:
            self._writer.put(event_line("dropped", Dropped(self._dropped)))
            self._dropped = 0
        self._writer.put(line)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        self._writer.put(event_line("questions", QuestionsAsked(task.id, questions)))
        return None

    async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
        self._writer.put(event_line("checkpoint", CheckpointReached(checkpoint)))
        return None

"""What the user interfaces of commands share."""

from collections.abc import Mapping

from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.cli.ui.writer import STDERR, STDOUT, Writer
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.sanitize import StreamSanitizer
from git_blackbird.model.entities.agent_io import Progress, RightsQuestion
from git_blackbird.model.entities.decision import Reply
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Question, Run, RunType
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunEnded, RunOutput


class BaseUI:
    """Ask nothing, as long as no subclass does, and remember which reviews were shown to have ended."""

    def __init__(self, *, wants_output: bool) -> None:
        self.wants_output = wants_output
        self.shown_reviews: set[RunId] = set()

    def notify(self, event: Event) -> None:
        """Show what happens."""
        if isinstance(event, RunEnded) and event.run.run_type is RunType.REVIEW:
            self.shown_reviews.add(event.run.id)
        self.show(event)

    def show(self, event: Event) -> None:
        """Show what happens; must not block."""
        raise NotImplementedError

    async def answer(
        self,
        task: Task,  # noqa: ARG002  # the Protocol's, here and below
        questions: tuple[Question, ...],  # noqa: ARG002
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask nobody."""
        return None

    async def agree(self, question: RightsQuestion) -> bool | None:  # noqa: ARG002
        """Ask nobody."""
        return None

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:  # noqa: ARG002
        """Ask nobody."""
        return None


class AgentPrinter:
    """Print plain output as it comes, an event stream as its steps, standard error to ours (``--stream``).

    Nothing of it steers a terminal. What a screen cannot keep up with is dropped, and that is said.
    """

    def __init__(self, writer: Writer, *, colored: bool) -> None:
        self._writer = writer
        self._streams = {"stdout": (StreamSanitizer(), STDOUT), "stderr": (StreamSanitizer(), STDERR)}
        self._transcript = ProgressLog(colored=colored)

    def show(self, event: RunOutput) -> None:
        """Show the next piece of plain output, and of standard error; of an event stream nothing."""
        if not event.is_plain and event.stream == "stdout":
            return
        stream, where = self._streams[event.stream]
        if self._writer.is_behind:
            self._writer.drop(len(event.data))
        else:
            self._writer.put_droppable(stream.feed(event.data), where)

    def follow(self, step: Progress, columns: int | None = None) -> None:
        """Show the next step, at most ``columns`` wide."""
        block = self._transcript.render(step, columns)
        if block:
            self._writer.put_droppable(block)

    def finish(self, run: Run) -> None:
        """Show what was held back, and what the run has spent."""
        for stream, where in self._streams.values():
            self._writer.put(stream.finish(), where)
        self._writer.put(self._transcript.finish(run.usage, run.cost_usd))

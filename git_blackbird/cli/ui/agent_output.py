"""What an agent does and prints, on its way to a screen that may not keep up with it (``--stream``)."""

from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.cli.ui.writer import STDERR, STDOUT, Writer
from git_blackbird.model.base.sanitize import StreamSanitizer
from git_blackbird.model.entities.agent_io import Progress
from git_blackbird.model.entities.run import Run
from git_blackbird.model.views.events import RunOutput


class AgentOutput:
    """Shows plain output as it is printed, an event stream for programs as the steps it tells of.

    What the agent prints on its standard error goes to ours.

    Nothing of either steers a terminal. What a screen cannot keep up with is dropped, and that is said.
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

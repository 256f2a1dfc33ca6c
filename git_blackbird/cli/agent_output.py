"""What an agent does and prints, on its way to a screen that may not keep up with it (``--stream``)."""

from git_blackbird.cli.transcript import Transcript
from git_blackbird.cli.writer import Writer
from git_blackbird.messages.clean_stream import CleanStream
from git_blackbird.model.conversation import Progress
from git_blackbird.model.events import RunPrinted
from git_blackbird.model.run import Run


class AgentOutput:
    """Shows plain output as it is printed, an event stream for programs as the steps it tells of.

    Nothing of either steers a terminal. What a screen cannot keep up with is dropped, and that is said.
    """

    def __init__(self, writer: Writer, *, colored: bool) -> None:
        self._writer = writer
        self._stream = CleanStream()
        self._transcript = Transcript(colored=colored)

    def show(self, event: RunPrinted) -> None:
        """Show the next piece of plain output; of an event stream nothing."""
        if not event.is_plain:
            return
        if self._writer.is_behind:
            self._writer.drop(len(event.data))
        else:
            self._writer.put_droppable(self._stream.feed(event.data))

    def follow(self, step: Progress, columns: int | None = None) -> None:
        """Show the next step, at most ``columns`` wide."""
        block = self._transcript.render(step, columns)
        if block:
            self._writer.put_droppable(block)

    def finish(self, run: Run) -> None:
        """Show what was held back, and what the run has spent."""
        self._writer.put(self._stream.finish() + self._transcript.finish(run.usage, run.cost_usd))

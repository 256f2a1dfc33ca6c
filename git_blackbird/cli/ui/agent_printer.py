"""The output of an agent, as commands print it."""

from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.cli.ui.writer import STDERR, STDOUT, Writer
from git_blackbird.model.base.sanitize import StreamSanitizer
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.run import Run
from git_blackbird.model.views.events import RunOutput

_LONGEST_LINE = 8192


class AgentPrinter:
    """Print plain output as it comes, an event stream as its steps, standard error to ours (``--stream``).

    Nothing of it steers a terminal. What a screen cannot keep up with is dropped and counted. With a prefix
    whole lines are printed, each behind it.
    """

    def __init__(self, writer: Writer, *, colored: bool, prefix: str = "") -> None:
        self._writer = writer
        self._prefix = prefix
        self._begun = {STDOUT: "", STDERR: ""}
        self._streams = {"stdout": (StreamSanitizer(), STDOUT), "stderr": (StreamSanitizer(), STDERR)}
        self._transcript = ProgressLog(colored=colored)

    def show(self, event: RunOutput) -> None:
        """Show the next piece of plain output, and of standard error; of an event stream nothing."""
        if not event.is_plain and event.stream == "stdout":
            return
        stream, where = self._streams[event.stream]
        self._writer.drop(event.skipped)
        if self._writer.is_behind:
            self._writer.drop(len(event.data))
        else:
            self._writer.put_droppable(self._lines(stream.feed(event.data), where), where)

    def follow(self, step: Progress, columns: int | None = None) -> None:
        block = self._transcript.render(step, None if columns is None else columns - len(self._prefix))
        if block:
            self._writer.put_droppable(self._lines(block, STDOUT))

    def _lines(self, text: str, where: int) -> str:
        if not self._prefix:
            return text
        *lines, self._begun[where] = (self._begun[where] + text).split("\n")
        if len(self._begun[where]) > _LONGEST_LINE:
            lines.append(self._begun[where])
            self._begun[where] = ""
        return "".join(f"{self._prefix}{line}\n" for line in lines)

    def finish(self, run: Run) -> None:
        """Show what was held back, and what the run has spent."""
        for stream, where in self._streams.values():
            self._writer.put(self._lines(stream.finish(), where), where)
        self._writer.put(self._lines(self._transcript.finish(run.usage, run.cost_usd), STDOUT))

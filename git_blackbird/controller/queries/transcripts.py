"""The steps in a run's saved event stream, while its agent works and afterwards.

Imports the agents: to be imported only by what shows such a stream.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from git_blackbird.agents.process.logs import LogReader
from git_blackbird.agents.protocol import OutputParser
from git_blackbird.controller.change.work.starts import recorded_reader
from git_blackbird.controller.core.agents import find_agent_for_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.runs import saved_outputs, until_closed
from git_blackbird.errors import RequestError
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.run import Run

MAX_EARLIER = 50
_TAIL_BYTES = 8 * 1024 * 1024
# The last line may have none.
_LINE_END = b"\n"


def saved_steps(workspace: Workspace, run: Run) -> Iterator[Progress]:
    """Return the steps of all that is kept of a run.

    There are none where its output is no event stream, or that of no agent known here.
    """
    reader = _event_reader(workspace, run)
    if reader is not None:
        stdout = saved_outputs(workspace, run)[0]
        for data in stdout.pieces:
            yield from reader.feed(data)
        yield from reader.feed(_LINE_END)


@dataclass(frozen=True)
class EarlierSteps:
    """What a run did before it was followed: its last steps, and how many before them are passed over.

    ``is_whole`` when its output was read from the beginning.
    """

    steps: tuple[Progress, ...]
    passed_over: int
    is_whole: bool


class FollowedSteps:
    """The steps of a run that may still be running; ``earlier`` first, then ``live``."""

    def __init__(self, workspace: Workspace, run: Run, reader: OutputParser) -> None:
        self._workspace = workspace
        self._run = run
        self._reader = reader
        self._stream = LogReader(workspace.paths.logs(run.task_id, run.id, "stdout"), tail=_TAIL_BYTES)

    def earlier(self) -> EarlierSteps:
        """Read the steps up to now, of a large output only the last part."""
        last: deque[Progress] = deque(maxlen=MAX_EARLIER)
        count = 0
        left = self._stream.size - self._stream.passed_over
        while left > 0 and (data := self._stream.read()):
            left -= len(data)
            for step in self._reader.feed(data):
                last.append(self._without_partial_figures(step))
                count += 1
        return EarlierSteps(tuple(last), count - len(last), is_whole=not self._stream.passed_over)

    def live(self) -> Iterator[Progress]:
        """Yield steps from now on, until the run's record is closed or nobody is left to close it."""
        yield from until_closed(self._workspace, self._run, self.arrived)
        yield from self.last()

    def arrived(self) -> Iterator[Progress]:
        """Yield the steps since the last call, without waiting."""
        for data in self._stream.pieces():
            yield from map(self._without_partial_figures, self._reader.feed(data))

    def last(self) -> Iterator[Progress]:
        """Return the steps of a last line without a line end."""
        yield from map(self._without_partial_figures, self._reader.feed(_LINE_END))

    def _without_partial_figures(self, step: Progress) -> Progress:
        """Remove figures that may count only a part of the run, because its beginning was not read."""
        return step._replace(usage=None, cost_usd=None) if self._stream.passed_over else step


def followed_steps(workspace: Workspace, run: Run) -> FollowedSteps | None:
    """Open a run's output as steps; None where it is no event stream of an agent known here."""
    reader = _event_reader(workspace, run)
    return None if reader is None else FollowedSteps(workspace, run, reader)


def _event_reader(workspace: Workspace, run: Run) -> OutputParser | None:
    try:
        agent = find_agent_for_run(workspace, run)
    except RequestError:
        return None
    return recorded_reader(workspace, agent, run) if agent.abilities.prints_events else None

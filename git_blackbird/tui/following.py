"""What the agents do that another process started: their saved output, read as it grows."""

from collections.abc import Iterable
from typing import NamedTuple

from git_blackbird.controller.run_views import FollowedOutput, reread
from git_blackbird.controller.transcripts import FollowedSteps, followed_steps
from git_blackbird.controller.watching import Picture
from git_blackbird.controller.workspace import Workspace
from git_blackbird.messages.run_text import run_seconds
from git_blackbird.model.conversation import Progress
from git_blackbird.model.events import RunEnded, RunStarted
from git_blackbird.model.ids import RunId
from git_blackbird.model.run import Run, RunStatus
from git_blackbird.tui.live import Live, Work


class _Followed(NamedTuple):
    run: Run
    title: str
    output: FollowedSteps | FollowedOutput


class Follower:
    """Looks now and then, away from the screen; it tells ``live``, which takes all of it from any thread."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._followed: dict[RunId, _Followed] = {}

    def look(self, workspace: Workspace, picture: Picture) -> None:
        """Read what came since the last look; of a run that is new here, its last steps."""
        running = {one.run.id: one.run for one in picture.overview.running if one.alive}
        for run_id in self._followed.keys() - running.keys():
            self._read_on(run_id)
            self._end(workspace, self._followed.pop(run_id))
        for run in running.values():
            if run.id not in self._followed:
                self._begin(workspace, picture, run)
            self._read_on(run.id)

    def _read_on(self, run_id: RunId) -> None:
        output = self._followed[run_id].output
        if isinstance(output, FollowedSteps):
            self._tell(run_id, output.arrived())
        else:
            for _, data in output.arrived():
                self._live.tell_printed(run_id, data)

    def _begin(self, workspace: Workspace, picture: Picture, run: Run) -> None:
        steps = followed_steps(workspace, run)
        task = picture.plan.tasks.get(run.task_id)
        title = "" if task is None else task.title
        self._followed[run.id] = _Followed(run, title, steps or FollowedOutput(workspace, run))
        seconds = _seconds(workspace, run)
        begun = RunStarted(run.task_id, title, run.id, run.provider, run.resumes, run.pid or 0, run.run_type)
        self._live.tell(begun)
        self._live.follow(run.id, Work.of(run.run_type, run.task_id, title, seconds))
        self._tell(run.id, () if steps is None else steps.earlier().steps)

    def _end(self, workspace: Workspace, followed: _Followed) -> None:
        """Say how a run ended, if its record does; who was killed wrote none."""
        run = reread(workspace, followed.run)
        if run.status is RunStatus.RUNNING:
            self._live.leave(run.id)
        else:
            self._live.tell(RunEnded(run, followed.title, _seconds(workspace, run)))

    def _tell(self, run_id: RunId, steps: Iterable[Progress]) -> None:
        for step in steps:
            self._live.tell_step(run_id, step)

    def leave(self) -> None:
        """Follow nothing any more."""
        for run_id in self._followed:
            self._live.leave(run_id)
        self._followed.clear()


def _seconds(workspace: Workspace, run: Run) -> float:
    return max(run_seconds(run, workspace.world.timestamp()) or 0.0, 0.0)

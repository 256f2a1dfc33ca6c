"""What the agent of a run does that another process started: its saved output, read as it grows."""

from collections.abc import Iterable

from git_blackbird.controller.transcripts import FollowedSteps, followed_steps
from git_blackbird.controller.watching import Picture
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.conversation import Progress
from git_blackbird.model.ids import RunId
from git_blackbird.model.text import clean_line
from git_blackbird.tui.live import Live


class Follower:
    """Looks now and then, away from the screen; it tells ``live``, which takes steps from any thread."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._run_id: RunId | None = None
        self._steps: FollowedSteps | None = None

    def look(self, workspace: Workspace, picture: Picture) -> None:
        """Read what came since the last look; of a run that is new here, its last steps."""
        run = next((one.run for one in picture.overview.running if one.alive), None)
        if run is None:
            self.leave()
            return
        if run.id != self._run_id:
            self._run_id, self._steps = run.id, followed_steps(workspace, run)
            task = picture.plan.tasks.get(run.task_id)
            self._live.follow(f"{run.task_id}  {clean_line(task.title if task is not None else '')}")
            self._tell(() if self._steps is None else self._steps.earlier().steps)
        self._tell(() if self._steps is None else self._steps.arrived())

    def _tell(self, steps: Iterable[Progress]) -> None:
        for step in steps:
            self._live.tell_step(step)

    def leave(self) -> None:
        """Follow nothing any more."""
        if self._run_id is not None:
            self._run_id = self._steps = None
            self._live.rest()

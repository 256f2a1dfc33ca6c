"""Follow the runs of other processes by reading their saved output as it grows."""

from collections.abc import Iterable
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.runs import FollowedOutput, is_at_work, reread
from git_blackbird.controller.queries.transcripts import FollowedSteps, followed_steps
from git_blackbird.controller.queries.watcher import ViewState
from git_blackbird.messages.display.format import run_seconds
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.events import RunEnded, RunStarted
from git_blackbird.tui.widgets.live_log import LiveEntry, LivePane


class _FollowedRun(NamedTuple):
    run: Run
    title: str
    output: FollowedSteps | FollowedOutput


class LogTailer:
    """Reads new output at each poll, in the polling thread, and passes it to ``live``."""

    def __init__(self, live: LivePane) -> None:
        self._live = live
        self._followed: dict[RunId, _FollowedRun] = {}

    def poll(self, workspace: Workspace, view_state: ViewState) -> None:
        """Read the output since the last poll; for a run not seen before, its last steps."""
        running = {live.run.id: live.run for live in view_state.overview.running if live.alive}
        for run_id in self._followed.keys() - running.keys():
            # Its agent may have ended, and the end snapshot may still be under way.
            is_over = not is_at_work(workspace, self._followed[run_id].run)
            self._read(run_id)
            if is_over:
                self._end(workspace, self._followed.pop(run_id))
        for run in running.values():
            if run.id not in self._followed:
                self._begin(workspace, view_state, run)
            if run.worker is not None:
                self._live.place_run(run.id, run.worker)
            self._read(run.id)

    def _read(self, run_id: RunId) -> None:
        output = self._followed[run_id].output
        if isinstance(output, FollowedSteps):
            self._add_steps(run_id, output.arrived())
        else:
            for _, data in output.arrived():
                self._live.add_output(run_id, data)

    def _begin(self, workspace: Workspace, view_state: ViewState, run: Run) -> None:
        steps = followed_steps(workspace, run)
        task = view_state.plan.tasks.get(run.task_id)
        title = "" if task is None else task.title
        self._followed[run.id] = _FollowedRun(run, title, steps or FollowedOutput(workspace, run))
        seconds = _seconds(workspace, run)
        started = RunStarted(run.task_id, title, run.id, run.provider, run.resumes, run.pid, run.run_type)
        self._live.handle_event(started)
        self._live.add_run(run.id, LiveEntry.of(run.run_type, run.task_id, title, seconds))
        self._add_steps(run.id, () if steps is None else steps.earlier().steps)

    def _end(self, workspace: Workspace, followed: _FollowedRun) -> None:
        """Show how a run ended; without an end in its record, its process was killed."""
        if isinstance(followed.output, FollowedSteps):
            self._add_steps(followed.run.id, followed.output.last())
        run = reread(workspace, followed.run)
        if run.status is RunStatus.RUNNING:
            self._live.remove_run(run.id)
        else:
            self._live.handle_event(RunEnded(run, followed.title, _seconds(workspace, run)))

    def _add_steps(self, run_id: RunId, steps: Iterable[Progress]) -> None:
        for step in steps:
            self._live.add_step(run_id, step)

    def stop(self) -> None:
        for run_id in self._followed:
            self._live.remove_run(run_id)
        self._followed.clear()


def _seconds(workspace: Workspace, run: Run) -> float:
    return max(run_seconds(run, workspace.environment.timestamp()) or 0.0, 0.0)

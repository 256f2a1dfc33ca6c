"""The history of a task, read when it is shown: its runs, and the diff of its change or of a run."""

from collections.abc import Callable
from functools import partial

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import change_pair
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.tui.widgets.diff.pane import Caption, DiffPane
from git_blackbird.tui.widgets.runs_pane import RunsPane


class HistoryPanes:
    """The panes of runs and diffs; ``open_workspace`` gives the workspace of the moment."""

    def __init__(self, open_workspace: Callable[[], Workspace]) -> None:
        self.runs = RunsPane(open_workspace, id="runs")
        self.diff = DiffPane(id="diff")
        self._open_workspace = open_workspace
        self._shown: tuple[TaskId, History] | None = None
        self._run_of: TaskId | None = None

    def show_change(self, task_id: TaskId, history: History) -> None:
        """Show the diff of a task's change, unless one of this task as it is now is shown already."""
        if self._run_of != task_id:
            self._run_of = None
            self._read_change(task_id, history)

    def forget_run(self) -> None:
        """Show the whole change again, if the diff of one run is shown."""
        self._run_of = None

    def _read_change(self, task_id: TaskId, history: History) -> None:
        if self._shown != (task_id, history):
            self._shown = task_id, history
            latest = history.latest
            merged = None if latest is None else merged_or_none(latest)
            self.diff.annotate(None, merged, evidence=None if latest is None else latest.evidence)
            _ = self.diff.run_worker(
                lambda: self._find_change(task_id, history), thread=True, exclusive=True, group="find"
            )

    def show_diff_of(self, run: Run) -> None:
        """Show what one run changed, until another task is looked at or the whole change is asked for."""
        self._run_of, self._shown = run.task_id, None
        if run.tree_pair is None:
            self.diff.show_text(f"run {run.id} has no pair of snapshots to compare")
        else:
            whole = "4 shows the task's whole change"
            caption = Caption(f"run {run.id} alone; {whole}", f"run {run.id} changed nothing; {whole}")
            self.diff.read(self._open_workspace(), run.tree_pair, caption)

    def _find_change(self, task_id: TaskId, history: History) -> None:
        workspace = self._open_workspace()
        try:
            pair = change_pair(workspace, history, task_id)
        except BlackbirdError as error:
            show = partial(self.diff.show_text, error.message)
        else:
            show = partial(self.diff.read, workspace, pair)
        self.diff.app.call_from_thread(self._show_if_wanted, (task_id, history), show)

    def _show_if_wanted(self, wanted: tuple[TaskId, History], show: Callable[[], None]) -> None:
        """Show a change, unless another one is wanted by now."""
        if wanted == self._shown:
            show()

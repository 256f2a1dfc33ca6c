"""The runs of a task, newest first, and what the agent of each did."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.worker import get_current_worker

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.runs import RunList, runs_of_task, saved_outputs
from git_blackbird.controller.queries.transcripts import saved_steps
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.events import render_step
from git_blackbird.messages.display.format import format_cost, format_decision, format_moment
from git_blackbird.messages.display.reviews import merged_lines, result_lines
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.agent_io import Progress, ProgressKind
from git_blackbird.model.entities.history import RecordError
from git_blackbird.model.entities.run import Run, RunStatus
from git_blackbird.tui.screens.modal import ChoiceItem, ChoiceList, ScrollingModal
from git_blackbird.tui.widgets.bars import StatusBar
from git_blackbird.tui.widgets.diff_pane import DiffPane
from git_blackbird.tui.widgets.diff_view import DiffView
from git_blackbird.tui.widgets.line_view import WrappedView, section

_KEYS = "up/down choose, v shows the diff, pgup/pgdn and ctrl+end scroll, esc goes back"
_POLL_SECONDS = 1.0
_MAX_FAULTS = 3
_LONGEST_FAULT = 300
_MAX_LINES = 5_000
_MAX_OUTPUT = 1_000_000


class RunsScreen(ScrollingModal[None]):
    """Lists runs, each above the reviews of its change, and shows the log of the run under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "view", "Diff", show=False)]

    def __init__(self, workspace: Workspace, task_id: TaskId, run_list: RunList) -> None:
        super().__init__(f"Runs of {task_id}", _KEYS, "full")
        self._workspace = workspace
        self._task_id = task_id
        self._runs: Sequence[Run] = run_list.runs
        self._faults = run_list.faults
        self._read_id: RunId | None = None

    def compose_body(self) -> ComposeResult:
        yield StatusBar(id="unreadable")
        yield ChoiceList(self._items())
        yield WrappedView(id="log-of-run")
        pane = DiffPane(id="diff-of-run")
        pane.display = False
        yield pane

    @property
    def _log(self) -> WrappedView:
        return self.query_one(WrappedView)

    @property
    def read_widget(self) -> WrappedView | DiffView:
        pane = self.query_one(DiffPane)
        return pane.view if pane.display else self._log

    def on_mount(self) -> None:
        """Tell if there are no runs, and start polling: runs start and end while this is open."""
        self.query_one(StatusBar).show_text(_unreadable(self._faults))
        if not self._runs:
            none = "none of its runs can be read" if self._faults else "it has no runs"
            self._log.show([StyledLine(none, Style.FAINT)])
        self.set_interval(_POLL_SECONDS, self._poll)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        run = self._runs[event.option_index]
        self._read(run)
        if self.query_one(DiffPane).display:
            self._read_diff(run)

    def action_view(self) -> None:
        """Show the diff of the run under the cursor, or its log again."""
        pane, choices = self.query_one(DiffPane), self.query_one(ChoiceList)
        if choices.highlighted is None:
            return
        pane.display, self._log.display = not pane.display, pane.display
        (pane.view if pane.display else choices).focus()
        if pane.display:
            self._read_diff(self._runs[choices.highlighted])

    def action_leave(self) -> None:
        """Go back from the diff to the log, else close the screen."""
        if self.query_one(DiffPane).display:
            self.action_view()
        else:
            self.dismiss_once(None)

    def _read_diff(self, run: Run) -> None:
        pane = self.query_one(DiffPane)
        if run.tree_pair is None:
            pane.show_text(f"run {run.id} has no pair of snapshots to compare")
        else:
            pane.read(self._workspace, run.tree_pair)

    @work(thread=True, exclusive=True, group="poll")
    def _poll(self) -> None:
        """Read what may have changed, in a thread."""
        try:
            run_list = runs_of_task(self._workspace, self._task_id, None)
        except BlackbirdError as error:
            self.app.call_from_thread(self.notify, clean_line(error.message), markup=False)
            return
        if (run_list.runs, run_list.faults) != (self._runs, self._faults):
            self.app.call_from_thread(self._show_runs, run_list)
            return
        for run in run_list.runs:
            if run.id == self._read_id and run.status is RunStatus.RUNNING:
                self.app.call_from_thread(self._read, run)

    def _show_runs(self, run_list: RunList) -> None:
        """Show changed runs, with the cursor on the same run."""
        if not self.is_attached:
            return
        self._runs, self._faults = run_list.runs, run_list.faults
        self.query_one(StatusBar).show_text(_unreadable(self._faults))
        chosen = next((index for index, run in enumerate(self._runs) if run.id == self._read_id), 0)
        self.query_one(ChoiceList).replace_items(self._items(), chosen)

    def _items(self) -> list[ChoiceItem[RunId]]:
        return [ChoiceItem(run.id, _title(run)) for run in self._runs]

    @work(thread=True, exclusive=True, group="read")
    def _read(self, run: Run) -> None:
        """Read a log in a thread: it may be large."""
        try:
            lines = list(_log_lines(self._workspace, run))
        except BlackbirdError as error:
            lines = [StyledLine(clean_line(error.message), Style.WARNING)]
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show, run.id, lines)

    def _show(self, run_id: RunId, lines: Sequence[StyledLine]) -> None:
        """Show a log from its beginning; one that is shown already keeps its scroll position."""
        if not self.is_attached:
            return
        self._log.show(lines, run_id)
        self._read_id = run_id


def _unreadable(faults: Sequence[RecordError]) -> str:
    lines = [f"{fault.path}: {fault.what}" for fault in faults[:_MAX_FAULTS]]
    more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
    return "\n".join(clean_line(f"unreadable: {text}", _LONGEST_FAULT) for text in (*lines, *more))


def _title(run: Run) -> str:
    return (
        f"{run.id}  {run.run_type} {run.status}, {format_decision(run)}, "
        f"{format_moment(run.started_at)}, {format_cost(run.cost_usd)}"
    )


def _log_lines(workspace: Workspace, run: Run) -> Iterator[StyledLine]:
    """Yield error, findings and the last steps of a run; without steps, what its agent printed."""
    if run.error:
        yield StyledLine(clean_line(run.error), Style.WARNING)
    yield from section("Found", map(StyledLine, result_lines(run)))
    yield from section("Reviews", map(StyledLine, merged_lines(run)))
    steps = deque(
        (line for step in saved_steps(workspace, run) for line in _step_lines(step)), maxlen=_MAX_LINES
    )
    heading = f"Log, its last {_MAX_LINES} lines" if len(steps) == _MAX_LINES else "Log"
    yield from section(heading, steps) if steps else _printed_lines(workspace, run)


def _step_lines(step: Progress) -> Iterator[StyledLine]:
    if step.kind is ProgressKind.SAYS:
        yield from map(StyledLine, strip_controls(step.text).strip().splitlines())
    elif step.kind is not ProgressKind.SPENDS:
        yield StyledLine(render_step(step), Style.FAINT)


def _printed_lines(workspace: Workspace, run: Run) -> Iterator[StyledLine]:
    for stream in saved_outputs(workspace, run):
        tail, size = bytearray(), 0
        for piece in stream.pieces:
            tail, size = (tail + piece)[-_MAX_OUTPUT:], size + len(piece)
        lines = strip_controls(tail.decode(errors="replace")).splitlines()
        if tail:
            is_cut = size > _MAX_OUTPUT or len(lines) > _MAX_LINES
            yield StyledLine(f"{stream.name}, its last lines" if is_cut else stream.name, Style.HEADING)
            yield from map(StyledLine, lines[-_MAX_LINES:])

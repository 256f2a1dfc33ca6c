"""The runs of a task, newest first, and what the agent of each did."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.runs import RunList, runs_of_task, saved_outputs
from git_blackbird.controller.queries.transcripts import saved_steps
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.events import step_lines
from git_blackbird.messages.display.reviews import merged_lines, result_lines
from git_blackbird.messages.display.runs import ON_SCREEN, runs_table
from git_blackbird.messages.document import Line, Style, aligned, block, line, plain, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.tui.widgets.bars import StatusBar
from git_blackbird.tui.widgets.line_view import WrappedView, titled
from git_blackbird.tui.widgets.scrolling import SCROLL_BINDINGS, ScrollsText
from git_blackbird.tui.widgets.searching import SEARCH_BINDINGS, SearchesText

_POLL_SECONDS = 1.0
_MAX_FAULTS = 3
_MAX_LINES = 5_000
_MAX_OUTPUT = 1_000_000
_NOTHING = RunList((), ())


class RunsPane(ScrollsText, Vertical, SearchesText):
    """Lists runs, each above the reviews of its change, and shows the log of the run under the cursor.

    ``open_workspace`` gives the workspace of the moment. ``run_list`` takes the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*SCROLL_BINDINGS, *SEARCH_BINDINGS, Binding("v", "view", "Diff")]

    class Chosen(Message):
        """The diff of a run is wanted."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run = run

    def __init__(self, open_workspace: Callable[[], Workspace], *, id: str) -> None:
        super().__init__(id=id)
        self.run_list = OptionList(id="runs-of-task")
        self._headings = Static(id="headings-of-runs", markup=False)
        self._log = WrappedView(id="log-of-run")
        self._faults = StatusBar(id="unreadable")
        self._open_workspace = open_workspace
        self._task_id: TaskId | None = None
        self._list = _NOTHING
        self._logged: Run | None = None

    def compose(self) -> ComposeResult:
        yield self._faults
        yield self._headings
        yield self.run_list
        yield self._log

    def find(self, needle: str, step: int) -> bool:
        return self._log.find(needle, step)

    @property
    def read_widget(self) -> WrappedView:
        return self._log

    @property
    def copied_text(self) -> str:
        """The id of the run under the cursor."""
        index = self.run_list.highlighted
        return "" if index is None else self._list.runs[index].id

    def on_mount(self) -> None:
        """Start polling: runs start and end while this is shown."""
        self.set_interval(_POLL_SECONDS, self.poll)

    def show_task(self, task_id: TaskId | None) -> None:
        """Show the runs of a task."""
        if task_id != self._task_id:
            self._task_id, self._logged = task_id, None
            self._show_runs(task_id, _NOTHING, "")
            self.poll()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        run = self._list.runs[event.option_index]
        if run != self._logged or run.status is RunStatus.RUNNING:
            self._read(run)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_view()

    def action_view(self) -> None:
        """Ask for the diff of the run under the cursor."""
        index = self.run_list.highlighted
        if index is not None:
            self.post_message(self.Chosen(self._list.runs[index]))

    def poll(self) -> None:
        """Read what changed, if this is shown."""
        if self._task_id is not None and self.display:
            self._poll(self._task_id, self._list)

    @work(thread=True, exclusive=True, group="poll")
    def _poll(self, task_id: TaskId, known: RunList) -> None:
        """Read what may have changed, in a thread."""
        try:
            workspace = self._open_workspace()
            found = runs_of_task(workspace, task_id, None)
        except BlackbirdError as error:
            lines = [styled(error.message, Style.WARNING)]
            self.app.call_from_thread(self.read_widget.show, lines)
            return
        is_at_work = any(run.status is RunStatus.RUNNING for run in found.runs)
        if (found.runs, found.faults) != (known.runs, known.faults) or not found.runs or is_at_work:
            now = workspace.environment.timestamp()
            self.app.call_from_thread(self._show_runs, task_id, found, now)

    def _show_runs(self, task_id: TaskId | None, found: RunList, now: str) -> None:
        """Show changed runs, with the cursor on the same run."""
        if not self.is_attached or task_id != self._task_id:
            return
        self._list = found
        self._faults.show_text(_unreadable(found.faults))
        ids = [run.id for run in found.runs]
        chosen = ids.index(self._logged.id) if self._logged and self._logged.id in ids else 0
        heading, *rows = [*aligned(runs_table(found.runs, now, ON_SCREEN), None, cell_len)] or [line("")]
        self._headings.display = bool(rows)
        self._headings.update(heading.text)
        # The colour of a status would hide the cursor: the row says it in a word.
        self.run_list.set_options(Option(Content(row.text)) for row in rows)
        if found.runs:
            self.run_list.highlighted = chosen
        else:
            none = "none of its runs can be read" if found.faults else "it has no runs"
            self.read_widget.show([styled(none, Style.FAINT)])

    @work(thread=True, exclusive=True, group="read")
    def _read(self, run: Run) -> None:
        """Read a log in a thread: it may be large."""
        try:
            lines = list(_log_lines(self._open_workspace(), run))
        except BlackbirdError as error:
            lines = [styled(error.message, Style.WARNING)]
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show, run, lines)

    def _show(self, run: Run, lines: Sequence[Line]) -> None:
        """Show a log from its beginning; one that is shown already keeps its scroll position."""
        if self.is_attached and run.task_id == self._task_id:
            self.read_widget.show(lines, run.id)
            self._logged = run


def _unreadable(faults: Sequence[RecordError]) -> str:
    lines = [f"{fault.path}: {fault.what}" for fault in faults[:_MAX_FAULTS]]
    more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
    return "\n".join(plain(line(f"unreadable: {text}") for text in (*lines, *more)))


def _log_lines(workspace: Workspace, run: Run) -> Iterator[Line]:
    """Yield error, findings and the last steps of a run; without steps, what its agent printed."""
    if run.error:
        yield styled(run.error, Style.WARNING)
    yield from titled("Found", result_lines(run))
    yield from titled("Reviews", merged_lines(run))
    steps = deque(
        (line for step in saved_steps(workspace, run) for line in step_lines(step)), maxlen=_MAX_LINES
    )
    heading = f"Log, its last {_MAX_LINES} lines" if len(steps) == _MAX_LINES else "Log"
    yield from titled(heading, steps) if steps else _printed_lines(workspace, run)


def _printed_lines(workspace: Workspace, run: Run) -> Iterator[Line]:
    for stream in saved_outputs(workspace, run):
        tail, size = bytearray(), 0
        for piece in stream.pieces:
            tail, size = (tail + piece)[-_MAX_OUTPUT:], size + len(piece)
        lines = list(block(tail.decode(errors="replace")))
        if tail:
            is_cut = size > _MAX_OUTPUT or len(lines) > _MAX_LINES
            yield styled(f"{stream.name}, its last lines" if is_cut else stream.name, Style.HEADING)
            yield from lines[-_MAX_LINES:]

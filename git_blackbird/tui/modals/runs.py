"""The runs of a task, newest first, and what the agent of each did."""

from collections import deque
from collections.abc import Iterator, Sequence

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.worker import get_current_worker

from git_blackbird.controller.run_views import RunList, runs_of_task, saved_outputs
from git_blackbird.controller.transcripts import saved_steps
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.event_text import render_step
from git_blackbird.messages.review_text import merged_lines, result_lines
from git_blackbird.messages.run_text import shown_cost, shown_decision, shown_moment
from git_blackbird.model.conversation import Progress, ProgressKind
from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import Run, RunStatus
from git_blackbird.model.text import clean, clean_line
from git_blackbird.tui.banner import Notice
from git_blackbird.tui.line_view import FoldedView
from git_blackbird.tui.lines import section
from git_blackbird.tui.modals.chooser import ChoiceList, Offer
from git_blackbird.tui.modals.scrolling import ScrollingModal

_KEYS = "up/down choose, pgup/pgdn and ctrl+end scroll, esc goes back"
_LOOK_SECONDS = 1.0
_MOST_FAULTS = 3
_LONGEST_FAULT = 300
_MOST_LINES = 5_000
_MOST_OUTPUT = 1_000_000


class RunsScreen(ScrollingModal[None]):
    """Lists runs, each before the reviews of its change; below is the log of the one under the cursor."""

    def __init__(self, workspace: Workspace, task_id: TaskId, listed: RunList) -> None:
        super().__init__()
        self._workspace = workspace
        self._task_id = task_id
        self._runs: Sequence[Run] = listed.runs
        self._faults = listed.faults
        self._read_id: RunId | None = None

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box full"):
            yield Static(f"Runs of {self._task_id}", classes="title", markup=False)
            yield Notice(id="unreadable")
            yield ChoiceList(self._offers())
            yield FoldedView(id="log-of-run")
            yield Static(_KEYS, classes="keys", markup=False)

    @property
    def read_widget(self) -> FoldedView:
        """The log."""
        return self.query_one(FoldedView)

    def on_mount(self) -> None:
        """Say so where there are none; runs come, and come to their ends, while they are looked at."""
        self.query_one(Notice).say(_unreadable(self._faults))
        if not self._runs:
            none = "none of its runs can be read" if self._faults else "it has no runs"
            self.read_widget.show([Line(none, Tone.FAINT)])
        self.set_interval(_LOOK_SECONDS, self._look)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the log of a run."""
        self._read(self._runs[event.option_index])

    @work(thread=True, exclusive=True, group="look")
    def _look(self) -> None:
        """Read again what may have changed, away from the screen."""
        try:
            listed = runs_of_task(self._workspace, self._task_id, None)
        except BlackbirdError as error:
            self.app.call_from_thread(self.notify, clean_line(error.message), markup=False)
            return
        if (listed.runs, listed.faults) != (self._runs, self._faults):
            self.app.call_from_thread(self._renew, listed)
        elif any(run.id == self._read_id and run.status is RunStatus.RUNNING for run in listed.runs):
            self.app.call_from_thread(self._read_again)

    def _renew(self, listed: RunList) -> None:
        """Show other runs, with the cursor on the one that it was on."""
        if not self.is_attached:
            return
        self._runs, self._faults = listed.runs, listed.faults
        self.query_one(Notice).say(_unreadable(self._faults))
        chosen = next((index for index, run in enumerate(self._runs) if run.id == self._read_id), 0)
        self.query_one(ChoiceList).renew(self._offers(), chosen)

    def _read_again(self) -> None:
        for run in self._runs:
            if run.id == self._read_id:
                self._read(run)

    def _offers(self) -> list[Offer[RunId]]:
        return [Offer(run.id, _title(run)) for run in self._runs]

    @work(thread=True, exclusive=True, group="read")
    def _read(self, run: Run) -> None:
        """Read a log away from the screen: it may be large."""
        try:
            lines = list(_log_lines(self._workspace, run))
        except BlackbirdError as error:
            lines = [Line(clean_line(error.message), Tone.WARNING)]
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show, run.id, lines)

    def _show(self, run_id: RunId, lines: Sequence[Line]) -> None:
        """Show a log from its beginning; one that grows, where it is read."""
        if not self.is_attached:
            return
        show = self.read_widget.renew if run_id == self._read_id else self.read_widget.show
        show(lines)
        self._read_id = run_id


def _unreadable(faults: Sequence[RecordFault]) -> str:
    shown = [f"{fault.path}: {fault.what}" for fault in faults[:_MOST_FAULTS]]
    more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
    return "\n".join(clean_line(f"unreadable: {text}", _LONGEST_FAULT) for text in (*shown, *more))


def _title(run: Run) -> str:
    return (
        f"{run.id}  {run.run_type} {run.status}, {shown_decision(run)}, "
        f"{shown_moment(run.started_at)}, {shown_cost(run.cost_usd)}"
    )


def _log_lines(workspace: Workspace, run: Run) -> Iterator[Line]:
    """Give what the run says of itself, and the last steps of its log; without steps, what was printed."""
    if run.error:
        yield Line(clean_line(run.error), Tone.WARNING)
    yield from section("Found", map(Line, result_lines(run)))
    yield from section("Reviews", map(Line, merged_lines(run)))
    steps = deque((line for step in saved_steps(workspace, run) for line in _step(step)), maxlen=_MOST_LINES)
    heading = f"Log, its last {_MOST_LINES} lines" if len(steps) == _MOST_LINES else "Log"
    yield from section(heading, steps) if steps else _printed(workspace, run)


def _step(step: Progress) -> Iterator[Line]:
    if step.kind is ProgressKind.SAYS:
        yield from map(Line, clean(step.text).strip().splitlines())
    elif step.kind is not ProgressKind.SPENDS:
        yield Line(render_step(step), Tone.FAINT)


def _printed(workspace: Workspace, run: Run) -> Iterator[Line]:
    for stream in saved_outputs(workspace, run):
        kept, size = bytearray(), 0
        for piece in stream.pieces:
            kept, size = (kept + piece)[-_MOST_OUTPUT:], size + len(piece)
        lines = clean(kept.decode(errors="replace")).splitlines()
        if kept:
            is_cut = size > _MOST_OUTPUT or len(lines) > _MOST_LINES
            yield Line(f"{stream.name}, its last lines" if is_cut else stream.name, Tone.HEADING)
            yield from map(Line, lines[-_MOST_LINES:])

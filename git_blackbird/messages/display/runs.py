"""A run as a row: each column composed once, for the tables of commands and of the screen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from git_blackbird.messages.display.format import format_decision, run_seconds
from git_blackbird.messages.display.quantities import format_cost, format_moment, format_seconds
from git_blackbird.messages.document import Line, Span, Style, Table, line
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


class Column(StrEnum):
    """What a table says of a run, by its heading."""

    ID = "Run ID"
    TASK = "Task"
    TYPE = "Type"
    STARTED = "Started"
    TOOK = "Took"
    STATUS = "Status"
    EXIT = "Exit"
    COST = "Cost"
    DECISION = "Decision"
    AGENT = "Agent"


OF_TASK = (
    Column.ID,
    Column.TYPE,
    Column.STARTED,
    Column.TOOK,
    Column.STATUS,
    Column.EXIT,
    Column.COST,
    Column.DECISION,
)
OF_ALL_TASKS = (
    Column.ID,
    Column.TASK,
    Column.STARTED,
    Column.TOOK,
    Column.STATUS,
    Column.COST,
    Column.DECISION,
)
# Its outcome first: a narrow pane cuts the rest.
ON_SCREEN = (
    Column.TYPE,
    Column.STATUS,
    Column.DECISION,
    Column.TOOK,
    Column.COST,
    Column.STARTED,
    Column.ID,
    Column.AGENT,
)
_STATES = {
    RunStatus.SUCCESS: Style.DONE,
    RunStatus.FAILED: Style.FAILED,
    RunStatus.RUNNING: Style.WORKING,
    RunStatus.WAITING_USER: Style.WAITING,
    RunStatus.PAUSED: Style.WAITING,
}


def runs_table(runs: Sequence[Run], now: str, columns: Sequence[Column]) -> Table:
    """Return these columns of runs below their headings; no row without any run."""
    if not runs:
        return Table(())
    headings = tuple(Span(column.value, Style.HEADING) for column in columns)
    rows = (tuple(_CELLS[column](run, now) for column in columns) for run in runs)
    flexible = columns.index(Column.TASK) if Column.TASK in columns else -1
    return Table((headings, *rows), flexible)


def run_line(run: Run, now: str) -> Line:
    """Return a run in one line."""
    cell = {column: of(run, now).text for column, of in _CELLS.items()}
    superseded = ", superseded" if run.is_superseded else ""
    done = f"{cell[Column.TYPE]} {cell[Column.STATUS]}{superseded}, {cell[Column.DECISION]}"
    took = f"{cell[Column.STARTED]}, {cell[Column.TOOK]}, {cell[Column.COST]}"
    return line(f"{cell[Column.ID]}  {done}, {took}")


def run_status(run: Run) -> Span:
    """Return the status of a run; that of a superseded one is faint."""
    return Span(run.status.value, Style.FAINT if run.is_superseded else _STATES[run.status])


def _agent(run: Run) -> Iterator[str]:
    yield clean_line(run.provider)
    if run.worker:
        yield f"on {clean_line(run.worker)}"


_CELLS: Mapping[Column, Callable[[Run, str], Span]] = {
    Column.ID: lambda run, _: Span(run.id),
    Column.TASK: lambda run, _: Span(clean_line(run.task_id)),
    Column.TYPE: lambda run, _: Span(run.run_type.value),
    Column.STARTED: lambda run, _: Span(format_moment(run.started_at)),
    Column.TOOK: lambda run, now: Span(format_seconds(run_seconds(run, now))),
    Column.STATUS: lambda run, _: run_status(run),
    Column.EXIT: lambda run, _: Span("-" if run.exit_code is None else str(run.exit_code)),
    Column.COST: lambda run, _: Span(format_cost(run.cost_usd)),
    Column.DECISION: lambda run, _: Span(format_decision(run)),
    Column.AGENT: lambda run, _: Span(" ".join(_agent(run))),
}

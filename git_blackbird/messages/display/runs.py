"""Runs as rows, each column composed once for commands and the screen; and the commits that runs made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from git_blackbird.messages.display.format import agent_text, format_decision, run_seconds
from git_blackbird.messages.display.quantities import format_cost, format_moment, format_seconds
from git_blackbird.messages.document import Line, Span, Style, Table, line, listed, table
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.commits import CommitProvenance, CommitSource, Evidence, RunCommit
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus

MAX_COMMITS = 10
SHORT_OID = 12

_LEFT_BEHIND = "not in history any more: amended, rebased or dropped"
_SOURCES = {
    Evidence.RECORD: "the run's record",
    Evidence.NOTE: "the hook's notes; the run has not ended",
    Evidence.TRAILERS: "the commit's own trailers",
}


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


_CELLS: Mapping[Column, Callable[[Run, str], Span]] = {
    Column.ID: lambda run, _: Span(run.id),
    Column.TASK: lambda run, _: Span(run.task_id),
    Column.TYPE: lambda run, _: Span(run.run_type.value),
    Column.STARTED: lambda run, _: Span(format_moment(run.started_at)),
    Column.TOOK: lambda run, now: Span(format_seconds(run_seconds(run, now))),
    Column.STATUS: lambda run, _: run_status(run),
    Column.EXIT: lambda run, _: Span("-" if run.exit_code is None else str(run.exit_code)),
    Column.COST: lambda run, _: Span(format_cost(run.cost_usd)),
    Column.DECISION: lambda run, _: Span(format_decision(run)),
    Column.AGENT: lambda run, _: Span(agent_text(run)),
}


def commit_lines(commits: Sequence[RunCommit]) -> Iterator[Line]:
    """Yield the first commits, and how many more there are."""
    return listed([_commit_line(commit) for commit in commits], MAX_COMMITS)


def _commit_line(commit: RunCommit) -> str:
    if commit.subject is None:
        text = "(not in this repository any more)"
    else:
        text = commit.subject + ("" if commit.in_history else f"  ({_LEFT_BEHIND})")
    return f"{commit.oid[:SHORT_OID]}  {text}"


def origin_document(origin: CommitProvenance) -> Iterator[Line | Table]:
    """Yield which tasks and runs made a commit, and how that is known."""
    commit = origin.commit
    yield line(Span(f"commit {commit.oid[:SHORT_OID]}", Style.HEADING), f"  {commit.subject}")
    yield table(map(_maker_row, origin.makers), None)
    if not origin.in_history:
        yield line(_LEFT_BEHIND)
    yield line("known from " + _SOURCES[origin.source])
    yield from (_run_command(maker.run) for maker in origin.makers if maker.run is not None)
    for other in origin.instead[:MAX_COMMITS]:
        yield line(f"run {other.run.id} of {other.run.task_id} lists another commit:")
        yield line(f"    {_commit_line(other)}")
    named = {maker.run_id for maker in origin.makers}
    others = {other.run.id: other.run for other in origin.instead if other.run.id not in named}
    yield from map(_run_command, others.values())


def _run_command(run: Run) -> Line:
    return line("    ", TaskCommand("runs", run.task_id, f" {run.id}"))


def _maker_row(maker: CommitSource) -> tuple[Span | str, ...]:
    run = maker.run
    task = f"  task {maker.task_id or '-'}"
    if run is not None:
        return (task, f"run {run.id}", run.run_type.value, run_status(run), format_decision(run))
    if maker.run_id is not None:
        return (task, f"run {maker.run_id}", "no record here", "", "")
    return (task, "names no run", "", "", "")


def by_hand_lines(run: Run, opens: str | None, *, has_terminal: bool) -> Iterator[str]:
    """Yield what opens a session by hand: without a record, and unless a decision is due, with one."""
    if opens is not None:
        yield opens
        if has_terminal and not run.is_pending:
            yield TaskCommand("resume", run.task_id, " --interactive", remark="with a record and a decision")

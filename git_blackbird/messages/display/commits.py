"""Commits of runs, and what opens their sessions."""

from collections.abc import Iterator, Sequence

from git_blackbird.messages.display.format import format_decision
from git_blackbird.messages.display.runs import run_status
from git_blackbird.messages.document import Line, Span, Style, Table, line, listed, table
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.commits import CommitProvenance, CommitSource, Evidence, RunCommit
from git_blackbird.model.run.run import Run

MAX_COMMITS = 10
SHORT_OID = 12

_LEFT_BEHIND = "not in history any more: amended, rebased or dropped"
_SOURCES = {
    Evidence.RECORD: "the run's record",
    Evidence.NOTE: "the hook's notes; the run has not ended",
    Evidence.TRAILERS: "the commit's own trailers",
}


def commit_lines(commits: Sequence[RunCommit]) -> Iterator[Line]:
    """Yield the first commits, and how many more there are."""
    return listed([_commit_line(commit) for commit in commits], MAX_COMMITS)


def _commit_line(commit: RunCommit) -> str:
    if commit.subject is None:
        text = "(not in this repository any more)"
    else:
        text = clean_line(commit.subject) + ("" if commit.in_history else f"  ({_LEFT_BEHIND})")
    return f"{commit.oid[:SHORT_OID]}  {text}"


def origin_document(origin: CommitProvenance) -> Iterator[Line | Table]:
    """Yield which tasks and runs made a commit, and how that is known."""
    commit = origin.commit
    yield line(Span(f"commit {commit.oid[:SHORT_OID]}", Style.HEADING), f"  {clean_line(commit.subject)}")
    yield table(map(_maker_row, origin.makers), None)
    if not origin.in_history:
        yield line(_LEFT_BEHIND)
    yield line("known from " + _SOURCES[origin.source])
    yield from (_run_command(maker.run) for maker in origin.makers if maker.run is not None)
    for other in origin.instead[:MAX_COMMITS]:
        yield line(f"run {other.run.id} of {clean_line(other.run.task_id)} lists another commit:")
        yield line(f"    {_commit_line(other)}")
    named = {maker.run_id for maker in origin.makers}
    others = {other.run.id: other.run for other in origin.instead if other.run.id not in named}
    yield from map(_run_command, others.values())


def _run_command(run: Run) -> Line:
    return line(f"    {TaskCommand('runs', run.task_id, f' {run.id}')}")


def _maker_row(maker: CommitSource) -> tuple[Span | str, ...]:
    run = maker.run
    task = f"  task {clean_line(maker.task_id or '-')}"
    if run is not None:
        return (task, f"run {run.id}", run.run_type.value, run_status(run), format_decision(run))
    if maker.run_id is not None:
        return (task, f"run {clean_line(maker.run_id)}", "no record here", "", "")
    return (task, "names no run", "", "", "")


def by_hand_lines(run: Run, opens: str | None) -> Iterator[str]:
    """Yield what opens a session by hand: without a record, and unless a decision is due, with one."""
    if opens is not None:
        yield opens
        if not run.is_pending:
            yield TaskCommand("resume", run.task_id, " --interactive", remark="with a record and a decision")

"""How a call's end is shown, and what would be or was done."""

from collections.abc import Collection, Iterator, Mapping

from git_blackbird.cli.output import CommandContext, ignore_broken_pipe
from git_blackbird.cli.render.estimate import brief_line
from git_blackbird.cli.render.tables import bounded, render_table
from git_blackbird.controller.change.decide.record import DecisionResult
from git_blackbird.controller.engine.dry_run import DryRun
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.events import render_decided, render_next_steps
from git_blackbird.messages.display.format import moved_lines, render_reset, undo_lines
from git_blackbird.messages.display.reviews import render_failing, render_no_verdict
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.rules.estimate import Estimate
from git_blackbird.model.rules.status import StatusChange
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.events import Phase, Timings
from git_blackbird.model.views.stop import Stop

_THEN = {DecisionState.CHANGES_REQUESTED: "; `git blackbird execute` carries them out"}
_MAX_BLOCKED = 8
_LONGEST_LINE = 2000
_NUMBER_WIDTH = 8


def show_stop(call: CommandContext, stop: Stop, shown: Collection[RunId] = ()) -> ExitCode:
    """Say why the call ended and what to do next, less the reviews shown already; return the exit code."""
    with ignore_broken_pipe():
        call.lines(_reasons(stop, shown))
        call.lines(render_next_steps(stop))
        blocked = sorted(stop.blocked.items())
        lines = [f"blocked: {task_id} waits for {', '.join(deps)}" for task_id, deps in blocked]
        call.lines(bounded(lines, _MAX_BLOCKED, " blocked (`git blackbird list --blocked`)"))
        call.event("events:StopEvent", stop)
    return stop.exit_code


def _reasons(stop: Stop, shown: Collection[RunId]) -> Iterator[str]:
    if not stop.held:
        yield from (clean_line(line, _LONGEST_LINE) for line in stop.text.splitlines())
    for parent in stop.held:
        if parent.run_id in shown or (flagged := parent.flagged) is None:
            continue
        if flagged.fault is None:
            yield from render_failing(parent.task.id, flagged.resume, flagged.feedback)
        else:
            yield render_no_verdict(parent.task.id, flagged.fault)


def show_timings(call: CommandContext, timings: Timings) -> None:
    """Show where the time went: a row for each task, and one for the call."""
    header = ("seconds", *(phase.value for phase in Phase), "other", "all")
    tasks = [_timing_row(task.task_id, task.phases, None, task.seconds) for task in timings.tasks]
    total = _timing_row("in all", timings.phases, timings.other, timings.seconds)
    rows = [
        (name, *(text.rjust(_NUMBER_WIDTH) for text in cells)) for name, *cells in (header, *tasks, total)
    ]
    with ignore_broken_pipe():
        call.lines(render_table(rows, call.columns, flexible=0))
        call.event("events:TimingsEvent", timings)


def _timing_row(
    name: str, phases: Mapping[Phase, float], other: float | None, seconds: float
) -> tuple[str, ...]:
    values = (*(phases.get(phase) for phase in Phase), other, seconds)
    return (name, *("-" if value is None else f"{value:.2f}" for value in values))


def show_dry_run(call: CommandContext, foreseen: DryRun, estimated: Estimate) -> ExitCode:
    """Say what an execute would start, in order, if every task succeeded and every review passed."""
    order, stop = foreseen.order, foreseen.stop
    for number, (what, task) in enumerate(foreseen.steps, start=1):
        named = " ".join(map(clean_line, filter(None, foreseen.agents.get(task.id, ()))))
        by = f"  [{named}]" if named else ""
        call.print(f"{number}. {what}{task.id}  {clean_line(task.title)}{by}")
    if not (order or foreseen.changes or foreseen.requests):
        call.print("nothing would be started")
    if (line := brief_line(estimated)) is not None:
        call.print(line)
    if stop is not None:
        call.lines(_reasons(stop, ()))
        call.lines(render_next_steps(stop))
    call.data("calls:DryRunOutput", foreseen, estimate=estimated)
    return ExitCode.OK


def show_recorded(call: CommandContext, recorded: DecisionResult) -> None:
    """Say what was decided, what moved since, and how a rejected change is taken back."""
    if recorded.decided is not None:
        call.print(render_decided(recorded.decided) + _THEN.get(recorded.decided.state, ""))
    for text in recorded.remarks:
        call.print(f"  {text}")
    for text in recorded.warnings:
        call.warn(text)
    call.lines(f"  {line}" for line in moved_lines(recorded.moved))
    call.lines(undo_lines(recorded.undo))


def show_status_change(call: CommandContext, reset: StatusChange, headline: str) -> None:
    """Say what was set, what that overtook, and what is not undone."""
    call.print(headline)
    for line in render_reset(reset):
        call.print(f"  {line}")
    call.data("plan:StatusChangeOutput", reset)

"""How a call's end is shown, and what was done."""

from collections.abc import Collection, Mapping

from git_blackbird.cli.output import CommandContext, ignore_broken_pipe
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.events import stop_lines
from git_blackbird.messages.display.format import reset_lines
from git_blackbird.messages.document import listed, table
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.rules.status import StatusChange
from git_blackbird.model.views.events import Phase, Timings
from git_blackbird.model.views.stop import Stop

_MAX_BLOCKED = 8
_NUMBER_WIDTH = 8


def show_stop(call: CommandContext, stop: Stop, shown: Collection[RunId] = ()) -> ExitCode:
    """Say why the call ended and what to do next, less the reviews shown already; return the exit code."""
    with ignore_broken_pipe():
        call.show(stop_lines(stop, shown))
        blocked = sorted(stop.blocked.items())
        lines = [f"blocked: {task_id} waits for {', '.join(deps)}" for task_id, deps in blocked]
        call.show(listed(lines, _MAX_BLOCKED, " blocked (`git blackbird list --blocked`)"))
        if call.as_json:
            from git_blackbird.cli.printed.events import StopEvent

            call.event("stop", StopEvent(stop))
    return stop.exit_code


def show_timings(call: CommandContext, timings: Timings) -> None:
    """Show where the time went: a row for each task, and one for the call."""
    header = ("seconds", *(phase.value for phase in Phase), "other", "all")
    tasks = [_timing_row(task.task_id, task.phases, None, task.seconds) for task in timings.tasks]
    total = _timing_row("in all", timings.phases, timings.other, timings.seconds)
    rows = [
        (name, *(text.rjust(_NUMBER_WIDTH) for text in cells)) for name, *cells in (header, *tasks, total)
    ]
    with ignore_broken_pipe():
        call.show([table(rows, flexible=0)])
        if call.as_json:
            from git_blackbird.cli.printed.events import TimingsEvent

            call.event("timings", TimingsEvent(timings))


def _timing_row(
    name: str, phases: Mapping[Phase, float], other: float | None, seconds: float
) -> tuple[str, ...]:
    values = (*(phases.get(phase) for phase in Phase), other, seconds)
    return (name, *("-" if value is None else f"{value:.2f}" for value in values))


def show_status_change(call: CommandContext, reset: StatusChange, headline: str) -> None:
    """Say what was set, what that overtook, and what is not undone."""
    call.print(headline)
    call.show(one.behind("  ") for one in reset_lines(reset))
    if call.as_json:
        from git_blackbird.cli.printed.plan import StatusChangeOutput

        call.data(StatusChangeOutput(reset))

"""What an execute would start, and an estimate of what is left."""

from collections.abc import Iterator

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.engine.dry_run import DryRun
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.events import stop_lines
from git_blackbird.messages.display.plan import blocking_lines, order_lines
from git_blackbird.messages.display.quantities import counted, format_cost, render_duration
from git_blackbird.messages.document import Line, line
from git_blackbird.model.rules.estimate import Estimate, Spread

_LONGEST_CHAIN = 8


def show_dry_run(call: CommandContext, foreseen: DryRun, estimated: Estimate) -> ExitCode:
    """Say what an execute would start, in order, if every task succeeded and every review passed."""
    call.show(order_lines(foreseen.steps, foreseen.agents))
    if not any(foreseen.steps):
        call.print("nothing would be started")
    if (brief := brief_line(estimated)) is not None:
        call.print(brief)
    call.show(blocking_lines(foreseen.findings, "; `git blackbird plan lint` says more"))
    if foreseen.stop is not None:
        call.show(stop_lines(foreseen.stop))
    if call.as_json:
        from git_blackbird.cli.printed.dry_run import DryRunOutput

        call.data(DryRunOutput(foreseen, estimated))
    return ExitCode.OK


def estimate_lines(found: Estimate) -> Iterator[Line]:
    """Yield the lines of an estimate, with what it is based on."""
    if not found.tasks:
        yield line("nothing is left to do")
        return
    if found.task_seconds is None or found.seconds is None or found.chain_seconds is None:
        yield line(f"{counted(len(found.tasks), 'task')} left; no agent has done one here yet to go by")
        return
    at_once = f", {found.jobs} at once" if found.jobs > 1 else ""
    yield line(_row("a task", found.task_seconds, found.task_cost_usd))
    yield line(_row(f"{counted(len(found.tasks), 'task')} left{at_once}", found.seconds, found.cost_usd))
    if len(found.chain) > 1:
        names: list[str] = list(found.chain)
        if len(names) > _LONGEST_CHAIN:
            names[_LONGEST_CHAIN - 2 : -1] = ["..."]
        yield line(f"{_row('the longest chain', found.chain_seconds, None)}: {' -> '.join(names)}")
    done, runs = counted(len(found.samples), "task"), counted(found.runs, "run")
    few = "" if found.seconds.p90 is not None else ", too few for a range"
    yield line(f"by {done} done here ({runs}, reviews included){few}; waiting for people is not in it")


def brief_line(found: Estimate) -> str | None:
    """Return an estimate in one line; None if nothing is known."""
    if found.seconds is None:
        return None
    row = _row(counted(len(found.tasks), "task"), found.seconds, found.cost_usd)
    return f"{row} (by {counted(len(found.samples), 'task')} done here)"


def _row(what: str, seconds: Spread, cost: Spread | None) -> str:
    parts = [render_duration(seconds.median), *([] if cost is None else [format_cost(cost.median)])]
    if seconds.p90 is not None:
        dollars = "" if cost is None or cost.p90 is None else f" and {format_cost(cost.p90)}"
        parts.append(f"9 of 10 times within {render_duration(seconds.p90)}{dollars}")
    return f"{what}: {', '.join(parts)}"

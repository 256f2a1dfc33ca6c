"""The stops of a call that follow from the work on a change."""

from collections.abc import Iterable, Iterator, Sequence

from git_blackbird.clean import one_line
from git_blackbird.controller.change.decide.checkpoint import why_not_resumable
from git_blackbird.controller.core.agents import continue_with_other_agent
from git_blackbird.controller.core.workspace import Workspace, configured_now
from git_blackbird.errors import InterruptedByUserError
from git_blackbird.messages.display.quantities import enough_text, raise_command, spent_text
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import (
    DECIDE_EACH,
    EXECUTE,
    MESSAGE,
    OPTIONS_OF,
    FixedCommand,
    TaskCommand,
    restart_command,
)
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.change.stages import Due
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import OPEN_DECISIONS, RunStatus, RunType
from git_blackbird.model.views.stop import Stop, StopReason, first_of


class NotAgreedError(InterruptedByUserError):
    """A person refused the start of an agent; nothing was started."""


def agent_refused_stop(workspace: Workspace, run: Run) -> Stop:
    """Return the stop where an agent refused to work, with commands for when it works again and till then."""
    paused = run.status is RunStatus.PAUSED
    state = "is paused" if paused else "is unchanged and can be run again"
    again = go_on_command(run) if paused else _retry_command(workspace, run)
    # The whole reason was shown at the end of the run.
    why = one_line((run.error or (run.notes[0] if run.notes else "it refused to work")).rstrip(" ."), 100)
    # Without an exit code no agent was started on its worker: the reason is another's.
    subject = "" if run.is_remote and run.exit_code is None else f"{run.provider}: "
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{subject}{why}; {run.task_id} {state}",
        tuple(filter(None, (run.way_out, again, continue_with_other_agent(workspace, run)))),
        run.task_id,
    )


def _retry_command(workspace: Workspace, run: Run) -> str:
    before = workspace.store.records.history(run.task_id).latest
    if run.run_type is not RunType.EXECUTE or before is None:
        return EXECUTE
    goes_on = before.status is RunStatus.PAUSED or before.decision_state in OPEN_DECISIONS
    return EXECUTE if goes_on else TaskCommand("resume", run.task_id)


def interrupted_stop(when: str = "", *next_steps: str, task_id: TaskId | None = None) -> Stop:
    return Stop(StopReason.INTERRUPTED, f"interrupted {when}".rstrip(), next_steps, task_id)


def open_items_stop(stops: Sequence[Stop]) -> Stop:
    """Return the stop where several decisions or questions were left open."""
    if len(stops) == 1:
        return stops[0]
    first, decisions = first_of(stops), [one for one in stops if one.reason is StopReason.DECISION_REQUIRED]
    others = "or --request-changes -m TEXT, or --reject"
    steps = tuple(
        TaskCommand("decide", stop.task_id or "", " --approve", remark=others)
        if stop in decisions
        else next(iter(stop.next_steps), "")
        for stop in stops
    )
    if len(decisions) > 1:
        steps = (*steps, DECIDE_EACH)
    return Stop(first.reason, "; ".join(_open_texts(stops, decisions)), steps, first.task_id)


def _open_texts(stops: Sequence[Stop], due: Sequence[Stop]) -> Iterator[str]:
    if len(due) > 1:
        yield f"decisions are due on {', '.join(stop.task_id or '' for stop in due)}"
    yield from (stop.text for stop in stops if len(due) < 2 or stop not in due)


def steps_after_rejection(task_id: TaskId) -> tuple[TaskCommand, ...]:
    return (
        TaskCommand("retry", task_id, remark="sets it back to todo; starts nothing"),
        TaskCommand("restart", task_id, blank=MESSAGE, remark="starts it again, with your text"),
    )


def budget_stop(workspace: Workspace, lines: Sequence[BudgetLine], again: TaskCommand) -> Stop:
    """Return the stop where no agent may start before a budget is raised, or ``again`` has one of its own.

    That is enough where this call's was not. What was raised while the call was at work counts for the next.
    """
    set_by, budget = workspace.settings.applied, configured_now(workspace).budget
    configured = [line for line in lines if set_by[line.key].layer is not Layer.FLAG]
    raises = dict.fromkeys(raise_command(line) for line in configured if line.limited_by(budget).is_spent)
    of_call = {line.unit.value: enough_text(line) for line in lines if line.scope is BudgetScope.CALL}
    if of_call and "budget" in OPTIONS_OF.get(again.verb, ()):
        given = (amount.partition("=") for amount in workspace.call_options.budget)
        amounts = {unit: amount for unit, _, amount in given} | of_call
        again = again.with_budget(f"{unit}={amount}" for unit, amount in amounts.items())
    if all(line.scope is BudgetScope.CALL for line in lines):
        steps = (again.with_remark("has a budget of its own"), *raises)
    else:
        steps = (*raises, again.with_remark("goes on then" if raises else "with the budget as it is by now"))
    return Stop(StopReason.BUDGET_SPENT, spent_text(lines), steps)


def execute_again(task_ids: Iterable[str] | None) -> TaskCommand:
    """Return the execute that goes on with these tasks, None for all."""
    rest = "".join(f" {shell_word(task_id)}" for task_id in task_ids or ())
    return TaskCommand("execute", rest=f" --{rest}" if " -" in rest else rest)


def go_on_command(run: Run) -> str:
    """Return the command that goes on with a paused run, in its session if it has one, or with a review."""
    if run.is_review:
        return EXECUTE
    return TaskCommand("resume" if run.provider_session_ref else "restart", run.task_id)


def refused_session_text(run: Run) -> str:
    return f"{agent_in_text(run.provider)} refused session {run.provider_session_ref} of run {run.resumes}"


def lost_session_stop(workspace: Workspace, item: Item) -> Stop | None:
    """Return the stop where a session is known to be lost; None where it may continue."""
    obstacle = why_not_resumable(workspace, item.state.history(item.task.id), item.of_run)
    return None if obstacle is None else undelivered_stop(item, obstacle)


def undelivered_stop(item: Item, why: str, ways_out: tuple[str, ...] = ()) -> Stop:
    """Return the stop where a session is lost."""
    task_id = item.task.id
    what = f"{task_id} cannot be continued"
    if item.due is Due.REQUEST:
        what = f"the change request on {task_id} cannot be delivered"
    # A restart that is named already says where it would be.
    commands = (step for step in ways_out if isinstance(step, FixedCommand))
    is_named = any((command.verb, command.task_id) == ("restart", task_id) for command in commands)
    steps = ways_out if is_named else (*ways_out, restart_command(task_id))
    return Stop(StopReason.AGENT_UNAVAILABLE, f"{what}: {why}", steps, task_id)

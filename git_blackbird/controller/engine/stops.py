"""The stops of a call by an agent or a person, and the notices at its beginning and end."""

from collections.abc import Iterable, Iterator, Sequence

from git_blackbird.controller.change.decide.checkpoint import why_not_resumable
from git_blackbird.controller.core.agents import continue_with_other_agent
from git_blackbird.controller.core.guards import stopped_text
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.reviews import parent_review_status
from git_blackbird.errors import AgentUnavailableError, InterruptedByUserError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import (
    EXECUTE,
    MESSAGE,
    FixedCommand,
    TaskCommand,
    dismiss_command,
    restart_command,
    task_command,
    with_options,
)
from git_blackbird.model.base.sanitize import clean_line, shell_word
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.attention import paused_runs, pending_items, resume_command
from git_blackbird.model.rules.next_action import (
    ApplyChangeRequest,
    CallScope,
    ContinueRun,
    ParentReviewRequired,
)
from git_blackbird.model.rules.state import ParentReviewStatus, PlanState, feedback_below
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import OPEN_DECISIONS, RunStatus, RunType
from git_blackbird.model.views.stop import Stop, StopReason, first_of


def notify_paused(ui: UserInterface, state: PlanState, scope: CallScope) -> None:
    """Name the paused runs of other tasks: their unfinished edits are in the same worktree."""
    for task, run in paused_runs(state):
        if not scope.covers(task.id):
            text = f"{task.id} is paused: its unfinished edits are in {run.worktree_path or 'the worktree'}"
            warn(ui, text, task.id, resume_command(state, task))


def notify_waiting(
    workspace: Workspace, ui: UserInterface, state: PlanState, scope: CallScope, stop: Stop
) -> None:
    """Name the tasks that wait for a person, and the records that block one, unless the stop does."""
    for item in pending_items(state):
        is_paused = item.run is not None and item.run.status is RunStatus.PAUSED
        if not is_paused and not scope.covers(item.task.id) and item.command not in stop.next_steps:
            command = with_options(item.command, workspace.call_options)
            inform(ui, f"{item.task.id} is waiting for you too", item.task.id, command)
    for task_id, faults in state.unreadable.items():
        for fault in faults:
            if fault.hint not in stop.next_steps:
                warn(ui, stopped_text(task_id, (fault,)), task_id, fault.hint)


def unreadable_stop(state: PlanState, call: CallScope) -> Stop | None:
    """Return the stop for tasks that unusable records block; None if there are none."""
    stopped = {task_id: one for task_id, one in state.unreadable.items() if call.covers(task_id)}
    if not stopped:
        return None
    return Stop(
        StopReason.UNREADABLE_RECORD,
        "\n".join(stopped_text(task_id, faults) for task_id, faults in stopped.items()),
        tuple(fault.hint for faults in stopped.values() for fault in faults),
        next(iter(stopped)),
    )


class NotAgreedError(InterruptedByUserError):
    """A person refused the start of an agent; nothing was started."""


def not_started_stop(error: AgentUnavailableError | NotAgreedError) -> Stop:
    """Return the stop where an agent cannot start, or a person did not agree to its start."""
    is_refused = isinstance(error, NotAgreedError)
    reason = StopReason.INTERRUPTED if is_refused else StopReason.AGENT_UNAVAILABLE
    return Stop(reason, error.message, error.ways_out, is_choice=len(error.ways_out) > 1)


def agent_refused_stop(workspace: Workspace, run: Run) -> Stop:
    """Return the stop where an agent refused to work, with commands for when it works again and till then."""
    paused = run.status is RunStatus.PAUSED
    state = "is paused" if paused else "is unchanged and can be run again"
    again = go_on_command(run) if paused else _retry_command(workspace, run)
    # The whole reason was shown at the end of the run.
    why = clean_line(run.error or (run.own.notes[0] if run.own.notes else "it refused to work"), 100)
    # Without an exit code no agent was started on its worker: the reason is another's.
    subject = "" if run.is_remote and run.exit_code is None else f"{run.provider}: "
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{subject}{why}; {run.task_id} {state}",
        tuple(filter(None, (run.own.way_out, again, continue_with_other_agent(workspace, run)))),
        run.task_id,
    )


def _retry_command(workspace: Workspace, run: Run) -> str:
    """Return the command that repeats a refused start."""
    before = workspace.store.records.history(run.task_id).latest
    if run.run_type is not RunType.EXECUTE or before is None:
        return EXECUTE
    goes_on = before.status is RunStatus.PAUSED or before.decision_state in OPEN_DECISIONS
    return EXECUTE if goes_on else task_command("resume", run.task_id)


def agent_stopped_stop(workspace: Workspace, refused: Sequence[Run]) -> Stop:
    """Return the stop for an agent that refused several tasks in unknown words."""
    run = refused[-1]
    names = ", ".join(dict.fromkeys(each.task_id for each in refused))
    shows = f"`git blackbird agent {run.provider}` shows how it is started; fix that"
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{run.provider} refuses every task: {clean_line(run.error or 'it said nothing', 200)};"
        f" {names} are unchanged and can be run again",
        (run.own.way_out or shows, EXECUTE, continue_with_other_agent(workspace, run)),
        run.task_id,
    )


def interrupted_stop(when: str = "", *next_steps: str, task_id: TaskId | None = None) -> Stop:
    """Return the stop after an interrupt."""
    return Stop(StopReason.INTERRUPTED, f"interrupted {when}".rstrip(), next_steps, task_id)


def open_items_stop(stops: Sequence[Stop]) -> Stop:
    """Return the stop where several decisions or questions were left open."""
    if len(stops) == 1:
        return stops[0]
    first = first_of(stops)
    others = "or --request-changes -m TEXT, or --reject"
    steps = tuple(
        task_command("decide", stop.task_id or "", " --approve", remark=others)
        if stop.reason is StopReason.DECISION_REQUIRED
        else next(iter(stop.next_steps), "")
        for stop in stops
    )
    return Stop(first.reason, "; ".join(_open_texts(stops)), steps, first.task_id)


def _open_texts(stops: Sequence[Stop]) -> Iterator[str]:
    """Yield one text for all decisions, and the texts of the other stops."""
    due = [stop for stop in stops if stop.reason is StopReason.DECISION_REQUIRED]
    if len(due) > 1:
        yield f"decisions are due on {', '.join(stop.task_id or '' for stop in due)}"
    yield from (stop.text for stop in stops if len(due) < 2 or stop not in due)


def rejected_stop(task_id: TaskId) -> Stop:
    """Return the stop at a task that was rejected in this call."""
    steps = (
        task_command("retry", task_id, remark="sets it back to todo; starts nothing"),
        task_command("restart", task_id, blank=MESSAGE, remark="starts it again, with TEXT"),
    )
    return Stop(StopReason.FAILED, f"{task_id} was rejected", steps, task_id, is_choice=True)


def joined_steps(steps: Iterable[str], only: Iterable[TaskId] | None) -> Iterator[str]:
    """Yield one command that continues all paused runs, in place of one for each, and the other steps.

    ``only`` are the tasks that the call is about, None for all: others are not to be started by it.
    """
    steps = tuple(dict.fromkeys(steps))
    resumed = [step for step in steps if isinstance(step, TaskCommand) and step.is_only("resume")]
    if len(resumed) > 1:
        names = [] if only is None else [shell_word(step.task_id or "") for step in resumed]
        rest = "".join(f" {name}" for name in names)
        yield TaskCommand("execute", rest=f" --{rest}" if " -" in rest else rest)
    yield from (step for step in steps if len(resumed) < 2 or step not in resumed)


def go_on_command(run: Run) -> str:
    """Return the command that goes on with a paused run, in its session if it has one, or with a review."""
    if run.is_review:
        return EXECUTE
    return task_command("resume" if run.provider_session_ref else "restart", run.task_id)


def refused_session_text(run: Run) -> str:
    """Describe a session that cannot be continued."""
    return (
        f"{agent_in_text(run.provider)} refused session {run.provider_session_ref} of run {run.own.resumes}"
    )


def lost_sessions_stop(runs: Sequence[Run]) -> Stop:
    """Return the stop where these runs were refused their sessions; each was told when it ended."""
    texts = dict.fromkeys(refused_session_text(run) for run in runs)
    steps = dict.fromkeys(restart_command(run.task_id) for run in runs)
    return Stop(StopReason.AGENT_UNAVAILABLE, "; ".join(texts), tuple(steps), runs[0].task_id)


def undeliverable_stop(
    workspace: Workspace, state: PlanState, action: ApplyChangeRequest | ContinueRun
) -> Stop | None:
    """Return the stop where a session is known to be lost; None where it may continue."""
    obstacle = why_not_resumable(workspace, state.history(action.task.id), action.run)
    return None if obstacle is None else undelivered_stop(action, obstacle)


def undelivered_stop(
    action: ApplyChangeRequest | ContinueRun, why: str, ways_out: tuple[str, ...] = ()
) -> Stop:
    """Return the stop where a session is lost."""
    task_id = action.task.id
    what = f"{task_id} cannot be continued"
    if isinstance(action, ApplyChangeRequest):
        what = f"the change request on {task_id} cannot be delivered"
    # A restart that is named already says where it would be.
    commands = (step for step in ways_out if isinstance(step, FixedCommand))
    is_named = any((command.verb, command.task_id) == ("restart", task_id) for command in commands)
    steps = ways_out if is_named else (*ways_out, restart_command(task_id))
    return Stop(StopReason.AGENT_UNAVAILABLE, f"{what}: {why}", steps, task_id)


def parent_review_stop(state: PlanState, action: ParentReviewRequired) -> Stop:
    """Name the parents and leaves, with the commands that go on with each."""
    parents = tuple(parent_review_status(state, parent) for parent in action.parents)
    commands = {item.task.id: item.command for item in pending_items(state)}

    def resume(leaf: Task) -> str:
        return commands.get(leaf.id) or resume_command(state, leaf)

    steps = [resume(leaf) for leaf in action.leaves]
    for parent in parents:
        if parent.fault is not None:
            leaves = feedback_below(state, state.plan.tasks[parent.task_id])
            again = task_command("review run", parent.task_id) if leaves else EXECUTE
            steps += [*(resume(leaf) for leaf in leaves), again, dismiss_command(parent.task_id)]
    return Stop(
        StopReason.PARENT_REVIEW_REQUIRED,
        _parents_text(parents, action.leaves),
        tuple(dict.fromkeys(steps)),
        parents[0].task_id if parents else action.leaves[0].parent,
        held=parents,
    )


def _parents_text(parents: Sequence[ParentReviewStatus], leaves: Sequence[Task]) -> str:
    if not parents:
        have = "has" if len(leaves) == 1 else "have"
        return f"{', '.join(leaf.id for leaf in leaves)} {have} open review feedback"
    failed = ", ".join(parent.task_id for parent in parents if parent.fault is None)
    without_verdict = (
        f"no verdict on {parent.task_id}: {parent.fault}" for parent in parents if parent.fault is not None
    )
    return "; ".join([*([f"parent review failed for {failed}"] if failed else []), *without_verdict])

"""How a call ends: by an agent or a person, or with nothing left to do; and the notices around it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from git_blackbird.clean import one_line
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.stops import (
    NotAgreedError,
    execute_again,
    refused_session_text,
    steps_after_rejection,
)
from git_blackbird.controller.core.agents import agent_name_for, continue_with_other_agent
from git_blackbird.controller.core.guards import stopped_text
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.messages.display.quantities import counted, format_moment, some_of
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import (
    EXECUTE,
    Sentence,
    ShellLine,
    TaskCommand,
    dismiss_command,
    restart_command,
    with_options,
)
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import BY_ITSELF, Due
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import (
    NOTHING_SEEN,
    PENDING,
    REVIEWS_OF_PARENTS,
    Item,
    Seen,
    broken_criteria,
    queue,
    resume_command,
)
from git_blackbird.model.rules.scope import CallScope, review_stops
from git_blackbird.model.rules.state import PlanState, blocked_tasks, feedback_below, ready_tasks
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.stop import Stop, StopReason

_MAX_BROKEN = 5
# Those that are paused are named when the call begins.
_WAITING = PENDING - {Due.ASK_PAUSED, Due.CONTINUE}


def notify_paused(ui: UserInterface, state: PlanState, scope: CallScope) -> None:
    """Name the paused runs of other tasks: their unfinished edits are in the same worktree."""
    for task, run in (*state.due[Due.ASK_PAUSED], *state.due[Due.CONTINUE]):
        if not scope.covers(task.id):
            pairs = [one.tree_pair for one in Change.of(state.history(task.id)).runs]
            has_edits = any(pair is None or not pair.is_empty for pair in pairs)
            where = f": its unfinished edits are in {run.worktree_path or 'the worktree'}"
            warn(ui, f"{task.id} is paused{where if has_edits else ''}", task.id, resume_command(state, task))


def notify_waiting(
    workspace: Workspace, ui: UserInterface, state: PlanState, scope: CallScope, stop: Stop
) -> None:
    """Name the tasks that wait for a person, and the records that block one, unless the stop does."""
    options = workspace.call_options
    for item in queue(state):
        if item.due in _WAITING and not scope.covers(item.task.id) and item.command not in stop.next_steps:
            command = with_options(item.command, options)
            inform(ui, f"{item.task.id} is waiting for you too", item.task.id, command)
    for task_id, faults in state.unreadable.items():
        for fault in faults:
            if fault.hint not in stop.next_steps:
                warn(ui, stopped_text(task_id, (fault,)), task_id, fault.hint)


def notify_without_agent(
    workspace: Workspace, ui: UserInterface, state: PlanState, scope: CallScope, task: Task
) -> None:
    """Name the ready tasks with the same missing agent, if any task has an agent of its own."""
    ready = (other for other in ready_tasks(state) if scope.covers(other.id))
    agents = {other.id: agent_name_for(workspace, other) for other in ready}
    missing = sorted(task_id for task_id, name in agents.items() if name == agents.get(task.id))
    if task.agent is not None or len(missing) < len(agents):
        inform(ui, without_agent_text(missing))


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


def not_started_stop(error: AgentUnavailableError | NotAgreedError) -> Stop:
    is_refused = isinstance(error, NotAgreedError)
    reason = StopReason.INTERRUPTED if is_refused else StopReason.AGENT_UNAVAILABLE
    return Stop(reason, error.message, error.ways_out, is_choice=len(error.ways_out) > 1)


def without_agent_text(task_ids: Iterable[TaskId]) -> str:
    return f"without an agent: {', '.join(task_ids)}"


def agent_stopped_stop(workspace: Workspace, refused: Sequence[Run]) -> Stop:
    """Return the stop for an agent that refused several tasks in unknown words."""
    run = refused[-1]
    names = ", ".join(dict.fromkeys(each.task_id for each in refused))
    shows = Sentence(TaskCommand("agent", rest=f" {run.provider}"), " shows how it is started; fix that")
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{run.provider} refuses every task: {one_line((run.error or 'it said nothing').rstrip(' .'))};"
        f" {names} are unchanged and can be run again",
        (run.way_out or shows, EXECUTE, continue_with_other_agent(workspace, run)),
        run.task_id,
    )


def joined_steps(steps: Iterable[str], only: Iterable[TaskId] | None) -> Iterator[str]:
    """Yield one command that continues all paused runs, in place of one for each, and the other steps.

    ``only`` are the tasks that the call is about, None for all: others are not to be started by it.
    """
    steps = tuple(dict.fromkeys(steps))
    resumed = [step for step in steps if isinstance(step, TaskCommand) and step.is_only("resume")]
    if len(resumed) > 1:
        yield execute_again(None if only is None else [step.task_id or "" for step in resumed])
    yield from (step for step in steps if len(resumed) < 2 or step not in resumed)


def lost_sessions_stop(runs: Sequence[Run]) -> Stop:
    """Return the stop where these runs were refused their sessions; each was told when it ended."""
    texts = dict.fromkeys(refused_session_text(run) for run in runs)
    steps = dict.fromkeys(restart_command(run.task_id) for run in runs)
    return Stop(StopReason.AGENT_UNAVAILABLE, "; ".join(texts), tuple(steps), runs[0].task_id)


def parent_review_stop(state: PlanState, items: Sequence[Item]) -> Stop:
    """Name the parents and leaves with which a person goes on, with the commands for each."""
    parents = tuple(item for item in items if item.due is not Due.FEEDBACK)
    leaves = [item.task for item in items if item.due is Due.FEEDBACK]
    commands = {item.task.id: item.command for item in queue(state) if item.due in PENDING}

    def resume(leaf: Task) -> str:
        return commands.get(leaf.id) or resume_command(state, leaf)

    above = dict.fromkeys(state.feedback[leaf.id].parent_task_id for leaf in leaves)
    several = (
        one
        for one in above
        if one in state.plan.tasks and len(feedback_below(state, state.plan.tasks[one])) > 1
    )
    steps: list[str] = [TaskCommand("resume --all", one, remark="each of these") for one in several]
    places = {leaf.id: place for place, leaf in enumerate(state.plan.leaves())}
    steps += [resume(leaf) for leaf in sorted(leaves, key=lambda leaf: places[leaf.id])]
    for parent in parents:
        if parent.due is not Due.REVIEW_FAILED:
            below = feedback_below(state, parent.task)
            again = TaskCommand("review run", parent.task.id) if below else EXECUTE
            steps += [*(resume(leaf) for leaf in below), again, dismiss_command(parent.task.id)]
    return Stop(
        StopReason.PARENT_REVIEW_REQUIRED,
        _parents_text(parents, leaves),
        tuple(dict.fromkeys(steps)),
        parents[0].task.id if parents else leaves[0].parent,
        held=parents,
    )


def _parents_text(parents: Sequence[Item], leaves: Sequence[Task]) -> str:
    if not parents:
        have = "has" if len(leaves) == 1 else "have"
        return f"{', '.join(leaf.id for leaf in leaves)} {have} open review feedback"
    failed = [parent.task.id for parent in parents if parent.due is Due.REVIEW_FAILED]
    without_verdict = (
        f"no verdict on {parent.task.id}: {parent.why}"
        for parent in parents
        if parent.due is not Due.REVIEW_FAILED
    )
    return "; ".join(
        [*([f"parent review failed for {', '.join(failed)}"] if failed else []), *without_verdict]
    )


def end_of_call(stop: Stop, scope: CallScope, state: PlanState) -> Stop:
    """Return the stop of a call; one that was to go on until a time also says all that is due by then.

    What unblocks most comes first: people come back to it.
    """
    if scope.until is None or stop.is_choice or stop.reason is StopReason.INTERRUPTED:
        return stop
    return replace(stop, next_steps=tuple(dict.fromkeys((*_next_steps(scope, state), *stop.next_steps))))


def last_stop(call: Call, state: PlanState) -> Stop:
    """Return the stop of a call with nothing left to do, with what is blocked, or at reviews."""
    if not call.scope.starts_agents:
        return decided_stop(state, call.scope)
    if held := review_stops(state, call.scope):
        return parent_review_stop(state, held)
    tasks, stop = state.plan.tasks, unreadable_stop(state, call.scope)
    touched = sorted((call.touched | call.rejected) & tasks.keys())
    failed = [task_id for task_id in touched if tasks[task_id].status == Status.FAILED]
    if stop is None and call.not_set_up:
        text = "; ".join(error.message for error in call.not_set_up.values())
        stop = Stop(StopReason.FAILED, text, (EXECUTE,))
    elif stop is None and failed:
        stop = _failed_stop(state, failed)
    elif stop is None:
        next_steps = tuple(_next_steps(call.scope, state))
        stop = Stop(StopReason.COMPLETED, f"{_time_text(call)}{_completed_text(state)}", next_steps)
    return replace(stop, blocked=blocked_tasks(state))


def decided_stop(state: PlanState, scope: CallScope, seen: Seen = NOTHING_SEEN) -> Stop:
    """Return the stop of a call that only decides; what is left to another at work is no next step."""
    due = sum(scope.covers(task.id) for task, _ in state.due[Due.DECIDE])
    text = f"{counted(due, 'decision')} left" if due else "no decision waits"
    steps = tuple(_next_steps(scope, state, seen))
    if seen.call is not None:
        steps = tuple(step for step in steps if isinstance(step, ShellLine))
    return Stop(StopReason.COMPLETED, text, steps)


def _failed_stop(state: PlanState, failed: Sequence[TaskId]) -> Stop:
    """Return the stop for tasks that failed or were rejected in a call."""
    rejected = [task_id for task_id in failed if _is_rejected(state, task_id)]
    others = [task_id for task_id in failed if task_id not in rejected]
    texts = [f"failed: {', '.join(others)}"] if others else []
    if rejected:
        texts.append(f"{', '.join(rejected)} {'was' if len(rejected) == 1 else 'were'} rejected")
    steps = tuple(_steps_after_failures(state, failed))
    only = failed[0] if rejected and len(failed) == 1 else None
    return Stop(StopReason.FAILED, "; ".join(texts), steps, only, is_choice=only is not None)


def _is_rejected(state: PlanState, task_id: TaskId) -> bool:
    run = state.history(task_id).latest
    return run is not None and run.decision_state is DecisionState.REJECTED


def _steps_after_failures(state: PlanState, failed: Iterable[TaskId]) -> Iterable[str]:
    for task_id in failed:
        run = state.history(task_id).latest
        if _is_rejected(state, task_id):
            yield from steps_after_rejection(task_id)
            continue
        if run is not None and run.way_out is not None:
            yield run.way_out
        yield TaskCommand("runs", task_id)


def _time_text(call: Call) -> str:
    until = call.scope.until
    if until is None or not call.is_time_up:
        return ""
    return f"nothing starts after {format_moment(format_timestamp(until))}; "


def _completed_text(state: PlanState) -> str:
    tasks = state.plan.tasks
    if all(task.status == Status.DONE for task in tasks.values()):
        broken = [task.id for task, _ in state.due[Due.BROKEN] if broken_criteria(state, task)]
        but = f", but {some_of(broken, _MAX_BROKEN)} {'is' if len(broken) == 1 else 'are'} broken since"
        return f"every task is done{but if broken else ''}" if tasks else "the plan has no tasks"
    left = len(ready_tasks(state))
    if left:
        return f"this call is done; {left} {'task is' if left == 1 else 'tasks are'} ready"
    return "no ready tasks remaining"


# What the next call does, and what a call has told with a stop of its own.
_NO_STEPS = BY_ITSELF | REVIEWS_OF_PARENTS | {Due.FINISH, Due.UNREADABLE}


def _next_steps(scope: CallScope, state: PlanState, seen: Seen = NOTHING_SEEN) -> Iterable[str]:
    """Return the commands that go on with the plan; failures of earlier calls are not this call's."""
    for item in queue(state, seen):
        if item.due is Due.START:
            yield EXECUTE if seen.call is None else item.command
            return
        if item.due not in _NO_STEPS and scope.covers(item.task.id):
            yield item.command

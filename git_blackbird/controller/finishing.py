"""How a call ends in which nothing is due any more, or whose agent refused."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from git_blackbird.controller.consent import NotAgreedError
from git_blackbird.controller.face import Face
from git_blackbird.controller.unreadable import name_stopped, unreadable_stop
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.commands import EXECUTE, ShellLine, restart_command, task_command, with_options
from git_blackbird.model.due import Call, Nothing
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.findings import MergedReview
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import Owed, owed_by_person, stuck_tasks
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import Run, RunStatus
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.task_review import Next, next_after
from git_blackbird.model.text import clean_line
from git_blackbird.model.unreadable import ready_tasks


@dataclass(frozen=True)
class Done:
    """What a call has done: what it was about, what it touched, and the runs whose session was refused."""

    call: Call
    touched: frozenset[TaskId]
    lost: tuple[Run, ...]


def finish(done: Done, due: Nothing, standing: Standing) -> Stop:
    """Say how a call ends when nothing is due in it any more."""
    if done.lost:
        run = done.lost[0]
        steps = tuple(restart_command(one.task_id) for one in done.lost)
        return Stop(StopReason.AGENT_UNAVAILABLE, refused_session(run), steps, run.task_id, due.blocked)
    stopped = unreadable_stop(standing, done.call)
    if stopped is not None:
        return replace(stopped, blocked=due.blocked)
    failed = [task_id for task_id in sorted(done.touched) if _counts_as_failed(standing, task_id)]
    if failed:
        steps = tuple(task_command("runs", task_id) for task_id in failed)
        return Stop(StopReason.FAILED, f"failed: {', '.join(failed)}", steps, blocked=due.blocked)
    return Stop(
        StopReason.COMPLETED,
        _completed_text(standing),
        tuple(_steps_on(done.call, standing)),
        blocked=due.blocked,
    )


def name_what_waits(workspace: Workspace, face: Face, call: Call, stop: Stop) -> None:
    """Name what the end of a call does not: a call that is about some tasks asks nothing of the others."""
    standing = workspace.standing()
    for owed in owed_by_person(standing):
        if _is_named_at_the_start(owed):
            continue
        if not call.covers(owed.task.id) and owed.command not in stop.next_steps:
            text = f"{owed.task.id} is waiting for you too"
            command = with_options(owed.command, workspace.call_options)
            face.notify(Notice(Weight.INFO, text, command, owed.task.id))
    name_stopped(face, standing, stop)


def _is_named_at_the_start(owed: Owed) -> bool:
    return owed.run is not None and owed.run.status is RunStatus.PAUSED


def _steps_on(call: Call, standing: Standing) -> Iterable[str]:
    """Give the commands that get the plan on; what failed in earlier calls is no failure of this one."""
    waits = {one.task.id: one.command for one in owed_by_person(standing)}
    waits |= {one.task.id: one.command for one in stuck_tasks(standing)}
    yield from (command for task_id, command in waits.items() if call.covers(task_id))
    for task in standing.plan.leaves():
        if task.status == Status.FAILED and call.covers(task.id):
            yield task_command("retry", task.id)
    if ready_tasks(standing):
        yield EXECUTE


def not_started(error: AgentUnavailableError | NotAgreedError) -> Stop:
    """Say that an agent cannot start, or that a person did not agree to it."""
    is_refused = isinstance(error, NotAgreedError)
    reason = StopReason.INTERRUPTED if is_refused else StopReason.AGENT_UNAVAILABLE
    return Stop(reason, error.message, tuple(steps_in(error.hint or "")))


def steps_in(hint: str) -> Iterable[str]:
    """Give the lines of a hint; those that are commands of git's as such."""
    if isinstance(hint, ShellLine):
        yield hint
        return
    for line in hint.splitlines():
        command, _, remark = line.partition("    # ")
        yield ShellLine(command, remark) if command.startswith("git ") else line


def refused(run: Run) -> Stop:
    """Say that an agent refused to work, and what goes on with the task when it does again."""
    paused = run.status is RunStatus.PAUSED
    state = "is paused" if paused else "is unchanged and can be run again"
    again = go_on_command(run) if paused else EXECUTE
    # The end of the run has told it whole.
    why = clean_line(run.error or (run.notes[0] if run.notes else "it refused to work"), 100)
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{run.provider}: {why}; {run.task_id} {state}",
        (run.way_out, again) if run.way_out else (again,),
        run.task_id,
    )


def looked_at(task: Task, merged: MergedReview) -> Stop:
    """Say how reviews by hand ended of a change that nobody is to decide on: nothing follows by itself."""
    if next_after(merged, round_number=1, max_rounds=1) is Next.PROCEED:
        return Stop(StopReason.COMPLETED, f"the reviews of {task.id} approved it", task_id=task.id)
    steps = (task_command("review show", task.id), task_command("resume", task.id, " -m TEXT"))
    return Stop(StopReason.FAILED, f"the reviews of {task.id} did not approve it", steps, task.id)


def interrupted(run: Run) -> Stop:
    """Say that a run was interrupted, and what goes on with it."""
    again = EXECUTE if run.is_review else go_on_command(run)
    return Stop(StopReason.INTERRUPTED, "interrupted", (again,), run.task_id)


def go_on_command(run: Run) -> str:
    """Give the command that goes on with a paused run: in its session, if its agent came to have one."""
    return task_command("resume" if run.provider_session_ref else "restart", run.task_id)


def refused_session(run: Run) -> str:
    """Say that a session cannot go on."""
    return f"{run.provider} refused session {run.provider_session_ref} of run {run.resumes}"


def lost_session(workspace: Workspace, run: Run) -> Notice:
    """Say the same with the way on, while the call goes on with other tasks."""
    hint = restart_command(run.task_id).with_options(workspace.call_options)
    return Notice(Weight.ERROR, f"{run.task_id}: {refused_session(run)}", hint, run.task_id)


def _counts_as_failed(standing: Standing, task_id: TaskId) -> bool:
    task = standing.plan.tasks.get(task_id)
    return task is not None and task.status == Status.FAILED


def _completed_text(standing: Standing) -> str:
    tasks = standing.plan.tasks
    if all(task.status == Status.DONE for task in tasks.values()):
        return "every task is done" if tasks else "the plan has no tasks"
    left = len(ready_tasks(standing))
    if left:
        return f"this call is done; {left} {'task is' if left == 1 else 'tasks are'} ready"
    return "no ready tasks remaining"

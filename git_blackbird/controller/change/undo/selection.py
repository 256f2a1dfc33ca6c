"""Which runs an undo takes back, and which a redo brings back."""

from collections.abc import Sequence

from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.change.work import Work
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import IN_HAND
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Undone
from git_blackbird.model.run.run import Run


def runs_to_undo(state: PlanState, task: Task) -> Sequence[Run]:
    """Return the runs to take back, the last one first. Raises RequestError."""
    history = state.history(task.id)
    if history.latest is not None and history.latest.is_pending:
        hint = task_command("decide", task.id, " --reject --undo", remark="rejects it and takes it back")
        raise RequestError(f"a decision on {task.id} is pending", hint=hint)
    is_half_done = history.latest is not None and (history.latest.landing_begun or history.latest.undoing)
    if task.status in IN_HAND and not is_half_done:
        hint = task_command("retry", task.id, remark="gives up what it was doing; then undo it")
        raise RequestError(f"{task.id} is not finished: it is {task.status.value}", hint=hint)
    work = Work.of(history)
    undone = work.undone
    runs = [run for run in work.runs if run.has_changed_worktree]
    marked = undone[-1] if undone else None
    if not runs and marked and (_is_incomplete(marked.undone) or marked.undoing):
        # The obstacle may be gone, or the change is half brought back.
        runs = [run for run in undone if run.has_changed_worktree]
    if not runs:
        next_step = "`git blackbird runs` shows what tasks changed"
        if undone:
            next_step = task_command("redo", task.id, remark="brings back what was taken back")
        raise RequestError(f"{task.id} has changed nothing that could be taken back", hint=next_step)
    return runs[::-1]


def _is_incomplete(undone: Undone | None) -> bool:
    """Whether an undo left something, which may succeed now."""
    return undone is not None and bool(undone.left or undone.uncommitted)


def runs_to_redo(state: PlanState, task: Task) -> Sequence[Run]:
    """Return the runs to bring back, the first one first. Raises RequestError."""
    work = Work.of(state.history(task.id))
    undone, later = work.undone, work.runs
    if any(run.undoing is not None and not run.is_redoing for run in later):
        # It is half taken back.
        undone, later = later, ()
    runs = [run for run in undone if run.has_changed_worktree]
    if not runs:
        hint = task_command("undo", task.id, remark="takes its change back, or completes that")
        raise RequestError(f"nothing of {task.id} was taken back", hint=hint)
    if any(run.tree_pair is None or run.has_changed_worktree for run in later):
        hint = task_command("undo", task.id, remark="takes back what it did since")
        raise RequestError(f"{task.id} has run again since it was taken back", hint=hint)
    return runs


def has_anything_to_undo(state: PlanState, run: Run) -> bool:
    """Whether anything of a task may be in the user's worktree, by its records."""
    runs = Work.of(state.history(run.task_id)).runs
    return run.is_in_place or any(one.has_changed_worktree for one in runs)

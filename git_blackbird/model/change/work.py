"""The work of a task, all that its changes brought into the user's worktree; and commands for it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from git_blackbird.model.base.next_steps import MESSAGE, Blank, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import Stage, is_closed, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import Landed, LandingDue, Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType


class Work(NamedTuple):
    """What undo, redo and ``branch`` are about."""

    history: History

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs after the last whose change was taken back, oldest first."""
        own = self.history.work_runs
        return own[_end_of_undone(own) :]

    @property
    def undone(self) -> tuple[Run, ...]:
        """The runs whose change was taken back last."""
        own = self.history.work_runs
        end = _end_of_undone(own)
        return own[_end_of_undone(own[: max(end - 1, 0)]) : end]

    @property
    def is_in_worktree(self) -> bool:
        """Whether it is known that the user's worktree has something of it."""
        return any(run.has_changed_worktree for run in self.runs)


def undo_commands(run: Run) -> tuple[TaskCommand, ...]:
    """Return the command that takes the change of a rejected run back; none if it was, or is empty."""
    is_rejected = run.decision_state is DecisionState.REJECTED and run.undone is None
    return (TaskCommand("undo", run.task_id),) if is_rejected and run.has_changed_worktree else ()


def next_step(task: Task, run: Run | None) -> TaskCommand:
    """Return the command that goes on with a task that failed or has no run; this is its newest."""
    if run is None and task.status is Status.QUEUED:
        return TaskCommand("set-status", task.id, " todo")
    undone = None if run is None else run.undone
    return TaskCommand("redo" if undone is not None and undone.redone else "retry", task.id)


def next_steps(run: Run) -> tuple[TaskCommand, ...]:
    """Return how to go on with a task whose newest change was rejected or taken back; () for another."""
    stage, task_id = stage_of(run), run.task_id
    if stage not in {Stage.REJECTED, Stage.UNDONE}:
        return ()
    redo = (TaskCommand("redo", task_id),) if stage is Stage.UNDONE else ()
    tell = (TaskCommand("resume", task_id, blank=MESSAGE),) if run.provider_session_ref else ()
    again = TaskCommand("retry", task_id), TaskCommand("restart", task_id)
    return (*redo, *undo_commands(run), *tell, *again)


def _end_of_undone(own: Sequence[Run]) -> int:
    """Return how many runs there are up to the last whose change was taken back."""
    return next((end for end in range(len(own), 0, -1) if own[end - 1].undone is not None), 0)


def answers_blank(questions: Iterable[Question]) -> Blank | None:
    """Return the blanks for the answers to these questions; without them a person is asked."""
    options = answer_options(questions)
    return Blank(options, for_programs="") if options else None


def answer_options(questions: Iterable[Question]) -> str:
    return "".join(f" --answer {shell_word(question.id)}=VALUE" for question in questions)


def decide_run_command(run: Run) -> TaskCommand:
    """Format the decide command that fits a run; for a failed one the first choice is a retry.

    A run by hand has no agent to request changes from.
    """
    if run.run_type is RunType.MANUAL:
        return TaskCommand("decide", run.task_id, " --approve", remark="or --reject")
    if run.is_change_gone:
        return TaskCommand(
            "restart", run.task_id, remark="or decide --request-changes -m TEXT, or decide --reject"
        )
    # One that was accepted before, and could not land, is not retried.
    if run.status is RunStatus.FAILED and isinstance(run.landing, LandingDue | None):
        others = "accept it as it is with decide --approve, or --request-changes -m TEXT, or --reject"
        return TaskCommand("restart", run.task_id, remark=f"or {others}")
    others = "or --request-changes -m TEXT, or --reject"
    if isinstance(run.landing, Landed):
        others = "or --approve --no-commit, or --reject --undo"  # its commit was refused
    return TaskCommand("decide", run.task_id, " --approve", remark=others)


def is_in_use(history: History) -> bool:
    """Whether an agent is at work on a task, something is due, or a record of it cannot be used."""
    latest = history.latest
    is_waiting = latest is not None and not is_closed(latest)
    is_half_written = any(run.moving is not None for run in history.runs)
    return bool(history.faults) or bool(history.at_work) or is_waiting or is_half_written


def unneeded_runs(history: History) -> tuple[Run, ...]:
    """Return the runs without which status, messages, undo, redo and branch of a task stay as they are.

    Those are attempts that brought nothing to the user's worktree: of a task that is done all in other
    sessions than the run that counts, else those before its present change. None while it is in use.
    """
    latest, change, own = history.latest, Change.of(history), history.work_runs
    if latest is None or is_in_use(history):
        return ()
    is_done = stage_of(latest) is Stage.DONE and own[-1] == latest
    session = [run for run in own if run.provider_session_ref == latest.provider_session_ref]
    present = session if is_done else change.runs
    needed = {run.id for run in (latest, *present, *change.uncommitted, *Work(history).undone)}
    return tuple(run for run in own if run.id not in needed and not run.has_changed_worktree)

"""How a call ends, what it would do, and what a decision led to."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, EventOutput, View
from git_blackbird.cli.schema.common import StepView
from git_blackbird.controller.decisions.record import DecisionResult
from git_blackbird.controller.engine.dry_run import DryRun
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.cli_hints import runnable_steps
from git_blackbird.model.entities.run import DecisionState
from git_blackbird.model.entities.undo import KeptPath
from git_blackbird.model.views.stop import Stop, StopReason


class BlockedParentItem(View):
    """A parent that its review keeps from being done."""

    task: TaskId = Field(description="The parent.")
    run: RunId | None = Field(description="The review.")
    resume: tuple[TaskId, ...] = Field(description="The children that it flags.")
    feedback: str = Field(description="The beginning of what it asks for, in one line.")
    fault: str | None = Field(description="Why there is no verdict.")


class StopEvent(EventOutput):
    """Why the call ended; the last line of a command that runs agents."""

    event: ClassVar[str] = "stop"

    reason: StopReason = Field(description="Why.")
    text: str = Field(description="The same in words.")
    task: TaskId | None = Field(description="The task that it is about.")
    next_steps: tuple[str, ...] = Field(description="The commands among `steps`.")
    steps: tuple[StepView, ...] = Field(description="What to do next.")
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = Field(description="Leaves that wait, and for which tasks.")
    blocked_parents: tuple[BlockedParentItem, ...] = Field(
        description="Parents that their review keeps from being done, with exit code 5."
    )
    exit_code: int = Field(description="The exit code.")

    @classmethod
    def of(cls, stop: Stop) -> Self:
        """Make it of a stop."""
        return cls(
            reason=stop.reason,
            text=stop.text,
            task=stop.task_id,
            next_steps=tuple(runnable_steps(stop.next_steps)),
            steps=tuple(map(StepView.of, stop.next_steps)),
            blocked=stop.blocked,
            blocked_parents=tuple(
                BlockedParentItem(
                    task=one.task_id,
                    run=one.run_id,
                    resume=one.resume,
                    feedback=one.feedback,
                    fault=one.fault,
                )
                for one in stop.held
            ),
            exit_code=int(stop.exit_code),
        )


class DryRunOutput(CommandOutput):
    """What an `execute` would do if every task succeeded and every review passed."""

    schema_name: ClassVar[str] = "execute-dry-run"

    would_resume: tuple[TaskId, ...] = Field(
        description="Tasks whose session would go on: with a change request, or after an interruption."
    )
    would_start: tuple[TaskId, ...] = Field(description="Tasks that would be started, in order.")
    would_review: tuple[TaskId, ...] = Field(description="Parents that would be reviewed.")
    would_review_changes: tuple[TaskId, ...] = Field(description="Tasks whose change would be reviewed.")
    stop: StopEvent | None = Field(
        description="Where it would stop at once: for a parent review, a request that cannot be delivered or "
        "a run that a limit paused; or in the end for a record that cannot be read."
    )

    @classmethod
    def of(cls, foreseen: DryRun) -> Self:
        """Make it of the forecast."""
        order, stop = foreseen.order, foreseen.stop
        return cls(
            would_resume=tuple(task.id for task in foreseen.resumed),
            would_start=tuple(task.id for task in order if task.is_leaf and task not in foreseen.continued),
            would_review=tuple(task.id for task in order if task.children),
            would_review_changes=tuple(task.id for task in foreseen.changes),
            stop=None if stop is None else StopEvent.of(stop),
        )


class DecideOutput(CommandOutput):
    """What a decision led to."""

    schema_name: ClassVar[str] = "decide"

    task: TaskId = Field(description="The task.")
    run: RunId = Field(description="The run.")
    state: DecisionState | None = Field(description="What was decided.")
    moved: tuple[str, ...] = Field(description="Paths of the change that look different in the worktree.")
    undo: tuple[str, ...] = Field(description="Commands that take a rejected change back, each one line.")
    undo_leaves: tuple[KeptPath, ...] = Field(description="Paths that these leave as they are, and why.")
    commit: str | None = Field(description="The id of what an approval committed.")

    @classmethod
    def of(cls, recorded: DecisionResult) -> Self:
        """Make it of a recorded decision."""
        run = recorded.run
        return cls(
            task=run.task_id,
            run=run.id,
            state=run.decision_state,
            moved=recorded.moved,
            undo=recorded.undo.commands,
            undo_leaves=recorded.undo.kept,
            commit=None if recorded.commit is None else recorded.commit.oid,
        )

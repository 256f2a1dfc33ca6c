"""Output of ``status``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View, is_none
from git_blackbird.cli.schema.common import (
    RunInWorktree,
    StepView,
    UnconfirmedView,
    UnreadableRecord,
    step_fields,
)
from git_blackbird.controller.queries.interrupted_approval import InterruptedApproval
from git_blackbird.controller.queries.other_worktrees import RunElsewhere
from git_blackbird.controller.queries.parent_reviews import BlockedParentView, ReviewBlock
from git_blackbird.controller.queries.required import decision_reason
from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.agent_io import Question
from git_blackbird.model.entities.cli_hints import EXECUTE, runnable, runnable_steps, task_command
from git_blackbird.model.entities.findings import FollowUp, MergedVerdict
from git_blackbird.model.entities.run import RunType
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import PendingItem, PendingKind
from git_blackbird.model.rules.review_rounds import merged_or_none

_TASK = "The task."


_RUN = "The run that it is about."


class _PendingFields(View):
    kind: PendingKind = Field(description="What is asked for; `paused` is a run that was interrupted.")
    task: TaskId = Field(description=_TASK)
    run: RunId | None = Field(description=_RUN)


class DuePending(StepView, _PendingFields):
    """Something that a person is asked for."""

    why: str | None = Field(
        default=None,
        exclude_if=is_none,
        description="Why a decision is due, where it is not for the checkpoint alone.",
    )
    questions: tuple[Question, ...] | None = Field(
        default=None, exclude_if=is_none, description="What the agent asks, where the kind is `answers`."
    )

    @classmethod
    def of_item(cls, item: PendingItem) -> "DuePending":
        """Make it of what waits for a person."""
        step, why = step_fields(item.command), decision_reason(item)
        if item.kind is PendingKind.DECISION and item.run is not None:
            merged = merged_or_none(item.run)
            if merged is not None:
                return DueReviewedDecision(
                    kind=item.kind,
                    task=item.task.id,
                    run=item.run_id,
                    why=why,
                    overall=merged.overall,
                    action=merged.action,
                    **step,
                )
        questions = item.questions if item.kind is PendingKind.ANSWERS else None
        return cls(kind=item.kind, task=item.task.id, run=item.run_id, why=why, questions=questions, **step)


class DueReviewedDecision(DuePending):
    """A decision on a change that was reviewed."""

    overall: MergedVerdict | None = Field(description="What both reviews came to; null where one is missing.")
    action: FollowUp | None = Field(description="What they ask for; null where one is missing.")


class DueChangeReview(View):
    """A change that is to be reviewed."""

    kind: Literal["change_review"] = Field(default="change_review", description="What is due.")
    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description="The run whose change it is.")
    command: str = Field(description="The command that has it reviewed.")


class DueParentReview(View):
    """A parent that waits for its review."""

    kind: ReviewBlock = Field(description="What it waits for.")
    task: TaskId = Field(description="The parent.")
    run: RunId | None = Field(description="The review.")
    resume: tuple[TaskId, ...] = Field(description="The children that the review flags.")
    feedback: str = Field(description="The beginning of what it asks for.")
    fault: str | None = Field(description="Why there is no verdict.")
    skipped: tuple[TaskId, ...] = Field(description="Children that the parent is complete without.")
    command: str | None = Field(description="The first of `commands`.")
    commands: tuple[str, ...] = Field(description="Every command that gets the parent on.")
    steps: tuple[StepView, ...] = Field(description="The same, and hints in prose.")

    @classmethod
    def of(cls, waiting: BlockedParentView) -> Self:
        """Make it of how a parent waits."""
        review = waiting.status
        return cls(
            kind=waiting.wait,
            task=waiting.task.id,
            run=review.run_id,
            resume=review.resume,
            feedback=review.feedback,
            fault=review.fault,
            skipped=waiting.skipped,
            command=runnable(waiting.commands[0]),
            commands=tuple(runnable_steps(waiting.commands)),
            steps=tuple(map(StepView.of, waiting.commands)),
        )


class DueRetry(View):
    """A task that failed."""

    kind: Literal["failed"] = Field(default="failed", description="What is due.")
    task: TaskId = Field(description=_TASK)
    why: str | None = Field(description="Why it failed.")
    command: str = Field(description="The command that sets it back to todo.")


class DueStuck(View):
    """A task that nothing would ever get on: the plan says that it is worked on, and it has no run."""

    kind: Literal["stuck"] = Field(default="stuck", description="What is due.")
    task: TaskId = Field(description=_TASK)
    command: str = Field(description="The command that gets it on.")


class _UnreadableFields(View):
    kind: Literal["unreadable"] = Field(default="unreadable", description="What is due.")
    task: TaskId = Field(description=_TASK)
    path: str = Field(description="The record.")
    what: str = Field(description="What is wrong with it.")


class DueUnreadable(StepView, _UnreadableFields):
    """A record that cannot be read and stops its task."""


class DueStart(View):
    """A task that can start."""

    kind: Literal["ready"] = Field(default="ready", description="What is due.")
    task: TaskId = Field(description=_TASK)
    command: str = Field(description="The command that starts it.")


Due = (
    DueReviewedDecision
    | DuePending
    | DueChangeReview
    | DueParentReview
    | DueRetry
    | DueStuck
    | DueUnreadable
    | DueStart
)


def _due(report: StatusReport) -> Iterator[Due]:
    """Yield what is due in the order in which a person should look at it."""
    yield from map(DuePending.of_item, report.pending)
    yield from (
        DueChangeReview(task=one.task.id, run=one.run.id, command=EXECUTE) for one in report.to_review
    )
    yield from map(DueParentReview.of, report.unreviewed)
    for one in report.failed:
        yield DueRetry(task=one.task.id, why=one.why, command=task_command("retry", one.task.id))
    yield from (DueStuck(task=one.task.id, command=one.command) for one in report.stuck)
    for task, faults in report.stopped.items():
        for fault in faults:
            yield DueUnreadable(task=task.id, path=fault.path, what=fault.what, **step_fields(fault.hint))
    yield from (DueStart(task=task.id, command=task_command("execute", task.id)) for task in report.ready)


class LiveRunView(View):
    """A run whose record says that an agent is at work."""

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description="The run.")
    type: RunType = Field(description="What it is for.")
    pid: int | None = Field(description="Its process.")
    alive: bool = Field(description="Whether the process is there.")


class TaskRun(View):
    """A run of a task."""

    task: TaskId = Field(description=_TASK)
    run: RunId | None = Field(description="The run.")


class Drift(View):
    """A status that differs between the plan and the runs."""

    plan: Status = Field(description="What the plan says.")
    runs: Status = Field(description="What the runs say.")


class InterruptedApprovalView(View):
    """An approval that was killed while git committed it."""

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description="The run.")
    commit: str | None = Field(description="What HEAD has of it; null where nothing was committed.")
    command: str = Field(description="The command that finishes it.")

    @classmethod
    def of(cls, one: InterruptedApproval | None) -> Self | None:
        """Make it of such an approval; None where there is none."""
        if one is None:
            return None
        return cls(task=one.task_id, run=one.run_id, commit=one.commit, command=one.command)


class ConfigProblemView(View):
    """Something wrong in the configuration."""

    origin: str = Field(description="The file or variable.")
    key: str = Field(description="The key.")
    what: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do.")
    fatal: bool = Field(description="Whether it stops commands that start or decide.")


class StatusOutput(CommandOutput):
    """Where the plan stands, what runs, and what is due."""

    schema_name: ClassVar[str] = "status"

    leaves: int = Field(description="How many leaves the plan has.")
    parents: int = Field(description="How many parents it has.")
    counts: Mapping[Status, int] = Field(description="How many leaves have each status.")
    locked_by: str | None = Field(description="Who runs agents here, since when.")
    running: tuple[LiveRunView, ...] = Field(description="Runs at work.")
    approving: TaskRun | None = Field(
        description="A decision that is taken, and whose change is being committed."
    )
    due: tuple[Due, ...] = Field(
        description="What is due, in the order in which a person should look at it; `kind` tells which it is."
    )
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = Field(description="Leaves that wait, and for which tasks.")
    skipped: tuple[TaskId, ...] = Field(description="Skipped tasks that others wait for.")
    hints: tuple[str, ...] = Field(description="Commands that get those on.")
    drift: Mapping[TaskId, Drift] = Field(description="Tasks whose status the runs contradict.")
    interrupted_approval: InterruptedApprovalView | None = Field(
        description="An approval that was killed while git committed it."
    )
    deferred_commits: tuple[str, ...] = Field(
        description="Commits of yours that name a task and are still to be recorded."
    )
    unreadable: tuple[UnreadableRecord, ...] = Field(description="Records that cannot be read.")
    unconfirmed: tuple[UnconfirmedView, ...] = Field(description="Records that count for nothing.")
    orphaned_decisions: tuple[TaskRun, ...] = Field(
        description="Runs with a decision due whose task is gone."
    )
    problems: tuple[ConfigProblemView, ...] = Field(description="What is wrong in the configuration.")
    other_worktrees: tuple[RunInWorktree, ...] = Field(
        description="Runs of the plan's tasks in other worktrees."
    )

    @classmethod
    def of(cls, report: StatusReport, elsewhere: Sequence[RunElsewhere]) -> Self:
        """Make it of the overview."""
        approving = report.approving
        return cls(
            leaves=report.leaves,
            parents=report.parents,
            counts={status: report.counts[status] for status in Status},
            locked_by=report.locked_by,
            running=tuple(
                LiveRunView(
                    task=one.run.task_id,
                    run=one.run.id,
                    type=one.run.run_type,
                    pid=one.run.pid,
                    alive=one.alive,
                )
                for one in report.running
            ),
            approving=None if approving is None else TaskRun(task=approving.task.id, run=approving.run_id),
            due=tuple(_due(report)),
            blocked=dict(sorted(report.blocked.items())),
            skipped=report.skipped,
            hints=tuple(runnable_steps(report.hints)),
            drift={
                task_id: Drift(plan=stored, runs=derived)
                for task_id, (stored, derived) in report.drift.items()
            },
            interrupted_approval=InterruptedApprovalView.of(report.interrupted_approval),
            deferred_commits=report.deferred,
            unreadable=UnreadableRecord.all_of(report.unreadable),
            unconfirmed=UnconfirmedView.all_of(report.unconfirmed),
            orphaned_decisions=tuple(
                TaskRun(task=run.task_id, run=run.id) for run in report.orphaned_decisions
            ),
            problems=tuple(
                ConfigProblemView(
                    origin=one.origin, key=one.key, what=one.what, hint=one.hint, fatal=one.fatal
                )
                for one in report.problems
            ),
            other_worktrees=RunInWorktree.all_of(elsewhere),
        )

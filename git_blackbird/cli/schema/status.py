"""Output of ``status``."""

from collections.abc import Mapping
from itertools import chain
from typing import Literal, assert_never

from git_blackbird.cli.schema.base import (
    AdoptableView,
    BudgetView,
    Commands,
    DataOutput,
    LimitView,
    RunInWorktree,
    StepView,
    UnreadableRecord,
    View,
    field,
    is_none,
)
from git_blackbird.controller.queries.attention import (
    FAILED,
    DueItem,
    due_groups,
    in_queue,
    pending_reason,
)
from git_blackbird.controller.queries.reviews import BlockedParentView, ReviewBlock
from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import runnable
from git_blackbird.model.change.stages import OtherKind, PendingKind
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import PendingItem
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.findings import FollowUp, MergedVerdict
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import RunType

_TASK = "The task."
_UNBLOCKS = "How many tasks wait for the answer to this alone, directly or through others."


class _PendingFields(View):
    kind: PendingKind = field("What is asked for; `paused` is a run that was interrupted.")
    task: TaskId = field(_TASK, "task.id")
    run: RunId | None = field("The run that it is about.", "run_id")


def _questions(item: PendingItem) -> tuple[Question, ...] | None:
    return item.questions if item.kind is PendingKind.ANSWERS else None


class DuePending(StepView, _PendingFields):
    """Something that a person is asked for."""

    why: str | None = field(
        "What speaks against an approval (nothing was changed, the check failed, it could not land), or how a"
        " paused run ended that is not known to have finished.",
        using=pending_reason,
        default=None,
        exclude_if=is_none,
    )
    questions: tuple[Question, ...] | None = field(
        "What the agent asks, where the kind is `answers`.",
        using=_questions,
        default=None,
        exclude_if=is_none,
    )
    unblocks: int = field(_UNBLOCKS, default=0)


class DueReviewedDecision(DuePending):
    """A decision on a change that was reviewed."""

    overall: MergedVerdict | None = field("What both reviews came to; null where one is missing.")
    action: FollowUp | None = field("What they ask for; null where one is missing.")


class DueChangeReview(View):
    """A change that is to be reviewed."""

    kind: Literal["change_review"] = field("What is due.", default="change_review")
    task: TaskId = field(_TASK, "task.id")
    run: RunId = field("The run whose change it is.", "run_id")
    command: str = field("The command that has it reviewed.")


class DueLanding(View):
    """A change that is accepted and is to land in the user's worktree, or to be committed there."""

    kind: Literal["landing"] = field("What is due.", default="landing")
    task: TaskId = field(_TASK, "task.id")
    run: RunId = field("The run whose change it is.", "run_id")
    command: str = field("The command that lands or commits it.")
    why: str | None = field("Which task lands before.")


class DueUndo(View):
    """An undo or a redo that was interrupted."""

    kind: Literal["undo"] = field("What is due.", default="undo")
    task: TaskId = field(_TASK, "task.id")
    run: RunId = field("The run that it is noted on.", "run_id")
    command: str = field("The command that completes it.")


def _first_command(waiting: BlockedParentView) -> str | None:
    return runnable(waiting.commands[0])


class DueParentReview(View):
    """A parent that waits for its review."""

    kind: ReviewBlock = field("What it waits for.", "wait")
    task: TaskId = field("The parent.", "task.id")
    run: RunId | None = field("The review.", "status.run_id")
    resume: tuple[TaskId, ...] = field("The children that the review flags.", "status.resume")
    feedback: str = field("The beginning of what it asks for.", "status.feedback")
    fault: str | None = field("Why there is no verdict.", "status.fault")
    skipped: tuple[TaskId, ...] = field("Children that the parent is complete without.")
    command: str | None = field("The first of `commands`.", using=_first_command)
    commands: Commands = field("Every command that gets the parent on.")
    steps: tuple[StepView, ...] = field("The same, and hints in prose.", "commands")
    unblocks: int = field(_UNBLOCKS, default=0)


def _why_failed(item: DueItem) -> str | None:
    return item.why or (None if item.what == FAILED else item.what)


class DueRetry(View):
    """A task that failed."""

    kind: Literal["failed"] = field("What is due.", default="failed")
    task: TaskId = field(_TASK, "task.id")
    why: str | None = field("Why it failed.", using=_why_failed)
    command: str = field("The command that sets it back to todo.")
    unblocks: int = field(_UNBLOCKS, default=0)


class DueStuck(View):
    """A task that nothing would ever get on: the plan says that it is worked on, and it has no run."""

    kind: Literal["stuck"] = field("What is due.", default="stuck")
    task: TaskId = field(_TASK, "task.id")
    command: str = field("The command that gets it on.")
    unblocks: int = field(_UNBLOCKS, default=0)


class _UnreadableFields(View):
    kind: Literal["unreadable"] = field("What is due.", default="unreadable")
    task: TaskId = field(_TASK, "task.id")
    path: str = field("The record.", "source.path")
    what: str = field("What is wrong with it.", "source.what")
    unblocks: int = field(_UNBLOCKS, default=0)


class DueUnreadable(StepView, _UnreadableFields):
    """A record that cannot be read and stops its task."""


class DueStart(View):
    """A task that can start."""

    kind: Literal["ready"] = field("What is due.", default="ready")
    task: TaskId = field(_TASK, "task.id")
    command: str = field("The command that starts it.")


Due = (
    DueReviewedDecision
    | DuePending
    | DueChangeReview
    | DueLanding
    | DueUndo
    | DueParentReview
    | DueRetry
    | DueStuck
    | DueUnreadable
    | DueStart
)


def _due(report: StatusReport) -> list[Due]:
    return [*map(_due_item, in_queue(chain.from_iterable(due_groups(report).values())))]


def _due_item(item: DueItem) -> Due:
    match item.source:
        case PendingItem(run=run, kind=PendingKind.DECISION) if run and (merged := merged_or_none(run)):
            verdict = {"overall": merged.overall, "action": merged.action}
            return DueReviewedDecision.of(item.source, unblocks=item.unblocks, **verdict)
        case PendingItem():
            return DuePending.of(item.source, unblocks=item.unblocks)
        case BlockedParentView():
            return DueParentReview.of(item.source, unblocks=item.unblocks)
        case _:
            return _model_of(OtherKind(item.kind)).of(item)


def _model_of(kind: OtherKind) -> type[Due]:
    match kind:
        case OtherKind.CHANGE_REVIEW:
            return DueChangeReview
        case OtherKind.LANDING:
            return DueLanding
        case OtherKind.UNDO:
            return DueUndo
        case OtherKind.FAILED:
            return DueRetry
        case OtherKind.STUCK:
            return DueStuck
        case OtherKind.UNREADABLE:
            return DueUnreadable
        case OtherKind.READY:
            return DueStart
        case _:
            assert_never(kind)


class LiveRunView(View):
    """A run whose record says that an agent is at work."""

    task: TaskId = field(_TASK, "run.task_id")
    run: RunId = field("The run.", "run.id")
    type: RunType = field("What it is for.", "run.run_type")
    pid: int | None = field("Its process, if that is on this machine.", "run.pid")
    worker: str | None = field("The worker of a cluster that makes it.", "run.worker")
    started_at: str = field("When it started.", "run.started_at")
    worktree: str | None = field("The worktree of its own in which it works.", "run.worktree_path")
    alive: bool = field("Whether the process is there.")


class TaskRun(View):
    """A run of a task."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId | None = field("The run.", "id")


class Drift(View):
    """A status that differs between the plan and the runs."""

    plan: Status = field("What the plan says.")
    runs: Status = field("What the runs say.")


def _drift(report: StatusReport) -> dict[TaskId, Drift]:
    return {task_id: Drift(plan=stored, runs=derived) for task_id, (stored, derived) in report.drift.items()}


class InterruptedApprovalView(View):
    """An approval that was killed while git committed it."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field("The run.", "run_id")
    commit: str | None = field("What HEAD has of it; null where nothing was committed.")
    command: str = field("The command that finishes it.")


class ConfigProblemView(View):
    """Something wrong in the configuration."""

    origin: str = field("The file or variable.")
    key: str = field("The key.")
    what: str = field("What is wrong.")
    hint: str = field("What to do.")
    fatal: bool = field("Whether it stops commands that start or decide.")


class ConflictView(View):
    """Two changes that conflict, or a change and the user's worktree."""

    task: TaskId = field("The task whose change it is.", "task_id")
    other: TaskId | None = field("The other task; null for your worktree.")
    paths: tuple[str, ...] = field("Where they conflict.")


def _counts(report: StatusReport) -> dict[Status, int]:
    return {status: report.counts[status] for status in Status}


def _blocked(report: StatusReport) -> dict[TaskId, tuple[TaskId, ...]]:
    return dict(sorted(report.blocked.items()))


class StatusOutput(DataOutput, schema_name="status"):
    """Counts, runs, and what is due."""

    leaves: int = field("How many leaves the plan has.")
    parents: int = field("How many parents it has.")
    counts: Mapping[Status, int] = field("How many leaves have each status.", using=_counts)
    locked_by: str | None = field("Who runs agents here, since when.")
    limits: tuple[LimitView, ...] = field("The usage limits that agents are at.")
    running: tuple[LiveRunView, ...] = field("Runs at work.")
    approving: TaskRun | None = field(
        "A decision that is taken, and whose change is being committed.", "approving.run"
    )
    due: tuple[Due, ...] = field(
        "What is due, in the order in which a person should look at it; `kind` tells which it is.", using=_due
    )
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field(
        "Leaves that wait, and for which tasks.", using=_blocked
    )
    budgets: tuple[BudgetView, ...] = field(
        "Limits for the plan and the call at work, and of tasks those at work or with nothing left."
    )
    skipped: tuple[TaskId, ...] = field("Skipped tasks that others wait for.")
    hints: Commands = field("Commands that get those on.")
    drift: Mapping[TaskId, Drift] = field("Tasks whose status the runs contradict.", using=_drift)
    interrupted_approval: InterruptedApprovalView | None = field(
        "An approval that was killed while git committed it."
    )
    deferred_commits: tuple[str, ...] = field(
        "Commits of yours that name a task and are still to be recorded.", "deferred"
    )
    unreadable: tuple[UnreadableRecord, ...] = field("Records that cannot be read.")
    adoptable: tuple[AdoptableView, ...] = field(
        "What another program or clone did, and nobody has adopted or left."
    )
    orphaned: tuple[TaskRun, ...] = field(
        "Runs with a decision due, or whose change is half written, whose task is not in the plan."
    )
    problems: tuple[ConfigProblemView, ...] = field("What is wrong in the configuration.")
    other_worktrees: tuple[RunInWorktree, ...] = field("Runs of the plan's tasks in other worktrees.")
    conflicts: tuple[ConflictView, ...] | None = field(
        "Changes that conflict and have not landed; null without `--conflicts`."
    )

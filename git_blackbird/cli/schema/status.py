"""Output of ``status``."""

from collections.abc import Mapping

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
)
from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import Flagged, Item, Merged, Questions
from git_blackbird.model.run.findings import FollowUp, MergedVerdict
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import RunType

_TASK = "The task."


class QuestionsView(View):
    """What an agent asks, where the kind is `answers`."""

    questions: tuple[Question, ...] = field("The questions.")


class MergedView(View):
    """What the reviews of a change say, where the kind is `decision`."""

    overall: MergedVerdict | None = field("What both came to; null where one is missing.")
    action: FollowUp | None = field("What they ask for; null where one is missing.")


class FaultView(View):
    """The record that cannot be read, where the kind is `unreadable`."""

    path: str = field("Its path.")
    what: str = field("What is wrong with it.")


class FlaggedView(View):
    """What the review of a parent says."""

    resume: tuple[TaskId, ...] = field("The children that it flags.")
    feedback: str = field("The beginning of what it asks for.")
    fault: str | None = field("Why there is no verdict.")
    skipped: tuple[TaskId, ...] = field("Children that the parent is complete without.")
    steps: tuple[StepView, ...] = field("Every command that gets the parent on.", "commands")


Details = QuestionsView | MergedView | FaultView | FlaggedView


def _details(item: Item) -> Details | None:
    match item.details:
        case Questions() as questions:
            return QuestionsView.of(questions)
        case Merged() as merged:
            return MergedView.of(merged)
        case RecordError() as fault:
            return FaultView.of(fault)
        case Flagged() as flagged:
            return FlaggedView.of(flagged)
        case _:
            return None


class _ItemFields(View):
    kind: Due = field("What is due.", "due")
    task: TaskId = field("The task, or the parent.", "task.id")
    run: RunId | None = field("The run that it is about; of a parent its review.", "run_id")
    since: str | None = field("Since when, as far as the run has a time for it.")
    what: str = field("What is due, in words.", "words")
    why: str | None = field("What there is to say of it: what speaks against an approval, why it failed.")
    unblocks: int = field("How many tasks wait for the answer to this alone, directly or through others.")
    details: Details | None = field(
        "The questions, the reviews, the record or the review of a parent, by `kind`.", using=_details
    )


class ItemView(StepView, _ItemFields):
    """Something that is due, with the command that answers it."""


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
    due: tuple[ItemView, ...] = field("Everything that is due, in the order in which it is done.")
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

"""Output of ``status``."""

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.base import FoundRecord, HeldAgent, RunInWorktree, SpentBudget, Step, as_step
from git_blackbird.controller.core.guards import RunElsewhere
from git_blackbird.controller.queries.status import Conflict, StatusReport
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import runnable_steps
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.stages import Due
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import (
    Flagged,
    InterruptedApproval,
    Item,
    LiveRun,
    Merged,
    Questions,
)
from git_blackbird.model.run.broken import Broken
from git_blackbird.model.run.findings import FollowUp, MergedVerdict
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType


class MergedReviews(Printed[Merged]):
    """What the reviews of a change say, where the kind is `decision`."""

    field = Fields[Merged]()
    overall: MergedVerdict | None = field(
        "What both came to; null where one is missing.", lambda it: it.overall
    )
    action: FollowUp | None = field("What they ask for; null where one is missing.", lambda it: it.action)


class FlaggedChildren(Printed[Flagged]):
    """What the review of a parent says."""

    field = Fields[Flagged]()
    resume: tuple[TaskId, ...] = field("The children that it flags.", lambda it: it.resume)
    feedback: str = field("The beginning of what it asks for.", lambda it: it.feedback)
    fault: str | None = field("Why there is no verdict.", lambda it: it.fault)
    skipped: tuple[TaskId, ...] = field(
        "Children that the parent is complete without.", lambda it: it.skipped
    )
    steps: tuple[Step, ...] = field(
        "Every command that gets the parent on.", lambda it: tuple(map(as_step, it.commands))
    )


Details = Questions | MergedReviews | Broken | RecordError | FlaggedChildren


def _details(item: Item) -> Details | None:
    match item.details:
        case Merged() as merged:
            return MergedReviews(merged)
        case Flagged() as flagged:
            return FlaggedChildren(flagged)
        case other:
            return other


class QueueItem(Printed[Item]):
    """Something that is due, with the command that answers it."""

    field = Fields[Item]()
    kind: Due = field("What is due.", lambda it: it.due)
    task: TaskId = field("The task, or the parent.", lambda it: it.task.id)
    run: RunId | None = field("The run that it is about; of a parent its review.", lambda it: it.run_id)
    since: str | None = field("Since when, as far as the run has a time for it.", lambda it: it.since)
    what: str = field("What is due, in words.", lambda it: it.words)
    why: str | None = field(
        "What there is to say of it: what speaks against an approval, why it failed.", lambda it: it.why
    )
    unblocks: int = field(
        "How many tasks wait for the answer to this alone, directly or through others.",
        lambda it: it.unblocks,
    )
    details: Details | None = field(
        "The questions, the reviews, the criteria, the record or the review of a parent, by `kind`.", _details
    )
    step: Step = field("", lambda it: as_step(it.command), is_spread=True)


class RunAtWork(Printed[LiveRun]):
    """A run whose record says that an agent is at work."""

    field = Fields[LiveRun]()
    task: TaskId = field("The task.", lambda it: it.run.task_id)
    run: RunId = field("The run.", lambda it: it.run.id)
    type: RunType = field("What it is for.", lambda it: it.run.run_type)
    pid: int | None = field("Its process, if that is on this machine.", lambda it: it.run.pid)
    worker: str | None = field("The worker of a cluster that makes it.", lambda it: it.run.worker)
    started_at: str = field("When it started.", lambda it: it.run.started_at)
    worktree: str | None = field(
        "The worktree of its own in which it works.", lambda it: it.run.worktree_path
    )
    alive: bool = field("Whether the process is there.", lambda it: it.alive)


class TaskRun(Printed[Run]):
    """A run of a task."""

    field = Fields[Run]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId | None = field("The run.", lambda it: it.id)


class Drift(NamedTuple):
    """A status that differs between the plan and the runs."""

    plan: Annotated[Status, Shown("What the plan says.")]
    runs: Annotated[Status, Shown("What the runs say.")]


class StatusOutput(Printed[StatusReport]):
    """Counts, runs, and what is due."""

    def __init__(
        self, report: StatusReport, elsewhere: Iterable[RunElsewhere], conflicts: Iterable[Conflict] | None
    ) -> None:
        super().__init__(report)
        self.other_worktrees = tuple(map(RunInWorktree, elsewhere))
        self.conflicts = None if conflicts is None else tuple(conflicts)

    field = Fields[StatusReport]()
    leaves: int = field("How many leaves the plan has.", lambda it: it.leaves)
    parents: int = field("How many parents it has.", lambda it: it.parents)
    counts: Mapping[Status, int] = field(
        "How many leaves have each status.", lambda it: {status: it.counts[status] for status in Status}
    )
    locked_by: str | None = field(
        "Who runs agents here, since when.", lambda it: it.locked_by and str(it.locked_by)
    )
    limits: tuple[HeldAgent, ...] = field(
        "The usage limits that agents are at.", lambda it: tuple(map(HeldAgent, it.limits))
    )
    running: tuple[RunAtWork, ...] = field("Runs at work.", lambda it: tuple(map(RunAtWork, it.running)))
    approving: TaskRun | None = field(
        "A decision that is taken, and whose change is being committed.",
        lambda it: None if it.approving is None or it.approving.run is None else TaskRun(it.approving.run),
    )
    due: tuple[QueueItem, ...] = field(
        "Everything that is due, in the order in which it is done.", lambda it: tuple(map(QueueItem, it.due))
    )
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field(
        "Leaves that wait, and for which tasks.", lambda it: dict(sorted(it.blocked.items()))
    )
    budgets: tuple[SpentBudget, ...] = field(
        "Limits for the plan and the call at work, and of tasks those at work or with nothing left.",
        lambda it: tuple(map(SpentBudget, it.budgets)),
    )
    skipped: tuple[TaskId, ...] = field("Skipped tasks that others wait for.", lambda it: it.skipped)
    hints: tuple[str, ...] = field("Commands that get those on.", lambda it: tuple(runnable_steps(it.hints)))
    drift: Mapping[TaskId, Drift] = field(
        "Tasks whose status the runs contradict.",
        lambda it: {task_id: Drift(*both) for task_id, both in it.drift.items()},
    )
    interrupted_approval: InterruptedApproval | None = field(
        "An approval that was killed while git committed it.", lambda it: it.interrupted_approval
    )
    deferred_commits: tuple[str, ...] = field(
        "Commits of yours that name a task and are still to be recorded.", lambda it: it.deferred
    )
    unreadable: tuple[RecordError, ...] = field("Records that cannot be read.", lambda it: it.unreadable)
    adoptable: tuple[FoundRecord, ...] = field(
        "What another program or clone did, and nobody has adopted or left.",
        lambda it: tuple(map(FoundRecord, it.adoptable)),
    )
    orphaned: tuple[TaskRun, ...] = field(
        "Runs with a decision due, or whose change is half written, whose task is not in the plan.",
        lambda it: tuple(map(TaskRun, it.orphaned)),
    )
    problems: tuple[ConfigProblem, ...] = field("What is wrong in the configuration.", lambda it: it.problems)
    other_worktrees: Annotated[
        tuple[RunInWorktree, ...], Shown("Runs of the plan's tasks in other worktrees.")
    ]
    conflicts: Annotated[
        tuple[Conflict, ...] | None,
        Shown("Changes that conflict and have not landed; null without `--conflicts`."),
    ]

"""Output of ``runs``, of ``show`` about one task, its prompt or a commit, and of ``review``."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.base import (
    FoundRecord,
    ListedCommit,
    ParentReview,
    RunInShort,
    RunInWorktree,
    Step,
    as_step,
)
from git_blackbird.cli.printed.status import QueueItem
from git_blackbird.cli.printed.tasks import PlannedTask
from git_blackbird.controller.core.guards import RunElsewhere
from git_blackbird.controller.queries.runs import RunList
from git_blackbird.messages.display.reviews import change_steps, parent_steps
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import runnable_steps
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import (
    ChangeReviewView,
    GateState,
    OutstandingFeedback,
    ReviewView,
    merged_or_none,
    missing_texts,
)
from git_blackbird.model.run.commits import CommitProvenance, CommitSource, Evidence, RunCommit
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import Answer
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus
from git_blackbird.model.views.task import TaskView


class RunsOutput(Printed[RunList]):
    """Runs, newest first; those of one task each before the reviews of its change."""

    field = Fields[RunList]()
    runs: tuple[RunInShort, ...] = field("The runs.", lambda it: tuple(map(RunInShort, it.runs)))
    older: int | None = field(
        "How many older ones are not listed; null where some are not counted.", lambda it: it.more
    )
    unreadable: tuple[RecordError, ...] = field("Records that cannot be read.", lambda it: it.faults)


class OneRunOutput(Printed[Run]):
    """One run in full."""

    def __init__(
        self, run: Run, record: Run, prompt: str, logs: Mapping[str, str], commits: Iterable[RunCommit]
    ) -> None:
        super().__init__(run)
        self.record, self.prompt, self.logs = record, prompt, logs
        self.commits = tuple(map(ListedCommit, commits))

    field = Fields[Run]()
    run: RunInShort = field("The run in short.", RunInShort)
    prompt: Annotated[
        str, Shown("What its agent was told, less what every agent is told and the project snapshot.")
    ]
    logs: Annotated[
        Mapping[str, str],
        Shown("The paths of what it printed, by `stdout` and `stderr`; `check` is what the check printed."),
    ]
    commits: Annotated[tuple[ListedCommit, ...], Shown("The commits that it lists.")]
    record: Annotated[Run, Shown("The record, as in its file.")]


class PendingParentFeedback(Printed[Feedback]):
    """What a parent review left pending for a task."""

    field = Fields[Feedback]()
    parent: TaskId = field("The parent.", lambda it: it.parent_task_id)
    run: RunId = field("The review.", lambda it: it.review_run_id)
    feedback: str = field("What is to be changed.", lambda it: it.feedback)


class ShowOutput(Printed[TaskView]):
    """One task, and why it is or is not ready."""

    def __init__(
        self, view: TaskView, commits: Iterable[RunCommit], elsewhere: Iterable[RunElsewhere]
    ) -> None:
        super().__init__(view)
        self.commits = tuple(map(ListedCommit, commits))
        self.other_worktrees = tuple(map(RunInWorktree, elsewhere))

    field = Fields[TaskView]()
    task: PlannedTask = field("The task.", lambda it: PlannedTask(it.task, it.label))
    is_ready: bool = field("Whether it can start now.", lambda it: it.readiness.is_ready)
    reasons: tuple[str, ...] = field("Why it cannot.", lambda it: it.readiness.reasons)
    hints: tuple[str, ...] = field(
        "Commands that get it on.", lambda it: tuple(runnable_steps(it.readiness.hints))
    )
    dependents: tuple[TaskId, ...] = field(
        "Tasks that depend on it.", lambda it: tuple(task.id for task in it.dependents)
    )
    skipped_children: tuple[TaskId, ...] = field(
        "Children that the parent is complete without.", lambda it: it.skipped
    )
    due: tuple[QueueItem, ...] = field(
        "What is due of it, in the order in which it is done.", lambda it: tuple(map(QueueItem, it.due))
    )
    undo: tuple[str, ...] = field(
        "Commands that take a rejected change back, each one line.", lambda it: it.undo
    )
    pending_feedback: PendingParentFeedback | None = field(
        "Feedback of a parent review that its agent must still be told.",
        lambda it: None if it.words.review is None else PendingParentFeedback(it.words.review),
    )
    pending_texts: tuple[str, ...] = field(
        "Requests that its agent must still be told.", lambda it: it.words.texts
    )
    pending_answers: tuple[Answer, ...] = field(
        "Answers that its agent must still be told.", lambda it: it.words.answers
    )
    runs: tuple[RunInShort, ...] = field(
        "Its runs, newest first.", lambda it: tuple(map(RunInShort, it.history.runs[::-1]))
    )
    unreadable: tuple[RecordError, ...] = field(
        "Records of it that cannot be read.", lambda it: it.unreadable
    )
    adoptable: tuple[FoundRecord, ...] = field(
        "What another program or clone did of it.", lambda it: tuple(map(FoundRecord, it.adoptable))
    )
    commits: Annotated[tuple[ListedCommit, ...], Shown("The commits that its runs list.")]
    other_worktrees: Annotated[tuple[RunInWorktree, ...], Shown("Its runs in other worktrees.")]


class CommitMaker(Printed[CommitSource]):
    """A run that made a commit."""

    field = Fields[CommitSource]()
    task: str | None = field("The task.", lambda it: it.task_id)
    run: str | None = field("The run; null where nobody knows it.", lambda it: it.run_id)
    record: RunInShort | None = field(
        "The run in short; null where its record is gone.",
        lambda it: None if it.run is None else RunInShort(it.run),
    )


class ShowCommitOutput(Printed[CommitProvenance]):
    """Which tasks and runs made a commit."""

    field = Fields[CommitProvenance]()
    commit: str = field("Its full id.", lambda it: it.commit.oid)
    subject: str = field("The first line of its message.", lambda it: it.commit.subject)
    in_history: bool = field("Whether a branch, a tag or HEAD leads to it.", lambda it: it.in_history)
    known_from: Evidence = field("How it is known.", lambda it: it.source)
    made_by: tuple[CommitMaker, ...] = field("Who made it.", lambda it: tuple(map(CommitMaker, it.makers)))
    runs_list_instead: tuple[ListedCommit, ...] = field(
        "Where only the trailers tell: what the runs of these tasks list instead.",
        lambda it: tuple(map(ListedCommit, it.instead)),
    )


class ParentVerdict(Printed[Run]):
    """The review of a parent that counts."""

    field = Fields[Run]()
    run: RunId = field("The review.", lambda it: it.id)
    review: ParentReview = field("", ParentReview, is_spread=True)


class ReviewAttempt(Printed[Run]):
    """A review without a verdict."""

    field = Fields[Run]()
    run: RunId = field("The review.", lambda it: it.id)
    status: RunStatus = field("How it ended.", lambda it: it.status)
    error: str | None = field("Why.", lambda it: it.error)


class PendingFeedback(Printed[OutstandingFeedback]):
    """Feedback of a parent review that an agent must still be told, and the command that sends it."""

    field = Fields[OutstandingFeedback]()
    task: TaskId = field("The task that it is for.", lambda it: it.task.id)
    run: RunId = field("The review.", lambda it: it.feedback.review_run_id)
    feedback: str = field("What is to be changed.", lambda it: it.feedback.feedback)
    step: Step = field("", lambda it: as_step(it.command), is_spread=True)


class ParentReviewOutput(Printed[ReviewView]):
    """The state of a parent's review."""

    field = Fields[ReviewView]()
    task: TaskId = field("The parent.", lambda it: it.parent.id)
    title: str = field("Its title.", lambda it: it.parent.title)
    status: Status = field("Its status.", lambda it: it.parent.status)
    gate: GateState | None = field(
        "Whether its review lets it be done; null while a child is open, or when all are skipped.",
        lambda it: it.gate,
    )
    open_children: tuple[TaskId, ...] = field(
        "Children that are still to be done.", lambda it: it.open_children
    )
    skipped_children: tuple[TaskId, ...] = field(
        "Children that the parent is complete without.", lambda it: it.skipped
    )
    verdict: ParentVerdict | None = field(
        "The review that counts.", lambda it: None if it.said is None else ParentVerdict(it.said)
    )
    is_present: bool = field("Whether it is about the children as they are now.", lambda it: it.is_present)
    attempts: tuple[ReviewAttempt, ...] = field(
        "Later reviews without a verdict.", lambda it: tuple(map(ReviewAttempt, it.attempts))
    )
    pending_feedback: tuple[PendingFeedback, ...] = field(
        "Feedback that agents must still be told.", lambda it: tuple(map(PendingFeedback, it.outstanding))
    )
    reviews: tuple[RunInShort, ...] = field(
        "Its reviews, newest first.", lambda it: tuple(map(RunInShort, it.reviews[::-1]))
    )
    next_steps: tuple[str, ...] = field(
        "Commands that get on with it.", lambda it: tuple(runnable_steps(parent_steps(it)))
    )


class ReviewRound(Printed[Run]):
    """One round of reviews of a change."""

    field = Fields[Run]()
    run: RunId = field("The run whose change it was.", lambda it: it.id)
    round: int | None = field("Its number.", lambda it: it.review_round)
    review: MergedReview | None = field("Both reviews as one.", merged_or_none)


class ChangeReviewOutput(Printed[ChangeReviewView]):
    """The state of the reviews of a leaf's change."""

    field = Fields[ChangeReviewView]()
    task: TaskId = field("The task.", lambda it: it.task.id)
    title: str = field("Its title.", lambda it: it.task.title)
    status: Status = field("Its status.", lambda it: it.task.status)
    run: RunId | None = field("Its latest run.", lambda it: None if it.run is None else it.run.id)
    review_state: ReviewState | None = field(
        "How the reviews of that run's change stand.",
        lambda it: None if it.run is None else it.run.review_state,
    )
    decision: DecisionState | None = field(
        "What was decided on it.", lambda it: None if it.run is None else it.run.decision_state
    )
    round: int | None = field(
        "The round of reviews.", lambda it: None if it.run is None else it.run.review_round
    )
    max_rounds: int = field("How many rounds there may be.", lambda it: it.max_rounds)
    review: MergedReview | None = field("Both reviews as one.", lambda it: it.merged)
    missing: tuple[str, ...] = field(
        "What a reviewer without a result did wrong.",
        lambda it: () if it.merged is None else missing_texts(it.merged, it.about),
    )
    rounds: tuple[ReviewRound, ...] = field(
        "Every round, oldest first.", lambda it: tuple(map(ReviewRound, it.rounds))
    )
    reviews: tuple[RunInShort, ...] = field(
        "Every try of both reviewers.", lambda it: tuple(map(RunInShort, it.about))
    )
    next_steps: tuple[str, ...] = field(
        "Commands that get on with it.", lambda it: tuple(runnable_steps(change_steps(it)))
    )

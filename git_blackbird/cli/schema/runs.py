"""Output of ``runs``, of ``show`` about one task, its prompt or a commit, and of ``review``."""

from collections.abc import Collection, Mapping
from typing import Any

from git_blackbird.cli.schema.base import (
    AdoptableView,
    Commands,
    CommitView,
    DataOutput,
    ParentReviewView,
    PathText,
    RunInWorktree,
    RunView,
    StepView,
    UnreadableRecord,
    View,
    field,
)
from git_blackbird.cli.schema.plan import PlannedTask
from git_blackbird.cli.schema.status import ItemView
from git_blackbird.controller.change.export import RestoreResult
from git_blackbird.controller.place.listing import PlaceState
from git_blackbird.messages.display.reviews import change_steps, parent_steps
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import ChangeReviewView, GateState, merged_or_none, missing_texts
from git_blackbird.model.run.commits import Evidence
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.parts import Answer
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, DecisionState, ReviewState, RunStatus, Verb
from git_blackbird.model.run.summary import KeptPath, Summary
from git_blackbird.model.views.task import TaskView

_NEXT_STEPS = "Commands that get on with it."


def _newest_first(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    return runs[::-1]


class RunsOutput(DataOutput, schema_name="runs"):
    """Runs, newest first; those of one task each before the reviews of its change."""

    runs: tuple[RunView, ...] = field("The runs.")
    older: int | None = field("How many older ones are not listed; null where some are not counted.", "more")
    unreadable: tuple[UnreadableRecord, ...] = field("Records that cannot be read.", "faults")


class OneRunOutput(DataOutput, schema_name="runs-one"):
    """One run in full."""

    run: RunView = field("The run in short.")
    prompt: str = field("What its agent was told, less what every agent is told and the project snapshot.")
    logs: Mapping[str, str] = field(
        "The paths of what it printed, by `stdout` and `stderr`; `check` is what the check printed."
    )
    commits: tuple[CommitView, ...] = field("The commits that it lists.")
    record: Run = field("The record, as in its file.")


class FeedbackView(View):
    """What a parent review left pending for a task."""

    parent: TaskId = field("The parent.", "parent_task_id")
    run: RunId = field("The review.", "review_run_id")
    feedback: str = field("What is to be changed.")


def _task(view: TaskView) -> PlannedTask:
    return PlannedTask.of(view.task, label=view.label)


def _folder(result: RestoreResult) -> str | None:
    return None if result.folder is None else str(result.folder)


class ShowOutput(DataOutput, schema_name="show"):
    """One task, and why it is or is not ready."""

    task: PlannedTask = field("The task.", using=_task)
    is_ready: bool = field("Whether it can start now.", "readiness.is_ready")
    reasons: tuple[str, ...] = field("Why it cannot.", "readiness.reasons")
    hints: Commands = field("Commands that get it on.", "readiness.hints")
    dependents: tuple[TaskId, ...] = field("Tasks that depend on it.", "dependents", each="id")
    skipped_children: tuple[TaskId, ...] = field("Children that the parent is complete without.", "skipped")
    due: tuple[ItemView, ...] = field("What is due of it, in the order in which it is done.")
    undo: tuple[str, ...] = field("Commands that take a rejected change back, each one line.")
    pending_feedback: FeedbackView | None = field(
        "Feedback of a parent review that its agent must still be told.", "words.review"
    )
    pending_texts: tuple[str, ...] = field("Requests that its agent must still be told.", "words.texts")
    pending_answers: tuple[Answer, ...] = field("Answers that its agent must still be told.", "words.answers")
    runs: tuple[RunView, ...] = field("Its runs, newest first.", "history.runs", using=_newest_first)
    unreadable: tuple[UnreadableRecord, ...] = field("Records of it that cannot be read.")
    adoptable: tuple[AdoptableView, ...] = field("What another program or clone did of it.")
    commits: tuple[CommitView, ...] = field("The commits that its runs list.")
    other_worktrees: tuple[RunInWorktree, ...] = field("Its runs in other worktrees.")


def _brings_back(verb: Verb) -> bool:
    return not VERBS[verb].takes_back


class UndoOutput(DataOutput, schema_name="undo"):
    """What `undo` took out of the worktree, or `redo` brought back."""

    task: TaskId = field("The task.", "task.id")
    run: RunId = field("The last run whose change it was.", "run.id")
    is_redo: bool = field("Whether it was brought back.", "verb", using=_brings_back)
    is_dry_run: bool = field("Whether nothing was changed, only shown.")
    summary: Summary = field("What that changed in the worktree.")
    kept: tuple[KeptPath, ...] = field("Paths that stay as they are, and why.")
    is_whole: bool = field(
        "Whether the index, and every file not in `kept` for edits of others, could be written;"
        " of a redo, whether all came back."
    )
    dependents: tuple[TaskId, ...] = field("Tasks that depend on it and have run since.")
    completes: tuple[str, ...] = field(
        "Each earlier `undo TASK` or `redo TASK` of which this does what it left."
    )
    commit: str | None = field("The id of the commit that was made for it.")
    uncommitted: str | None = field("Why there is no commit, though the change was committed.")
    behind: str | None = field("Why the index does not follow the commit.")


class BranchOutput(DataOutput, schema_name="branch"):
    """The branch that was made of a task's change."""

    task: TaskId = field("The task.", "task_id")
    name: str = field("The name of the branch.")
    commit: str = field("The id of its commit.")
    parent: str | None = field("The commit that it begins at; null in a repository without commits.")
    summary: Summary = field("What the commit changes.")
    remote: str | None = field("The remote that it was pushed to.")
    request: str | None = field("The address of the request to merge it.")


class RestoreOutput(DataOutput, schema_name="restore"):
    """Where the files of a run are now."""

    task: TaskId | None = field("The task; null for files of a removed worktree.", "task_id")
    run: RunId | None = field("The run; null for files of a removed worktree.", "run_id")
    kept: str | None = field("The reference of the removed worktree, if it was one.")
    commit: str = field("The id of a commit of these files.")
    branch: str | None = field("The branch, if one was asked for.")
    folder: str | None = field("The worktree, if one was asked for.", using=_folder)


class WorktreeView(View):
    """The worktree of a task."""

    task: TaskId = field("The task.", "task_id")
    path: PathText = field("Its folder.")
    state: PlaceState = field("What is going on in it.")
    since: str | None = field("When the last run there started; null where none has.")
    disk_bytes: int = field("How much room its files take.")


class WorktreesOutput(DataOutput, schema_name="worktrees"):
    """The worktrees of tasks."""

    worktrees: tuple[WorktreeView, ...] = field("The worktrees.")


class PrunedWorktree(WorktreeView):
    """A worktree that was removed, would be, or stays."""

    reason: str | None = field("Why it stays; null where it does not.")
    kept: str | None = field("The reference with its files, if they were edited after its last run.")

    @classmethod
    def read(cls, value: Any, given: Collection[str] = frozenset()) -> dict[str, object]:
        """Read the worktree, and why it stays."""
        return {
            **super().read(value.place, {*given, "reason", "kept"}),
            "reason": value.reason,
            "kept": value.kept,
        }


class PrunedWorktreesOutput(DataOutput, schema_name="worktrees-prune"):
    """What became of the worktrees of tasks."""

    worktrees: tuple[PrunedWorktree, ...] = field("The worktrees.")


class ShowPromptOutput(DataOutput, schema_name="show-prompt"):
    """The prompt that the agent of a task would get now."""

    task: TaskId = field("The task.")
    agent: str = field("The agent.")
    prompt: str = field("The prompt, in prose.")
    context: Mapping[str, object] = field("The context pack.")
    project_file: str | None = field(
        "The file from which a new session is told of the project.", "overview.file"
    )


class CommitMaker(View):
    """A run that made a commit."""

    task: str | None = field("The task.", "task_id")
    run: str | None = field("The run; null where nobody knows it.", "run_id")
    record: RunView | None = field("The run in short; null where its record is gone.", "run")


class ShowCommitOutput(DataOutput, schema_name="show-commit"):
    """Which tasks and runs made a commit."""

    commit: str = field("Its full id.", "commit.oid")
    subject: str = field("The first line of its message.", "commit.subject")
    in_history: bool = field("Whether a branch, a tag or HEAD leads to it.")
    known_from: Evidence = field("How it is known.", "source")
    made_by: tuple[CommitMaker, ...] = field("Who made it.", "makers")
    runs_list_instead: tuple[CommitView, ...] = field(
        "Where only the trailers tell: what the runs of these tasks list instead.", "instead"
    )


class _VerdictRun(View):
    run: RunId = field("The review.", "id")


class VerdictView(ParentReviewView, _VerdictRun):
    """The review of a parent that counts."""


class ReviewAttempt(View):
    """A review without a verdict."""

    run: RunId = field("The review.", "id")
    status: RunStatus = field("How it ended.")
    error: str | None = field("Why.")


class _FeedbackFields(View):
    task: TaskId = field("The task that it is for.", "task.id")
    run: RunId = field("The review.", "feedback.review_run_id")
    feedback: str = field("What is to be changed.", "feedback.feedback")


class PendingFeedback(StepView, _FeedbackFields):
    """Feedback of a parent review that an agent must still be told, and the command that sends it."""


class ParentReviewOutput(DataOutput, schema_name="review-parent"):
    """The state of a parent's review."""

    task: TaskId = field("The parent.", "parent.id")
    title: str = field("Its title.", "parent.title")
    status: Status = field("Its status.", "parent.status")
    gate: GateState | None = field(
        "Whether its review lets it be done; null while a child is open, or when all are skipped."
    )
    open_children: tuple[TaskId, ...] = field("Children that are still to be done.")
    skipped_children: tuple[TaskId, ...] = field("Children that the parent is complete without.", "skipped")
    verdict: VerdictView | None = field("The review that counts.", "said")
    is_present: bool = field("Whether it is about the children as they are now.")
    attempts: tuple[ReviewAttempt, ...] = field("Later reviews without a verdict.")
    pending_feedback: tuple[PendingFeedback, ...] = field(
        "Feedback that agents must still be told.", "outstanding"
    )
    reviews: tuple[RunView, ...] = field("Its reviews, newest first.", "reviews", using=_newest_first)
    next_steps: Commands = field(_NEXT_STEPS, using=parent_steps)


class ReviewRound(View):
    """One round of reviews of a change."""

    run: RunId = field("The run whose change it was.", "id")
    round: int | None = field("Its number.", "review_round")
    review: MergedReview | None = field("Both reviews as one.", using=merged_or_none)


def _missing(view: ChangeReviewView) -> tuple[str, ...]:
    return () if view.merged is None else missing_texts(view.merged, view.about)


class ChangeReviewOutput(DataOutput, schema_name="review-change"):
    """The state of the reviews of a leaf's change."""

    task: TaskId = field("The task.", "task.id")
    title: str = field("Its title.", "task.title")
    status: Status = field("Its status.", "task.status")
    run: RunId | None = field("Its latest run.", "run.id")
    review_state: ReviewState | None = field(
        "How the reviews of that run's change stand.", "run.review_state"
    )
    decision: DecisionState | None = field("What was decided on it.", "run.decision_state")
    round: int | None = field("The round of reviews.", "run.review_round")
    max_rounds: int = field("How many rounds there may be.")
    review: MergedReview | None = field("Both reviews as one.", "merged")
    missing: tuple[str, ...] = field("What a reviewer without a result did wrong.", using=_missing)
    rounds: tuple[ReviewRound, ...] = field("Every round, oldest first.")
    reviews: tuple[RunView, ...] = field("Every try of both reviewers.", "about")
    next_steps: Commands = field(_NEXT_STEPS, using=change_steps)


class DismissOutput(DataOutput, schema_name="review-dismiss"):
    """What dismissing a parent's review led to."""

    task: TaskId = field("The parent.", "parent.id")
    status: Status = field("Its status now.", "parent.status")
    run: RunId = field("The review.", "run.id")
    reason: str = field("Why it was dismissed.")
    dropped: tuple[TaskId, ...] = field("Tasks whose feedback is no longer pending.")

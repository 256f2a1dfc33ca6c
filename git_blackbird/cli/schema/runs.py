"""Output of ``runs``, and of ``show`` about one task, its prompt or a commit."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View
from git_blackbird.cli.schema.common import (
    CommitView,
    RunInWorktree,
    RunView,
    StepView,
    UnconfirmedView,
    UnreadableRecord,
    step_fields,
)
from git_blackbird.cli.schema.plan import TaskView
from git_blackbird.cli.schema.status import DueParentReview
from git_blackbird.controller.queries import status as queries
from git_blackbird.controller.queries.other_worktrees import RunElsewhere
from git_blackbird.controller.queries.runs import RunList
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.agent_io import Answer
from git_blackbird.model.entities.cli_hints import EXECUTE, runnable_steps
from git_blackbird.model.entities.commits import CommitProvenance, Evidence, RunCommit
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.run import Run
from git_blackbird.model.entities.undo import Undo
from git_blackbird.model.rules.attention import PendingItem, PendingKind


class RunsOutput(CommandOutput):
    """Runs, newest first; those of one task each before the reviews of its change."""

    schema_name: ClassVar[str] = "runs"

    runs: tuple[RunView, ...] = Field(description="The runs.")
    older: int = Field(description="How many older ones are not listed.")
    unreadable: tuple[UnreadableRecord, ...] = Field(description="Records that cannot be read.")
    unconfirmed: tuple[UnconfirmedView, ...] = Field(description="Records that count for nothing.")
    strays: tuple[str, ...] = Field(description="Paths of files among the records that are none.")

    @classmethod
    def of(cls, found: RunList, now: str) -> Self:
        """Make it of a list of runs."""
        return cls(
            runs=tuple(RunView.of(run, now) for run in found.runs),
            older=found.more,
            unreadable=UnreadableRecord.all_of(found.faults),
            unconfirmed=UnconfirmedView.all_of(found.unconfirmed),
            strays=found.strays,
        )


class RunOutput(CommandOutput):
    """One run in full."""

    schema_name: ClassVar[str] = "runs-one"

    run: RunView = Field(description="The run in short.")
    prompt: str = Field(
        description="What its agent was told, less what every agent is told and the project snapshot."
    )
    logs: Mapping[str, str] = Field(description="The paths of what it printed, by `stdout` and `stderr`.")
    commits: tuple[CommitView, ...] = Field(description="The commits that it lists.")
    record: Run = Field(description="The record, as in its file.")


class DueOfTask(StepView):
    """What is due of one task."""

    kind: PendingKind = Field(description="What it is.")
    run: RunId | None = Field(description="The run that it is about.")

    @classmethod
    def of_item(cls, item: PendingItem | None) -> Self | None:
        """Make it of what waits for a person."""
        return None if item is None else cls(kind=item.kind, run=item.run_id, **step_fields(item.command))


class ChangeToReview(View):
    """A change that is to be reviewed."""

    run: RunId = Field(description="The run that made it.")
    command: str = Field(description="The command that has it reviewed.")


class FeedbackView(View):
    """What a parent review left pending for a task."""

    parent: TaskId = Field(description="The parent.")
    run: RunId = Field(description="The review.")
    feedback: str = Field(description="What is to be changed.")

    @classmethod
    def of(cls, review: Feedback | None) -> Self | None:
        """Make it of the feedback; None where there is none."""
        if review is None:
            return None
        return cls(parent=review.parent_task_id, run=review.review_run_id, feedback=review.feedback)


class ShowOutput(CommandOutput):
    """One task, and why it is or is not ready."""

    schema_name: ClassVar[str] = "show"

    task: TaskView = Field(description="The task.")
    is_ready: bool = Field(description="Whether it can start now.")
    reasons: tuple[str, ...] = Field(description="Why it cannot.")
    hints: tuple[str, ...] = Field(description="Commands that get it on.")
    dependents: tuple[TaskId, ...] = Field(description="Tasks that depend on it.")
    skipped_children: tuple[TaskId, ...] = Field(description="Children that the parent is complete without.")
    due: DueOfTask | None = Field(description="What waits for a person.")
    change_review: ChangeToReview | None = Field(description="Its change, where that is to be reviewed.")
    review: DueParentReview | None = Field(description="How a parent waits for its review.")
    undo: Undo | None = Field(description="How a rejected change is taken back.")
    pending_feedback: FeedbackView | None = Field(
        description="Feedback of a parent review that its agent must still be told."
    )
    pending_texts: tuple[str, ...] = Field(description="Requests that its agent must still be told.")
    pending_answers: tuple[Answer, ...] = Field(description="Answers that its agent must still be told.")
    runs: tuple[RunView, ...] = Field(description="Its runs, newest first.")
    unreadable: tuple[UnreadableRecord, ...] = Field(description="Records of it that cannot be read.")
    unconfirmed: tuple[UnconfirmedView, ...] = Field(description="Records of it that count for nothing.")
    commits: tuple[CommitView, ...] = Field(description="The commits that its runs list.")
    other_worktrees: tuple[RunInWorktree, ...] = Field(description="Its runs in other worktrees.")

    @classmethod
    def of(
        cls,
        view: queries.TaskView,
        commits: Sequence[RunCommit],
        elsewhere: Sequence[RunElsewhere],
        now: str,
    ) -> Self:
        """Make it of a task's view."""
        change = view.to_review
        return cls(
            task=TaskView.of(view.task, view.label),
            is_ready=view.readiness.is_ready,
            reasons=tuple(view.readiness.reasons),
            hints=tuple(runnable_steps(view.readiness.hints)),
            dependents=tuple(one.id for one in view.dependents),
            skipped_children=view.skipped,
            due=DueOfTask.of_item(view.pending),
            change_review=None if change is None else ChangeToReview(run=change.id, command=EXECUTE),
            review=None if view.unreviewed is None else DueParentReview.of(view.unreviewed),
            undo=view.undo,
            pending_feedback=FeedbackView.of(view.words.review),
            pending_texts=view.words.texts,
            pending_answers=view.words.answers,
            runs=tuple(RunView.of(run, now) for run in reversed(view.history.runs)),
            unreadable=UnreadableRecord.all_of(view.unreadable),
            unconfirmed=UnconfirmedView.all_of(view.unconfirmed),
            commits=CommitView.all_of(commits),
            other_worktrees=RunInWorktree.all_of(elsewhere),
        )


class ShowPromptOutput(CommandOutput):
    """What the agent of a task would be told now."""

    schema_name: ClassVar[str] = "show-prompt"

    task: TaskId = Field(description="The task.")
    agent: str = Field(description="The agent.")
    prompt: str = Field(description="The prompt, in prose.")
    context: Mapping[str, object] = Field(description="The context pack.")
    project_file: str | None = Field(description="The file from which a new session is told of the project.")


class CommitMaker(View):
    """A run that made a commit."""

    task: str | None = Field(description="The task.")
    run: str | None = Field(description="The run; null where nobody knows it.")
    record: RunView | None = Field(description="The run in short; null where its record is gone.")


class ShowCommitOutput(CommandOutput):
    """Which tasks and runs made a commit."""

    schema_name: ClassVar[str] = "show-commit"

    commit: str = Field(description="Its full id.")
    subject: str = Field(description="The first line of its message.")
    in_history: bool = Field(description="Whether a branch, a tag or HEAD leads to it.")
    known_from: Evidence = Field(description="How it is known.")
    made_by: tuple[CommitMaker, ...] = Field(description="Who made it.")
    runs_list_instead: tuple[CommitView, ...] = Field(
        description="Where only the trailers tell: what the runs of these tasks list instead."
    )

    @classmethod
    def of(cls, origin: CommitProvenance, now: str) -> Self:
        """Make it of where a commit comes from."""
        return cls(
            commit=origin.commit.oid,
            subject=origin.commit.subject,
            in_history=origin.in_history,
            known_from=origin.source,
            made_by=tuple(
                CommitMaker(
                    task=maker.task_id,
                    run=maker.run_id,
                    record=None if maker.run is None else RunView.of(maker.run, now),
                )
                for maker in origin.makers
            ),
            runs_list_instead=CommitView.all_of(origin.instead),
        )

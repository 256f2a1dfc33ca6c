"""Parts that several outputs have: steps, runs, reviews, records that are not used."""

from collections.abc import Iterable, Sequence
from typing import Self, TypedDict

from pydantic import Field

from git_blackbird.cli.schema.base import View
from git_blackbird.controller.queries.other_worktrees import RunElsewhere
from git_blackbird.messages.display.runs import run_seconds
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.cli_hints import ShellLine
from git_blackbird.model.entities.commits import RunCommit
from git_blackbird.model.entities.findings import MergedReview, ReviewResult
from git_blackbird.model.entities.history import RecordError
from git_blackbird.model.entities.parent_verdict import ChildStatus, Dismissal
from git_blackbird.model.entities.provenance import UnconfirmedRecord
from git_blackbird.model.entities.run import (
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.rules.review_rounds import merged_or_none, result_of


class StepFields(TypedDict):
    """The fields of a step, for models that have them beside their own."""

    command: str | None
    template: str | None
    help: str | None


def step_fields(step: str) -> StepFields:
    """Return the fields of a line that a person is shown."""
    if not isinstance(step, ShellLine):
        return {"command": None, "template": None, "help": step}
    return {"command": step.runnable, "template": step.template, "help": step.remark or None}


class StepView(View):
    """What a person or a program may do next."""

    command: str | None = Field(
        description="A command that runs as it stands; with `-F -` it reads a text from standard input. "
        "Null where there is none."
    )
    template: str | None = Field(
        description="The command with a word in capitals for what is to be filled in: `TEXT`, or `VALUE` "
        "of each answer. Null where nothing is."
    )
    help: str | None = Field(description="What the command does, or a hint in prose.")

    @classmethod
    def of(cls, step: str) -> Self:
        """Make it of a line that a person is shown."""
        return cls(**step_fields(step))


class UnreadableRecord(View):
    """A record that cannot be read."""

    path: str = Field(description="The path of the file.")
    what: str = Field(description="What is wrong with it.")

    @classmethod
    def all_of(cls, faults: Iterable[RecordError]) -> tuple[Self, ...]:
        """Make one of each record."""
        return tuple(cls(path=fault.path, what=fault.what) for fault in faults)


class UnconfirmedView(View):
    """A record that something else wrote while a run was at work. It counts for nothing."""

    path: str = Field(description="The path of the file.")
    written_during: RunId = Field(description="The run that was at work.")
    command: str = Field(description="The command that lets it count.")

    @classmethod
    def all_of(cls, records: Iterable[UnconfirmedRecord]) -> tuple[Self, ...]:
        """Make one of each record."""
        return tuple(
            cls(path=one.path, written_during=one.run_id, command=one.command.command) for one in records
        )


class RunInWorktree(View):
    """A run in another worktree that is at work, or on which a decision is pending."""

    task: TaskId = Field(description="The task.")
    run: RunId = Field(description="The run.")
    state: str = Field(description="`running` or `decision`.")
    worktree: str = Field(description="The top of that worktree.")

    @classmethod
    def all_of(cls, found: Iterable[RunElsewhere]) -> tuple[Self, ...]:
        """Make one of each run."""
        return tuple(
            cls(
                task=one.run.task_id,
                run=one.run.id,
                state="decision" if one.run.is_pending else "running",
                worktree=one.place,
            )
            for one in found
        )


class CommitView(View):
    """A commit that a run lists."""

    commit: str = Field(description="Its full id.")
    subject: str | None = Field(
        description="The first line of its message; null where the repository lacks it."
    )
    in_history: bool = Field(description="Whether a branch, a tag or HEAD leads to it.")
    task: TaskId = Field(description="The task of the run.")
    run: RunId = Field(description="The run.")

    @classmethod
    def all_of(cls, commits: Sequence[RunCommit]) -> "tuple[CommitView, ...]":
        """Make one of each commit."""
        return tuple(
            cls(
                commit=one.oid,
                subject=one.subject,
                in_history=one.in_history,
                task=one.run.task_id,
                run=one.run.id,
            )
            for one in commits
        )


class TreesView(View):
    """Two git trees of the worktree: before and after."""

    base: str = Field(description="The tree before.")
    head: str = Field(description="The tree after.")

    @classmethod
    def of(cls, pair: TreePair | None) -> Self | None:
        """Make it of a pair; None where the snapshots are gone."""
        return None if pair is None else cls(base=pair.base, head=pair.head)


class ChildVerdict(View):
    """What a parent review says of one child."""

    task: str = Field(description="The child.")
    status: ChildStatus = Field(description="Whether it passed.")
    feedback: str | None = Field(description="What is to be changed.")


class ParentReviewView(View):
    """A review of a parent."""

    passed: bool | None = Field(description="Whether it passed; null without a verdict.")
    resume: tuple[TaskId, ...] = Field(description="The children that are to be resumed.")
    feedback: str | None = Field(description="What is to be changed.")
    results: tuple[ChildVerdict, ...] = Field(description="What it says of each child.")
    signature: str | None = Field(description="Names the state of the children that it is about.")
    dismissed: Dismissal | None = Field(description="That a person let the parent be done without it.")

    @classmethod
    def of(cls, run: Run) -> Self | None:
        """Make it of a run; None for one that is no review of a parent."""
        return cls(**parent_review_fields(run)) if run.run_type is RunType.REVIEW else None


class ParentReviewFields(TypedDict):
    """The fields of a review of a parent, for models that have them beside their own."""

    passed: bool | None
    resume: tuple[TaskId, ...]
    feedback: str | None
    results: tuple[ChildVerdict, ...]
    signature: str | None
    dismissed: Dismissal | None


def parent_review_fields(run: Run) -> ParentReviewFields:
    """Return the fields of a review of a parent."""
    results = sorted((run.parent_review_results or {}).items())
    return {
        "passed": run.parent_review_passed,
        "resume": run.parent_review_resume_task_ids,
        "feedback": run.parent_review_feedback,
        "results": tuple(
            ChildVerdict(task=task_id, status=one.status, feedback=one.feedback) for task_id, one in results
        ),
        "signature": run.parent_review_completion_signature,
        "dismissed": run.parent_review_dismissed,
    }


class RunView(View):
    """One run in short."""

    run: RunId = Field(description="Its id.")
    task: TaskId = Field(description="Its task.")
    type: RunType = Field(description="What it was for.")
    provider: str = Field(description="The agent.")
    session: str | None = Field(description="The agent's session.")
    started_at: str = Field(description="When it started.")
    completed_at: str | None = Field(description="When it ended.")
    seconds: float | None = Field(description="How long it took, or has taken so far.")
    status: RunStatus = Field(description="How it stands.")
    terminal_reason: TerminalReason | None = Field(description="Why it ended, where the status does not say.")
    exit_code: int | None = Field(description="The exit code of the agent.")
    decision: DecisionState | None = Field(description="What was decided on it.")
    cost_usd: float | None = Field(description="What it cost, as the agent reports.")
    resumes: RunId | None = Field(description="The run whose session it continues.")
    superseded_by: str | None = Field(description="The run or the command since which it no longer counts.")
    commits: tuple[str, ...] = Field(
        description="Full ids, oldest first; `show` and `runs TASK RUN` include those that an agent at work "
        "has made so far."
    )
    parent_review: ParentReviewView | None = Field(description="The verdict, where the type is `review`.")
    review_state: ReviewState | None = Field(description="How the reviews of its change stand.")
    review_round: int | None = Field(description="The round of reviews that it belongs to.")
    review: MergedReview | None = Field(description="Both reviews of its change as one.")
    reviewed_run: RunId | None = Field(description="The run whose change it reviewed.")
    review_result: ReviewResult | None = Field(description="What it found as a reviewer of a change.")

    @classmethod
    def of(cls, run: Run, now: str) -> Self:
        """Make it of a run; ``now`` tells how long one at work has taken."""
        return cls(
            run=run.id,
            task=run.task_id,
            type=run.run_type,
            provider=run.provider,
            session=run.provider_session_ref,
            started_at=run.started_at,
            completed_at=run.completed_at,
            seconds=run_seconds(run, now),
            status=run.status,
            terminal_reason=run.terminal_reason,
            exit_code=run.exit_code,
            decision=run.decision_state,
            cost_usd=run.cost_usd,
            resumes=run.resumes,
            superseded_by=run.superseded_by,
            commits=run.commits,
            parent_review=ParentReviewView.of(run),
            review_state=run.review_state,
            review_round=run.review_round,
            review=merged_or_none(run),
            reviewed_run=run.reviewed_run,
            review_result=result_of(run),
        )

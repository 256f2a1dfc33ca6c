"""Parts that several outputs have."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.controller.core.guards import RunElsewhere
from git_blackbird.messages.display.format import run_seconds
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.rules.reviews import merged_or_none, result_of
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope, BudgetUnit
from git_blackbird.model.run.commits import RunCommit
from git_blackbird.model.run.evidence import ChangeCoverage, CheckResult, Evidence, RedGreen
from git_blackbird.model.run.findings import MergedReview, ReviewResult
from git_blackbird.model.run.history import Adoptable, AdoptableKind
from git_blackbird.model.run.parent_verdict import ChildStatus, Dismissal, Feedback
from git_blackbird.model.run.parts import Landing, Ruling
from git_blackbird.model.run.proof import Proof
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    CheckOutcome,
    DecisionState,
    LandingState,
    ReviewState,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import EditedTest, Outside


class ErrorOutput(NamedTuple):
    """What an error prints."""

    message: Annotated[str, Shown("What is wrong.")]
    hint: Annotated[str | None, Shown("What to do about it, in lines.")]
    exit_code: Annotated[int, Shown("The exit code of the command.")]


class Step(NamedTuple):
    """What a person or a program may do next."""

    command: Annotated[
        str | None,
        Shown(
            "A command that runs as it stands; with `-F -` it reads a text from standard input. "
            "Null where there is none."
        ),
    ]
    template: Annotated[
        str | None,
        Shown(
            "The command with a word in capitals for what is to be filled in: `TEXT`, or `VALUE` "
            "of each answer. Null where nothing is."
        ),
    ]
    help: Annotated[str | None, Shown("What the command does, or a hint in prose.")]


def as_step(line: str) -> Step:
    """Return a line for people in its parts."""
    if isinstance(line, ShellLine):
        return Step(line.runnable, line.template, line.remark or None)
    return Step(None, None, line)


class SpentBudget(Printed[BudgetLine]):
    """A limit of a budget, and what of it is spent."""

    field = Fields[BudgetLine]()
    scope: BudgetScope = field(
        "What it is for: the call at work, one task, or the plan.", lambda it: it.scope
    )
    task: TaskId | None = field("The task, of a budget for each.", lambda it: it.task_id)
    unit: BudgetUnit = field("What it counts.", lambda it: it.unit)
    limit: float = field("The limit.", lambda it: it.limit)
    spent: float = field("What is spent of it.", lambda it: it.spent)
    is_spent: bool = field("Whether nothing more starts.", lambda it: it.is_spent)
    lacking: Mapping[str, int] = field(
        "How many runs that sum lacks, by agent: they report nothing of it.", lambda it: it.lacking
    )


def _words(item: Adoptable) -> str | None:
    found = item.found
    if isinstance(found, Feedback):
        return found.feedback
    return found.decision_feedback or found.parent_review_feedback


class FoundRecord(Printed[Adoptable]):
    """What another program or clone left below `.blackbird/`, and would count if it were adopted."""

    field = Fields[Adoptable]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    kind: AdoptableKind = field(
        "What it is; a decision is one on a run of this repository.", lambda it: it.kind
    )
    run: RunId = field(
        "The run, or the review that the feedback is of.",
        lambda it: it.found.review_run_id if isinstance(it.found, Feedback) else it.found.id,
    )
    decision: DecisionState | None = field(
        "The decision of a run.",
        lambda it: None if isinstance(it.found, Feedback) else it.found.decision_state,
    )
    session: str | None = field(
        "The session of a run.",
        lambda it: None if isinstance(it.found, Feedback) else it.found.provider_session_ref,
    )
    text: str | None = field("What its agent would be told.", _words)
    becomes: Status | None = field(
        "The status that the task would have; null where it stays.", lambda it: it.becomes
    )


class RunInWorktree(Printed[RunElsewhere]):
    """A run in another worktree that is at work, or on which a decision is pending."""

    field = Fields[RunElsewhere]()
    task: TaskId = field("The task.", lambda it: it.run.task_id)
    run: RunId = field("The run.", lambda it: it.run.id)
    state: str = field("`running` or `decision`.", lambda it: "decision" if it.run.is_pending else "running")
    worktree: str = field("The top of that worktree.", lambda it: it.place)


class ListedCommit(Printed[RunCommit]):
    """A commit that a run lists."""

    field = Fields[RunCommit]()
    commit: str = field("Its full id.", lambda it: it.oid)
    subject: str | None = field(
        "The first line of its message; null where the repository lacks it.", lambda it: it.subject
    )
    in_history: bool = field("Whether a branch, a tag or HEAD leads to it.", lambda it: it.in_history)
    task: TaskId = field("The task of the run.", lambda it: it.run.task_id)
    run: RunId = field("The run.", lambda it: it.run.id)


class ChildVerdict(NamedTuple):
    """What a parent review says of one child."""

    task: Annotated[str, Shown("The child.")]
    status: Annotated[ChildStatus, Shown("Whether it passed.")]
    feedback: Annotated[str | None, Shown("What is to be changed.")]


def _child_verdicts(run: Run) -> tuple[ChildVerdict, ...]:
    results = sorted((run.parent_review_results or {}).items())
    return tuple(ChildVerdict(task_id, result.status, result.feedback) for task_id, result in results)


class ParentReview(Printed[Run]):
    """A review of a parent."""

    field = Fields[Run]()
    passed: bool | None = field(
        "Whether it passed; null without a verdict.", lambda it: it.parent_review_passed
    )
    resume: tuple[TaskId, ...] = field(
        "The children that are to be resumed.", lambda it: it.parent_review_resume_task_ids
    )
    feedback: str | None = field("What is to be changed.", lambda it: it.parent_review_feedback)
    results: tuple[ChildVerdict, ...] = field("What it says of each child.", _child_verdicts)
    signature: str | None = field(
        "Names the state of the children that it is about.", lambda it: it.parent_review_completion_signature
    )
    dismissed: Dismissal | None = field(
        "That a person let the parent be done without it.", lambda it: it.dismissed
    )


def parent_review_of(run: Run) -> ParentReview | None:
    """Return what a review of a parent says; None for other runs."""
    return ParentReview(run) if run.run_type is RunType.REVIEW else None


class ChangeEvidence(Printed[Evidence]):
    """What is known of a change from running it."""

    field = Fields[Evidence]()
    outcome: CheckOutcome = field(
        "The worst verdict of the user's checks; `not_run`: none was run.", lambda it: it.outcome
    )
    checks: tuple[CheckResult, ...] = field("The verdict of each check.", lambda it: it.checks)
    edited_tests: tuple[EditedTest, ...] = field(
        "Files of tests from which the change takes something away.", lambda it: it.edited_tests or ()
    )
    edited_programs: tuple[str, ...] = field(
        "Files that the checks start, and the change edits.", lambda it: it.edited_programs or ()
    )
    red_green: RedGreen | None = field(
        "Which tests fail without the change; null where that was not asked for.", lambda it: it.red_green
    )
    coverage: ChangeCoverage | None = field(
        "Which of the lines that it added tests ran; null where no check says it.", lambda it: it.coverage
    )
    proof: Proof | None = field(
        "Which hunks of it no check notices; null where it was not proven.", lambda it: it.proof
    )


def change_evidence(evidence: Evidence | None) -> ChangeEvidence | None:
    return None if evidence is None else ChangeEvidence(evidence)


class RunLanding(Printed[Run]):
    """Whether the change of a run has landed; of one made in your worktree, whether it is committed."""

    def __init__(self, run: Run, landing: Landing) -> None:
        super().__init__(run)
        self.state = landing.state

    field = Fields[Run]()
    state: Annotated[
        LandingState, Shown("`due`: it lands as soon as nothing else is due; `blocked`: for a person.")
    ]
    at: str | None = field("When it landed.", lambda it: it.landed_at)
    reason: str | None = field(
        "Why it has not landed, or what is not as it was meant.", lambda it: it.landing_reason
    )
    evidence: ChangeEvidence | None = field(
        "What is known of the merged files from running them.",
        lambda it: change_evidence(it.landing_evidence),
    )
    additions: tuple[str, ...] = field(
        "The paths in which both sides added lines in the same place, and both are to stay.",
        lambda it: it.landing_additions,
    )


class HeldAgent(Printed[LimitHold]):
    """A usage limit that keeps an agent from working."""

    field = Fields[LimitHold]()
    agent: str = field("The agent.", lambda it: it.by.agent)
    model: str | None = field("The model that it was told to use.", lambda it: it.by.model)
    until: str = field("When it is over.", lambda it: format_timestamp(it.until))
    is_guess: bool = field(
        "Whether the provider did not say so: then it is tried again at that time.", lambda it: it.is_guess
    )
    task: TaskId = field("A task whose run it ended.", lambda it: it.run.task_id)
    run: RunId = field("That run.", lambda it: it.run.id)


class RunInShort(Printed[Run]):
    """One run in short."""

    field = Fields[Run]()
    run: RunId = field("Its id.", lambda it: it.id)
    task: TaskId = field("Its task.", lambda it: it.task_id)
    type: RunType = field("What it was for.", lambda it: it.run_type)
    provider: str = field("The agent.", lambda it: it.provider)
    session: str | None = field("The agent's session.", lambda it: it.provider_session_ref)
    started_at: str = field("When it started.", lambda it: it.started_at)
    completed_at: str | None = field("When it ended.", lambda it: it.completed_at)
    seconds: float | None = field.at("How long it took, or has taken so far.", run_seconds)
    status: RunStatus = field("How it stands.", lambda it: it.status)
    terminal_reason: TerminalReason | None = field(
        "Why it ended, where the status does not say.", lambda it: it.terminal_reason
    )
    exit_code: int | None = field("The exit code of the agent.", lambda it: it.exit_code)
    decision: DecisionState | None = field(
        "What was decided on it; `rejected` too where the run was superseded undecided.",
        lambda it: it.decision_state,
    )
    cost_usd: float | None = field("What it cost, as the agent reports.", lambda it: it.cost_usd)
    resumes: RunId | None = field("The run whose session it continues.", lambda it: it.resumes)
    told: tuple[str, ...] = field(
        "What a person said to it while it worked.", lambda it: it.messages_while_working
    )
    rulings: tuple[Ruling, ...] = field(
        "What it was told to decide itself, and what it decided.", lambda it: it.rulings
    )
    superseded_by: str | None = field(
        "The run or the command since which it no longer counts.", lambda it: it.superseded_by
    )
    commits: tuple[str, ...] = field(
        "Full ids, oldest first; `show` and `runs TASK RUN` include those that an agent at work "
        "has made so far.",
        lambda it: it.commits,
    )
    outside: Outside = field("What happened outside its place.", lambda it: it.outside)
    parent_review: ParentReview | None = field("The verdict, where the type is `review`.", parent_review_of)
    evidence: ChangeEvidence | None = field(
        "What is known of the change from running it.", lambda it: change_evidence(it.evidence)
    )
    worktree: str | None = field(
        "The worktree of its own in which the agent worked.", lambda it: it.worktree_path
    )
    worker: str | None = field("The worker of a cluster on which the agent worked.", lambda it: it.worker)
    landing: RunLanding | None = field(
        "Whether the change has landed; null where it was made in yours.",
        lambda it: None if it.landing is None else RunLanding(it, it.landing),
    )
    review_state: ReviewState | None = field(
        "How the reviews of its change stand.", lambda it: it.review_state
    )
    review_round: int | None = field("The round of reviews that it belongs to.", lambda it: it.review_round)
    review: MergedReview | None = field("Both reviews of its change as one.", merged_or_none)
    reviewed_run: RunId | None = field("The run whose change it reviewed.", lambda it: it.reviewed_run)
    review_result: ReviewResult | None = field("What it found as a reviewer of a change.", result_of)

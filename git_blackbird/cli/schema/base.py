"""What all models of ``--json`` output are made of, and the parts that several have."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel

from git_blackbird.controller.core.guards import RunElsewhere
from git_blackbird.messages.display.format import run_seconds
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import ShellLine, runnable_steps
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.rules.reviews import merged_or_none, result_of
from git_blackbird.model.rules.spending import BudgetScope, BudgetUnit
from git_blackbird.model.run.findings import MergedReview, ReviewResult
from git_blackbird.model.run.history import Adoptable, AdoptableKind
from git_blackbird.model.run.parent_verdict import ChildStatus, Dismissal, Feedback
from git_blackbird.model.run.parts import CheckResult, Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    DecisionState,
    LandingState,
    ReviewState,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import Outside


@dataclass(frozen=True)
class _Source:
    """Where a field is read from: the attributes of a path, then a function, or an attribute of each item."""

    path: tuple[str, ...]
    using: Callable[[Any], object] | None
    each: str | None

    def read(self, name: str, value: Any) -> object:
        """Read the field of that name of a value; None where a part of the path is None."""
        for step in self.path or ((name,) if self.each else ()):
            value = None if value is None else getattr(value, step)
        if self.using is not None:
            return self.using(value)
        return value if self.each is None else [getattr(item, self.each) for item in value]


def field(
    description: str,
    path: str = "",
    *,
    using: Callable[[Any], object] | None = None,
    each: str | None = None,
    **settings: Any,
) -> Any:
    """Describe a field, and how it is read, if not from the attribute of its name.

    It is what is at the dotted ``path``, or what ``using`` makes of that, or an attribute of ``each`` item
    there; without a path ``using`` gets the whole value, and the items are those of the field's own name.
    """
    info = Field(description=description, **settings)
    if path or using is not None or each is not None:
        info.metadata.append(_Source(tuple(filter(None, path.split("."))), using, each))
    return info


class View(BaseModel):
    """A part of an output: its fields in the order in which they are printed, named in camelCase.

    It is made of a value of the program: each field is read from the attribute of its name, or as ``field``
    says, and what is nested in it likewise.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    @classmethod
    def of(cls, value: object = None, now: str | None = None, **fields: object) -> Self:
        """Read all but the given fields from a value; ``now`` tells how long runs at work have taken."""
        return cls.model_validate({**cls.read(value, fields), **fields}, context=now)

    @classmethod
    def read(cls, value: Any, given: Collection[str] = frozenset()) -> dict[str, object]:
        """Read the fields that are not given; one without an attribute has its default."""
        fields = {}
        for name in cls.model_fields.keys() - given:
            metadata = cls.model_fields[name].metadata
            source = next((item for item in metadata if isinstance(item, _Source)), None)
            if source is not None:
                fields[name] = source.read(name, value)
            elif hasattr(value, name):
                fields[name] = getattr(value, name)
        return fields

    @model_validator(mode="before")
    @classmethod
    def _read_nested(cls, value: object) -> object:
        return value if isinstance(value, dict | View) else cls.read(value)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they are printed."""
        return self.model_dump(mode="json")


class DataOutput(View):
    """The ``data`` of the line that a command prints; ``schema_name`` is the name of its schema."""

    schema_name: ClassVar[str]

    def __init_subclass__(cls, schema_name: str) -> None:
        cls.schema_name = schema_name


class EventOutput(View):
    """The fields of one line of the event stream; ``event`` is the name that it begins with."""

    event: ClassVar[str]

    def __init_subclass__(cls, event: str) -> None:
        cls.event = event


# Written in `cli.output` by hand: an error waits for no model to be loaded.
class ErrorOutput(View):
    """What an error prints."""

    message: str = field("What is wrong.")
    hint: str | None = field("What to do about it, in lines.")
    exit_code: int = field("The exit code of the command.")


def is_none(value: object) -> bool:
    """Leave out a field that is None, rather than print null."""
    return value is None


class StepView(View):
    """What a person or a program may do next."""

    command: str | None = field(
        "A command that runs as it stands; with `-F -` it reads a text from standard input. "
        "Null where there is none."
    )
    template: str | None = field(
        "The command with a word in capitals for what is to be filled in: `TEXT`, or `VALUE` "
        "of each answer. Null where nothing is."
    )
    help: str | None = field("What the command does, or a hint in prose.")

    @classmethod
    def read(cls, value: Any, given: Collection[str] = frozenset()) -> dict[str, object]:
        """Read the step from a line for people, or from the ``command`` of a value that has other fields."""
        step = value if isinstance(value, str) else value.command
        parts = {"command": None, "template": None, "help": step}
        if isinstance(step, ShellLine):
            parts = {"command": step.runnable, "template": step.template, "help": step.remark or None}
        return {**super().read(value, given), **parts}


Commands = Annotated[tuple[str, ...], BeforeValidator(runnable_steps)]
"""The lines for people that a program can run."""
PathText = Annotated[str, BeforeValidator(os.fspath)]


class BudgetView(View):
    """A limit of a budget, and what of it is spent."""

    scope: BudgetScope = field("What it is for: the call at work, one task, or the plan.")
    task: TaskId | None = field("The task, of a budget for each.", "task_id")
    unit: BudgetUnit = field("What it counts.")
    limit: float = field("The limit.")
    spent: float = field("What is spent of it.")
    is_spent: bool = field("Whether nothing more starts.")
    lacking: Mapping[str, int] = field("How many runs that sum lacks, by agent: they report nothing of it.")


class UnreadableRecord(View):
    """A record that cannot be read."""

    path: str = field("The path of the file.")
    what: str = field("What is wrong with it.")


def _run_of(item: Adoptable) -> str:
    return item.found.review_run_id if isinstance(item.found, Feedback) else item.found.id


def _decision(item: Adoptable) -> DecisionState | None:
    return None if isinstance(item.found, Feedback) else item.found.decision_state


def _session(item: Adoptable) -> str | None:
    return None if isinstance(item.found, Feedback) else item.found.provider_session_ref


def _text(item: Adoptable) -> str | None:
    found = item.found
    if isinstance(found, Feedback):
        return found.feedback
    return found.decision_feedback or found.parent_review_feedback


class AdoptableView(View):
    """What another program or clone left below `.blackbird/`, and would count if it were adopted."""

    task: TaskId = field("The task.", "task_id")
    kind: AdoptableKind = field("What it is; a decision is one on a run of this repository.")
    run: RunId = field("The run, or the review that the feedback is of.", using=_run_of)
    decision: DecisionState | None = field("The decision of a run.", using=_decision)
    session: str | None = field("The session of a run.", using=_session)
    text: str | None = field("What its agent would be told.", using=_text)
    becomes: Status | None = field("The status that the task would have; null where it stays.")


def _state_elsewhere(elsewhere: RunElsewhere) -> str:
    return "decision" if elsewhere.run.is_pending else "running"


class RunInWorktree(View):
    """A run in another worktree that is at work, or on which a decision is pending."""

    task: TaskId = field("The task.", "run.task_id")
    run: RunId = field("The run.", "run.id")
    state: str = field("`running` or `decision`.", using=_state_elsewhere)
    worktree: str = field("The top of that worktree.", "place")


class CommitView(View):
    """A commit that a run lists."""

    commit: str = field("Its full id.", "oid")
    subject: str | None = field("The first line of its message; null where the repository lacks it.")
    in_history: bool = field("Whether a branch, a tag or HEAD leads to it.")
    task: TaskId = field("The task of the run.", "run.task_id")
    run: RunId = field("The run.", "run.id")


class TreesView(View):
    """Two git trees of the worktree: before and after."""

    base: str = field("The tree before.")
    head: str = field("The tree after.")


class ChildVerdict(View):
    """What a parent review says of one child."""

    task: str = field("The child.")
    status: ChildStatus = field("Whether it passed.")
    feedback: str | None = field("What is to be changed.")


def _child_verdicts(run: Run) -> list[ChildVerdict]:
    results = sorted((run.parent_review_results or {}).items())
    return [ChildVerdict.of(result, task=task_id) for task_id, result in results]


class ParentReviewView(View):
    """A review of a parent."""

    passed: bool | None = field("Whether it passed; null without a verdict.", "parent_review_passed")
    resume: tuple[TaskId, ...] = field(
        "The children that are to be resumed.", "parent_review_resume_task_ids"
    )
    feedback: str | None = field("What is to be changed.", "parent_review_feedback")
    results: tuple[ChildVerdict, ...] = field("What it says of each child.", using=_child_verdicts)
    signature: str | None = field(
        "Names the state of the children that it is about.", "parent_review_completion_signature"
    )
    dismissed: Dismissal | None = field("That a person let the parent be done without it.", "dismissed")


def parent_review_of(run: Run) -> Run | None:
    """Return the run if it is a review of a parent."""
    return run if run.run_type is RunType.REVIEW else None


def _itself(run: Run) -> Run:
    return run


def _seconds(run: Run, info: ValidationInfo) -> float | None:
    return run_seconds(run, str(info.context))


class LandingView(View):
    """Whether the change of a run has landed; of one made in your worktree, whether it is committed."""

    state: LandingState = field(
        "`due`: it lands as soon as nothing else is due; `blocked`: for a person.", "landing.state"
    )
    at: str | None = field("When it landed.", "landed_at")
    reason: str | None = field("Why it has not landed, or what is not as it was meant.", "landing_reason")
    check: CheckResult | None = field("What the user's check says of the merged files.", "landing_check")
    additions: tuple[str, ...] = field(
        "The paths in which both sides added lines in the same place, and both are to stay.",
        "landing_additions",
    )


def _landing_of(run: Run) -> Run | None:
    return None if run.landing is None else run


def _limit_end(hold: LimitHold) -> str:
    return format_timestamp(hold.until)


class LimitView(View):
    """A usage limit that keeps an agent from working."""

    agent: str = field("The agent.", "by.agent")
    model: str | None = field("The model that it was told to use.", "by.model")
    until: str = field("When it is over.", using=_limit_end)
    is_guess: bool = field("Whether the provider did not say so: then it is tried again at that time.")
    task: TaskId = field("A task whose run it ended.", "run.task_id")
    run: RunId = field("That run.", "run.id")


class RunView(View):
    """One run in short."""

    run: RunId = field("Its id.", "id")
    task: TaskId = field("Its task.", "task_id")
    type: RunType = field("What it was for.", "run_type")
    provider: str = field("The agent.")
    session: str | None = field("The agent's session.", "provider_session_ref")
    started_at: str = field("When it started.")
    completed_at: str | None = field("When it ended.")
    seconds: Annotated[float | None, BeforeValidator(_seconds)] = field(
        "How long it took, or has taken so far.", using=_itself
    )
    status: RunStatus = field("How it stands.")
    terminal_reason: TerminalReason | None = field(
        "Why it ended, where the status does not say.", "terminal_reason"
    )
    exit_code: int | None = field("The exit code of the agent.")
    decision: DecisionState | None = field(
        "What was decided on it; `rejected` too where the run was superseded undecided.", "decision_state"
    )
    cost_usd: float | None = field("What it cost, as the agent reports.", "cost_usd")
    resumes: RunId | None = field("The run whose session it continues.", "resumes")
    told: tuple[str, ...] = field("What a person said to it while it worked.", "messages_while_working")
    rulings: tuple[Ruling, ...] = field("What it was told to decide itself, and what it decided.", "rulings")
    superseded_by: str | None = field("The run or the command since which it no longer counts.")
    commits: tuple[str, ...] = field(
        "Full ids, oldest first; `show` and `runs TASK RUN` include those that an agent at work "
        "has made so far.",
        "commits",
    )
    outside: Outside = field("What happened outside its place.", "outside")
    parent_review: ParentReviewView | None = field(
        "The verdict, where the type is `review`.", using=parent_review_of
    )
    check: CheckResult | None = field("What the user's check says of the change.", "check")
    worktree: str | None = field("The worktree of its own in which the agent worked.", "worktree_path")
    worker: str | None = field("The worker of a cluster on which the agent worked.")
    landing: LandingView | None = field(
        "Whether the change has landed; null where it was made in yours.", using=_landing_of
    )
    review_state: ReviewState | None = field("How the reviews of its change stand.", "review_state")
    review_round: int | None = field("The round of reviews that it belongs to.")
    review: MergedReview | None = field("Both reviews of its change as one.", using=merged_or_none)
    reviewed_run: RunId | None = field("The run whose change it reviewed.")
    review_result: ReviewResult | None = field("What it found as a reviewer of a change.", using=result_of)

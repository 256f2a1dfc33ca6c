"""What a person needs for a decision."""

from typing import Annotated, NamedTuple, TypeVar

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import NO_OPTIONS, CallOptions, Sentence, ShellLine, TaskCommand
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.change import Asked, Told
from git_blackbird.model.change.decision import VIEWS, ChoiceSpec, Decision, choices_for
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.parts import ReviewComment, Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice, RunStatus
from git_blackbird.model.run.summary import EditedTest, Outside, Summary, Trees

T = TypeVar("T")


class CommitPreview(NamedTuple):
    """What approving would commit."""

    # Without paths and obstacles HEAD has the whole change.
    paths: Annotated[int, Shown("How many paths.")] = 0
    branch: Annotated[str | None, Shown("The branch; null where HEAD is detached.")] = None
    obstacles: Annotated[tuple[str, ...], Shown("Why it would be refused as things stand.")] = ()
    with_status: Annotated[
        bool, Shown("Whether one of the paths is the plan, with the status of the task.")
    ] = False


class ApprovalCommit(NamedTuple):
    """What an approval committed: the number of paths; ``oid`` is None if nothing was left to commit.

    ``moved`` are the paths of the change that differ in the worktree, ``warnings`` are problems in spite of
    the commit.
    """

    oid: str | None = None
    paths: int = 0
    moved: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class OtherBranch(NamedTuple):
    """The branch of the run, and the one that HEAD is on."""

    worked_on: Annotated[str, Shown("The branch of the run.")]
    now: Annotated[str | None, Shown("The branch that HEAD is on; null where it is detached.")]
    by_agent: bool = False  # HEAD is where the agent left it
    was_approved: bool = False  # on `worked_on`

    @property
    def text(self) -> str:
        """Both branches on one harmless line."""
        where = "HEAD is detached" if self.now is None else f"HEAD is on {self.now}"
        if self.by_agent:
            return f"the agent left the branch {self.worked_on}; {where}"
        if self.was_approved:
            return f"it was approved on {self.worked_on}; now {where}"
        return f"the run worked on the branch {self.worked_on}; now {where}"


class WorkElsewhere(NamedTuple):
    """Where the work of a run seems to be that changed nothing in its place, and how to take it."""

    where: str
    command: ShellLine

    @property
    def text(self) -> str:
        """Both on one harmless line."""
        return Sentence(f"its work seems to be in {self.where}; ", self.command, " takes it")


class CommentOutcome(NamedTuple):
    """A comment on lines, and whether these were changed since."""

    comment: Annotated[ReviewComment, Shown("The comment, as in the record.")]
    is_taken_up: Annotated[bool, Shown("Whether its lines were changed.")]


class SinceRequest(NamedTuple):
    """What was last requested, and what changed since."""

    request: Annotated[str, Shown("The request.")]
    summary: Annotated[Summary, Shown("What changed since.")]
    pair: Annotated[Trees | None, Shown("The worktree before and after.", "trees")]
    comments: Annotated[
        tuple[CommentOutcome, ...], Shown("The comments on lines that this request and those before it had.")
    ] = ()


class Checkpoint(NamedTuple):
    """One decision to make; programs are told what is described here, and more of the task and the run.

    ``request_blocked_reason``: why changes cannot be requested. ``asked``: what was asked for last, beside
    the task, ``told``: what was said to its agents at work. ``options``: those of the command.
    ``is_in_worktree``: whether the user's worktree has something of what the task did. ``was_merged``:
    whether the task's own worktree was brought to a merge with that. ``is_shown``: whether a person was shown
    all of the change; None where all of its summary was. ``max_rounds``: up to so many rounds of reviews, the
    agent fixes what they find. ``follows``: the task with which the call goes on after an approval.
    """

    task: Task
    run: Run
    summary: Annotated[Summary, Shown("The change, bounded.")]
    pair: Annotated[
        Trees | None, Shown("The change as two trees; null where a snapshot is missing.", "trees")
    ]
    outside: Annotated[Outside, Shown("What happened outside the place of its runs.")]
    moved: Annotated[
        tuple[str, ...], Shown("Paths of the change that look different in the worktree by now.")
    ] = ()
    runs: Annotated[int, Shown("How many runs made the change.")] = 1
    round_number: Annotated[int, Shown("How often it was made, with each request.", "round")] = 1
    cost_usd: Annotated[float | None, Shown("What these runs cost together.")] = None
    request_blocked_reason: str | None = None
    commit: Annotated[
        CommitPreview | None, Shown("What approving would commit; null where it makes no commit.")
    ] = None
    merged: Annotated[MergedReview | None, Shown("Both reviews of the change as one.", "review")] = None
    suggested_request: Annotated[
        str | None,
        Shown(
            "A change request with what a hook that refused the commit or a failed check printed, and what "
            "the reviewers found."
        ),
    ] = None
    reasons: Annotated[
        tuple[str, ...], Shown("Why a person is to decide: nothing was changed, or the reviews.")
    ] = ()
    since_request: Annotated[
        SinceRequest | None, Shown("What you last requested, and what changed since.")
    ] = None
    other_branch: Annotated[OtherBranch | None, Shown("Set where HEAD has left the branch of the run.")] = (
        None
    )
    options: CallOptions = NO_OPTIONS
    behind: Annotated[int, Shown("How many other decisions wait.")] = 0
    unblocks: Annotated[int, Shown("How many tasks wait for this one alone, directly or through others.")] = 0
    edited: Annotated[
        tuple[str, ...], Shown("Paths that were edited in its worktree after the run, part of the change.")
    ] = ()
    edited_tests: Annotated[
        tuple[EditedTest, ...], Shown("Files of tests from which the change takes something away.")
    ] = ()
    conflict: Annotated[str | None, Shown("Which conflicts are not resolved.")] = None
    both_added: Annotated[
        Summary | None,
        Shown(
            "What it adds where your worktree has additions too, and an approval lands; null where that is "
            "not asked about."
        ),
    ] = None
    worktree: Annotated[str | None, Shown("The task's own worktree, where the change is.")] = None
    is_in_worktree: bool = False
    was_merged: bool = False
    asked: Asked | None = None
    told: tuple[Told, ...] = ()
    rulings: Annotated[tuple[Ruling, ...], Shown("What the agent decided itself instead of a person.")] = ()
    is_shown: bool | None = None
    max_rounds: int = 1
    work_elsewhere: WorkElsewhere | None = None
    follows: TaskId | None = None

    def with_shown(self, reply: T) -> T:
        """Return a reply; a decision carries the trees that were shown."""
        return reply._replace(shown=self.pair) if isinstance(reply, Decision) else reply

    @property
    def has_objections(self) -> bool:
        """Whether something speaks against it: its end, its check, its reviews, or where else it wrote."""
        if self.run.error is not None or self.run.red_checks or self.conflict is not None:
            return True
        if self.outside.is_own:
            return True
        return bool(self.reasons) if self.merged is None else not self.merged.is_approval

    def offers(self) -> tuple[ChoiceSpec, ...]:
        return choices_for(
            self.run,
            was_requested=self.since_request is not None,
            is_in_worktree=self.is_in_worktree,
            was_merged=self.was_merged,
            max_rounds=self.max_rounds,
            follows=self.follows,
        )

    def command_for(self, offer: ChoiceSpec) -> TaskCommand:
        return offer.command_for(self.task.id).with_options(self.options)

    @property
    def preselected(self) -> Choice | None:
        """The choice for Enter: an approval where all was shown and nothing speaks against it, else none."""
        is_whole = self.summary.minimal is None and not self.summary.cut
        is_shown = self.pair is not None and (is_whole if self.is_shown is None else self.is_shown)
        has_failed = self.run.status is RunStatus.FAILED
        return None if self.has_objections or has_failed or not is_shown else Choice.APPROVE_CONTINUE

    def blocked_reason(self, choice: Choice) -> str | None:
        if choice is Choice.REQUEST_CHANGES:
            return self.request_blocked_reason
        if choice not in VIEWS:
            return None
        pair = self.pair_of(choice)
        if pair is None:
            return "there is no pair of snapshots to compare"
        nothing = "no file was changed" if choice is Choice.VIEW_DIFF else "nothing changed since the request"
        return nothing if pair.is_empty else None

    def pair_of(self, choice: Choice) -> Trees | None:
        if choice is Choice.VIEW_SINCE_REQUEST:
            return None if self.since_request is None else self.since_request.pair
        return self.pair

    def is_possible(self, choice: Choice) -> bool:
        return self.blocked_reason(choice) is None

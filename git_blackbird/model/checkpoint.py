"""What a person is shown when a decision is due (spec 2)."""

from dataclasses import dataclass
from typing import NamedTuple

from git_blackbird.model.change import Summary, TreePair
from git_blackbird.model.choices import VIEWS, Choice, ChoiceText, choices_for
from git_blackbird.model.commands import NO_OPTIONS, CallOptions, TaskCommand
from git_blackbird.model.findings import MergedReview
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean_line


@dataclass(frozen=True)
class CommitOutlook:
    """What approving would commit: so many paths, onto ``branch`` (None: a detached HEAD).

    With ``obstacles``, each in words, it would be refused as things stand. No paths and no obstacles: all
    of the change is in HEAD already.
    """

    paths: int = 0
    branch: str | None = None
    obstacles: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApprovalCommit:
    """What an approval committed: so many paths; ``oid`` is None when nothing was left to commit.

    ``moved`` names the paths of the change that look different in the worktree, ``warnings`` what is not as
    it should be though the commit is there.
    """

    oid: str | None = None
    paths: int = 0
    moved: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class OtherBranch(NamedTuple):
    """The branch that a run worked on, and the one that HEAD is on now; None for a detached HEAD."""

    worked_on: str
    now: str | None

    @property
    def text(self) -> str:
        """Say both, on one harmless line."""
        where = "HEAD is detached" if self.now is None else f"HEAD is on {clean_line(self.now)}"
        return f"the run worked on the branch {clean_line(self.worked_on)}; now {where}"


@dataclass(frozen=True)
class SinceRequest:
    """What a person last asked for, unchanged, and what the task's runs did since.

    ``pair`` is None when the snapshots are gone.
    """

    request: str
    summary: Summary
    pair: TreePair | None


@dataclass(frozen=True)
class Checkpoint:
    """One decision to take.

    ``pair`` is the *change* as two trees, None when no snapshot could be taken. ``moved`` names the paths
    of the change that look different in the worktree by now. ``runs`` counts the runs the change is made
    of, ``cost_usd`` is theirs together. ``no_request`` says why changes cannot be requested. ``commit`` is
    None where an approval makes no commit. ``merged`` is what the reviewers of the change found, and
    ``suggestion`` the change request that says so; None where the change was not reviewed. ``reasons`` say
    why a person is to decide in any case: nothing was changed, or the change was reviewed. ``since_request``
    is None before a change request of a person was carried out. ``other_branch`` is there where HEAD has left
    the branch of the run. ``options`` are those of the call that asks.
    """

    task: Task
    run: Run
    summary: Summary
    pair: TreePair | None
    moved: tuple[str, ...] = ()
    runs: int = 1
    cost_usd: float | None = None
    no_request: str | None = None
    commit: CommitOutlook | None = None
    merged: MergedReview | None = None
    suggestion: str | None = None
    reasons: tuple[str, ...] = ()
    since_request: SinceRequest | None = None
    other_branch: OtherBranch | None = None
    options: CallOptions = NO_OPTIONS

    @property
    def is_doubtful(self) -> bool:
        """Whether the run failed or changed nothing, or its reviews did not approve the change."""
        is_cleared = self.merged is not None and self.merged.is_approval
        return self.run.error is not None or (bool(self.reasons) and not is_cleared)

    def offers(self) -> tuple[ChoiceText, ...]:
        """The choices in their fixed order and numbers."""
        return choices_for(self.run, was_requested=self.since_request is not None)

    def command_for(self, offer: ChoiceText) -> TaskCommand:
        """Return the command line that does the same as a choice, with the options of the call."""
        return offer.command_for(self.task.id).with_options(self.options)

    @property
    def preselected(self) -> Choice:
        """The choice that Enter takes: never an approval where there is a reason to doubt the run."""
        first = self.offers()[0].choice
        is_doubtful = self.is_doubtful and self.is_possible(Choice.REQUEST_CHANGES)
        return Choice.REQUEST_CHANGES if is_doubtful and first is Choice.APPROVE_CONTINUE else first

    def obstacle(self, choice: Choice) -> str | None:
        """Say why the choice cannot be carried out; None when it can."""
        if choice is Choice.REQUEST_CHANGES:
            return self.no_request
        if choice in VIEWS and self.pair_of(choice) is None:
            return "there is no pair of snapshots to compare"
        return None

    def pair_of(self, choice: Choice) -> TreePair | None:
        """Return the two trees whose diff a choice shows."""
        if choice is Choice.VIEW_SINCE_REQUEST:
            return None if self.since_request is None else self.since_request.pair
        return self.pair

    def is_possible(self, choice: Choice) -> bool:
        """Whether the choice can be carried out."""
        return self.obstacle(choice) is None

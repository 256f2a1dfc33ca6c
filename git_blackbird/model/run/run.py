"""A run: one start of one agent on one task, as in its record."""

from itertools import takewhile
from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from git_blackbird.model.base.ids import CheckedOwner, CheckedRunId
from git_blackbird.model.base.record import TOGETHER
from git_blackbird.model.base.sanitize import clean_clause
from git_blackbird.model.base.timestamps import Moment, moment_of, parse_timestamp
from git_blackbird.model.run.check import CheckOutcome, CheckResult
from git_blackbird.model.run.contradictions import find_contradiction
from git_blackbird.model.run.fields import RunFields, WrittenRun
from git_blackbird.model.run.parts import (
    Brought,
    Landed,
    LandingBlocked,
    LandingDue,
    LocalProcess,
    Merge,
    Own,
    RemoteProcess,
)
from git_blackbird.model.run.states import (
    APPROVALS,
    NO_CHANGE,
    PROGRAM,
    REVIEWER_TYPES,
    DecisionState,
    ReviewState,
    RunStatus,
    RunType,
    superseded_text,
)
from git_blackbird.model.run.summary import Trees


class Run(WrittenRun):
    """The record of one run, and what follows from it alone."""

    id: CheckedRunId
    task_id: CheckedOwner = Field(alias="taskId")
    started_at: str = Field(alias="startedAt")
    status: RunStatus

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        pair = find_contradiction(self.status, self.decision_state, self.own)
        if pair is not None:
            one, other = pair
            raise PydanticCustomError(
                TOGETHER, "it says that {one}, and that {other}", {"one": one, "other": other}
            )
        return self

    def taken_over(self) -> "Run":
        """Return the run as one of ours, with nothing of it but the fields that the Go program writes."""
        fields = {name: getattr(self, name) for name in _GO_FIELDS}
        return Run.model_validate({**fields, "own": Own(program=PROGRAM)})

    @property
    def is_in_place(self) -> bool:
        """Whether it worked in the user's worktree, not in one of its task's own."""
        return self.own.worktree is None

    @property
    def is_review(self) -> bool:
        """Whether this run only looks: a review, or planning; neither determines the status of a leaf."""
        return self.run_type in REVIEWER_TYPES

    @property
    def is_of_change(self) -> bool:
        """Whether this is the spec or code review of one run's change."""
        return self.run_type in {RunType.SPEC_REVIEW, RunType.CODE_REVIEW}

    @property
    def is_pending(self) -> bool:
        """Whether a decision on this run is pending."""
        return self.decision_state is DecisionState.PENDING and not self.is_superseded

    @property
    def is_check_due(self) -> bool:
        """Whether the user's check has yet to look at the change."""
        return self.own.check is not None and self.own.check.outcome is CheckOutcome.DUE

    @property
    def failed_check(self) -> CheckResult | None:
        """The user's check, where it fails because of the change."""
        check = self.own.check
        return check if check is not None and check.outcome is CheckOutcome.FAILED else None

    @property
    def red_check(self) -> CheckResult | None:
        """The user's check, where it fails, also if it fails without the change as well."""
        check = self.own.check
        is_red = check is not None and check.outcome is CheckOutcome.FAILED_BEFORE
        return check if is_red else self.failed_check

    @property
    def awaits_verdict(self) -> bool:
        """Whether a check or reviews of the change come before anything else."""
        return self.is_check_due or self.own.review is ReviewState.DUE

    @property
    def awaits_landing(self) -> bool:
        """Whether the change is accepted, or will be, and is not in the user's worktree yet."""
        is_accepted = self.status is RunStatus.SUCCESS or self.decision_state in APPROVALS
        is_wanted = is_accepted and self.decision_state is not DecisionState.REJECTED
        return is_wanted and isinstance(self.own.landing, LandingDue | LandingBlocked)

    @property
    def moved_at(self) -> Moment | None:
        """When the status began that its task has by this run."""
        return moment_of(self.own.status_since) or self._last_event

    @property
    def _last_event(self) -> Moment | None:
        """When what the status follows from happened, as far as the record has a time for it."""
        if self.status is RunStatus.RUNNING:
            return moment_of(self.started_at)
        # Nobody was asked about a change that was done, and is approved for the sake of its commit.
        decided_at = self.decision_resolved_at if self.decision_requested_at is not None else None
        at = self.undone_at or self.landed_at or decided_at or self.decision_requested_at
        return moment_of(at) or moment_of(self.completed_at) or moment_of(self.started_at)

    @property
    def is_superseded(self) -> bool:
        """Whether a later start, a command or a person superseded the run."""
        return self.own.superseded is not None

    @property
    def superseded_by(self) -> str | None:
        """The run or command that superseded it."""
        return None if self.own.superseded is None else self.own.superseded.by

    @property
    def superseded_at(self) -> str | None:
        """When the run was superseded."""
        return None if self.own.superseded is None else self.own.superseded.at

    @property
    def counts(self) -> bool:
        """Whether the run may determine its task's status: it is neither a review nor superseded."""
        return not self.is_review and not self.is_superseded

    @property
    def was_superseded_undecided(self) -> bool:
        """Whether a later start, or a person, superseded the run while its decision was pending."""
        return self.is_superseded and self.decision_feedback == superseded_text(self.superseded_by or "")

    @property
    def review_round(self) -> int | None:
        """The round of reviews that its change was in, or that it was as a reviewer, from 1."""
        part = self.own.reviewed or self.own.opinion
        return None if part is None else part.round

    @property
    def pid(self) -> int | None:
        """The agent's process on this machine."""
        return self.own.process.pid if isinstance(self.own.process, LocalProcess) else None

    @property
    def reviewed_run(self) -> str | None:
        """The run whose change it judged, as a reviewer."""
        return None if self.own.opinion is None else self.own.opinion.run

    @property
    def is_remote(self) -> bool:
        """Whether a worker of a cluster makes it."""
        return isinstance(self.own.process, RemoteProcess)

    @property
    def worker(self) -> str | None:
        """The worker that makes it, once the name of that is known."""
        return self.own.process.worker if isinstance(self.own.process, RemoteProcess) else None

    @property
    def worktree_path(self) -> str | None:
        """The worktree of its own in which the agent worked."""
        return None if self.own.worktree is None else self.own.worktree.path

    @property
    def worktree_base(self) -> str | None:
        """The tree that its task's change begins with there."""
        return None if self.own.worktree is None else self.own.worktree.base

    @property
    def base_tree(self) -> str | None:
        """The worktree when the run began."""
        return None if self.own.snapshots is None else self.own.snapshots.base

    @property
    def head_tree(self) -> str | None:
        """The worktree when the run ended."""
        return None if self.own.snapshots is None else self.own.snapshots.head

    @property
    def tree_pair(self) -> Trees | None:
        """The snapshots at both ends of the run; None if one is missing."""
        if self.base_tree is None or self.head_tree is None:
            return None
        return Trees(self.base_tree, self.head_tree)

    @property
    def named_trees(self) -> frozenset[str]:
        """Every tree that the record names: the reference of its run holds them."""
        own, landing = self.own, self.own.landing
        undos = (own.undone, own.undoing, *own.undos)
        pairs = [self.tree_pair, own.decision.shown, *(undo.trees for undo in undos if undo is not None)]
        checks = [own.check, None if landing is None else landing.check]
        if isinstance(landing, LandingDue | LandingBlocked):
            pairs += [merge.trees for merge in (landing.begun, landing.offered) if merge is not None]
            pairs += [] if landing.brought is None else [landing.brought.change, landing.brought.merge]
        elif landing is not None:
            pairs.append(landing.merge.trees)
        trees = (
            self.base_tree,
            self.worktree_base,
            *(check.tree for check in checks if check is not None),
            *(tree for pair in pairs if pair is not None for tree in pair),
        )
        return frozenset(tree for tree in trees if tree is not None)

    @property
    def has_changed_files(self) -> bool:
        """Whether there are snapshots at both ends of the run, and they differ."""
        return self.tree_pair is not None and not self.tree_pair.is_empty

    @property
    def no_change_reason(self) -> str | None:
        """That nothing was changed, and why if that is known; None if the run did not end so."""
        return clean_clause(self.error or NO_CHANGE) if self.own.no_change else None

    @property
    def has_landed(self) -> bool:
        """Whether a change that was made in a worktree of its own is in the user's."""
        return isinstance(self.own.landing, Landed)

    @property
    def undone_at(self) -> str | None:
        """When the change was taken back."""
        return None if self.own.undone is None else self.own.undone.at

    @property
    def undo_trees(self) -> Trees | None:
        """The worktree before the change was taken back and after it, also where that has only begun."""
        undo = self.own.undoing or self.own.undone
        return None if undo is None else undo.trees

    @property
    def undo_commit(self) -> str | None:
        """The commit that was made to take the change back."""
        return None if self.own.undone is None else self.own.undone.commit

    @property
    def is_redoing(self) -> bool:
        """Whether a redo has begun, and is not complete."""
        return self.own.undoing is not None and self.own.undoing.verb == "redo"

    @property
    def landed_at(self) -> str | None:
        """When the change landed."""
        return self.own.landing.at if isinstance(self.own.landing, Landed) else None

    @property
    def brought(self) -> Brought | None:
        """The merge with which the session was sent back by its landing."""
        landing = self.own.landing
        return landing.brought if isinstance(landing, LandingDue | LandingBlocked) else None

    @property
    def landing_begun(self) -> Merge | None:
        """The merge of which files may be in the user's worktree, and not all are known to be."""
        landing = self.own.landing
        return landing.begun if isinstance(landing, LandingDue | LandingBlocked) else None

    @property
    def landing_reason(self) -> str | None:
        """Why the change has not landed, or why it is not committed."""
        landing = self.own.landing
        return landing.reason if isinstance(landing, LandingBlocked) else self.uncommitted_landing

    @property
    def is_change_gone(self) -> bool:
        """Whether nothing has the change any more, so that it can only be made again."""
        return isinstance(self.own.landing, LandingBlocked) and self.own.landing.gone

    @property
    def uncommitted_landing(self) -> str | None:
        """Why the change was not committed though it has landed, where its approval was to commit it."""
        return self.own.landing.uncommitted if isinstance(self.own.landing, Landed) else None

    @property
    def landing_check(self) -> CheckResult | None:
        """What the user's check says of the merged files."""
        return None if self.own.landing is None else self.own.landing.check

    @property
    def landing_additions(self) -> tuple[str, ...]:
        """The paths where both sides had added lines, and it has, or is to have, both."""
        landing = self.own.landing
        if landing is None:
            return ()
        merge = landing.merge if isinstance(landing, Landed) else landing.begun or landing.offered
        return () if merge is None else merge.additions

    @property
    def landing_words(self) -> str:
        """How far a change has come that could not land."""
        return "has landed in part" if self.landing_begun else "has not landed"

    @property
    def landing_pair(self) -> Trees | None:
        """The user's worktree without the change and with it, of one that has begun to land or has landed."""
        landing = self.own.landing
        merge = landing.merge if isinstance(landing, Landed) else self.landing_begun
        return None if merge is None else merge.trees

    @property
    def change_in_place(self) -> Trees | None:
        """What the run did to the user's worktree: what has landed of one that worked elsewhere."""
        if self.is_in_place:
            return self.tree_pair
        return self.landing_pair if self.has_landed else None

    @property
    def change_elsewhere(self) -> Trees | None:
        """What the task's runs did up to this one in a worktree of its own; None for one in place.

        What a decision was about counts: a part of it, or with edits of a person's.
        """
        shown = self.own.decision.shown
        if self.worktree_base is None or self.head_tree is None:
            return None
        if shown is not None and not self.has_landed:
            return shown
        return Trees(self.worktree_base, self.head_tree)

    @property
    def made(self) -> Trees | None:
        """What its agent made of a change that is in the user's worktree, or was begun to be written there.

        Of one that has landed that may be more than was left to write.
        """
        if self.is_in_place or self.landing_pair is None:
            return self.change_in_place
        shown, base, head = self.own.decision.shown, self.worktree_base, self.head_tree
        whole = None if base is None or head is None else Trees(base, head)
        return shown or whole or self.landing_pair

    @property
    def has_changed_worktree(self) -> bool:
        """Whether the user's worktree is known to have had something of what the run made."""
        pairs = self.change_in_place or self.landing_pair, self.made
        return any(pair is not None and not pair.is_empty for pair in pairs)

    @property
    def sort_key(self) -> tuple[int, str]:
        """Sort key by time; ids of the Go program are random, so the start comes first."""
        try:
            return parse_timestamp(self.started_at), self.id
        except ValueError:
            return 0, self.id


_GO_FIELDS = tuple(takewhile(lambda name: name != "repo_root", RunFields.model_fields))

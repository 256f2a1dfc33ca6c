"""The fields of a run's record, and the methods that say what happened to it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from pydantic import Field

from git_blackbird.model.base.ids import CheckedOwner, CheckedRunId, CheckedTaskId, RunId, SessionRef, TaskId
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.parent_verdict import ChildResult, Dismissal, ParentVerdict
from git_blackbird.model.run.parts import (
    AgentFacts,
    Brought,
    DecisionFacts,
    Heads,
    Landed,
    LandingBlocked,
    LandingDue,
    Logs,
    Merge,
    Opinion,
    Own,
    Question,
    Said,
    Snapshots,
    Superseded,
    UsageLimit,
    Worktree,
)
from git_blackbird.model.run.states import (
    APPROVALS,
    DecisionState,
    Requester,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import Summary, Trees


class RunFields(Record):
    """The fields of a run's record. Only a ``Run`` requires those that every record has.

    Up to the signature they are the Go program's, in its order.
    """

    id: CheckedRunId = RunId("")
    task_id: CheckedOwner = Field(default=TaskId(""), alias="taskId")
    run_type: RunType = RunType.EXECUTE
    provider: str = ""
    provider_session_ref: SessionRef | None = None
    started_at: str = Field(default="", alias="startedAt")
    completed_at: str | None = Field(default=None, alias="completedAt")
    status: RunStatus = RunStatus.RUNNING
    exit_code: int | None = Field(default=None, alias="exitCode")
    stdout: str | None = None
    stderr: str | None = None
    context: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    decision_required: bool | None = None
    decision_state: DecisionState | None = None
    decision_requested_at: str | None = None
    decision_resolved_at: str | None = None
    decision_feedback: str | None = None
    review_summary: Summary | None = None
    parent_review_passed: bool | None = None
    parent_review_resume_task_ids: tuple[CheckedTaskId, ...] = ()
    parent_review_feedback: str | None = None
    parent_review_results: dict[str, ChildResult] | None = None
    parent_review_completion_signature: str | None = None

    repo_root: str | None = None
    last_completion_status: RunStatus | None = None
    own: Own = Field(default=Own(), alias="blackbird")

    def _is_left_out(self, name: str, value: object, /) -> bool:
        # A record of the Go program has nothing of ours, and is written as it was.
        return value is None or (name == "blackbird" and not value)


class Ending(NamedTuple):
    """How a run ended, whatever its type; ``superseded_by``: it does not count, and why."""

    at: str
    status: RunStatus
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    error: str | None = None
    reason: TerminalReason | None = None
    way_out: str | None = None
    limit: UsageLimit | None = None
    agent: AgentFacts = AgentFacts()
    logs: Logs = Logs()
    notes: tuple[str, ...] = ()
    superseded_by: str | None = None


class RunChange(NamedTuple):
    """What a run did to its worktree, as far as it is known.

    ``base`` and ``worktree_base`` are there where they are others than when the run began.
    """

    summary: Summary
    head: str | None = None
    base: str | None = None
    worktree_base: str | None = None
    end_commit: str | None = None
    end_branch: str | None = None


class WrittenRun(RunFields):
    """A record that is changed by methods that say what happened.

    Each returns a copy, with what else is in the record, also unknown fields.
    """

    def with_own(self, parts: Own) -> Self:
        """Return a copy with those of our parts that are set in ``parts``."""
        return self.updated(RunFields(own=self.own.updated(parts)))

    def by_agent(self, provider: str) -> Self:
        """Return a copy that this provider's agent makes."""
        return self.updated(RunFields(provider=provider))

    def of_type(self, run_type: RunType, context: dict[str, Any]) -> Self:
        """Return a copy for that purpose, with what its agent is given."""
        return self.updated(RunFields(run_type=run_type, context=context))

    def beginning_at(self, log: int, submodules: dict[str, str]) -> Self:
        """Return a copy with the size of git's log of HEAD, and the digests of edits in submodules."""
        snapshots = self.own.snapshots
        if snapshots is not None and submodules:
            snapshots = snapshots.updated(Snapshots(base=snapshots.base, submodules=submodules))
        return self.with_own(Own(heads=self.own.heads.updated(Heads(log=log)), snapshots=snapshots))

    def resuming(self, earlier: "WrittenRun", prompt: str, task_since: str) -> Self:
        """Return a copy that continues the session of an earlier run with a prompt."""
        parts = Own(
            resumes=earlier.id,
            task_since=task_since,
            turn=None if isinstance(earlier.own.landing, Landed) else earlier.own.turn,
            said=self.own.said.updated(Said(prompt=prompt)),
        )
        return self.updated(RunFields(last_completion_status=earlier.status)).with_own(parts)

    def noting(self, *notes: str) -> Self:
        """Return a copy with further remarks for people."""
        return self.with_own(Own(notes=(*self.own.notes, *notes)))

    def ended(self, ending: Ending) -> Self:
        """Return a copy that is over."""
        fields = RunFields(
            completed_at=ending.at,
            status=ending.status,
            exit_code=ending.exit_code,
            stdout=ending.stdout,
            stderr=ending.stderr,
            error=ending.error,
        )
        parts = Own(
            terminal_reason=ending.reason,
            way_out=ending.way_out,
            limit=ending.limit,
            notes=ending.notes,
            agent=self.own.agent.updated(ending.agent),
            logs=ending.logs,
        )
        over = self.updated(fields).with_own(parts)
        return over if ending.superseded_by is None else over.superseded(ending.at, ending.superseded_by)

    def made_at(self, at: str, summary: Summary) -> Self:
        """Return a copy that was done at that time, with the summary of its change."""
        return self.updated(RunFields(completed_at=at, review_summary=summary))

    def asking(self, questions: tuple[Question, ...]) -> Self:
        """Return a copy whose agent asked these questions at its end."""
        return self.with_own(Own(said=self.own.said.updated(Said(questions=questions))))

    def ruling(self, decided: Mapping[str, tuple[str, str | None]]) -> Self:
        """Return a copy with what its agent decided, and why, by the ids of the questions."""
        rulings = tuple(each.decided(*decided.get(each.question.id, ())) for each in self.own.said.rulings)
        return self.with_own(Own(said=self.own.said.updated(Said(rulings=rulings)))) if rulings else self

    def continuable(self, session: str | None) -> Self:
        """Return a copy with the session that can be continued."""
        return self.updated(RunFields(provider_session_ref=session))

    def in_worktree(self, path: str | None) -> Self:
        """Return a copy of which the worktree of its own is there, or is none."""
        worktree = self.own.worktree
        if worktree is None or path is None:
            return self.with_own(Own(worktree=None))
        return self.with_own(Own(worktree=worktree.updated(Worktree(path=path))))

    def changed(self, change: RunChange) -> Self:
        """Return a copy with what the run did to its worktree."""
        own, heads = self.own, Heads(end_commit=change.end_commit, end_branch=change.end_branch)
        snapshots, worktree = own.snapshots, own.worktree
        if snapshots is not None:
            snapshots = snapshots.updated(Snapshots(base=change.base or snapshots.base, head=change.head))
        if worktree is not None and change.worktree_base is not None:
            worktree = worktree.updated(Worktree(path=worktree.path, base=change.worktree_base))
        parts = Own(heads=own.heads.updated(heads), snapshots=snapshots, worktree=worktree)
        return self.updated(RunFields(review_summary=change.summary)).with_own(parts)

    def leaving(self, head: str | None) -> Self:
        """Return a copy with the worktree as it is at its end."""
        snapshots = self.own.snapshots
        if snapshots is None:
            return self
        return self.with_own(Own(snapshots=snapshots.updated(Snapshots(base=snapshots.base, head=head))))

    def taken_late(self) -> Self:
        """Return a copy whose head snapshot was taken some time after its end."""
        snapshots = self.own.snapshots
        if snapshots is None:
            return self
        late = Snapshots(base=snapshots.base, late=True)
        return self.with_own(Own(snapshots=snapshots.updated(late)))

    def requiring_decision(self) -> Self:
        """Return a copy on which a decision is due once whatever comes before that is over."""
        return self.updated(RunFields(decision_required=True))

    def awaiting_decision(self, since: str | None) -> Self:
        """Return a copy with a pending decision since that time."""
        return self.updated(
            RunFields(
                decision_required=True, decision_state=DecisionState.PENDING, decision_requested_at=since
            )
        )

    def escalating(self, since: str) -> Self:
        """Return a copy with a pending decision since that time, whether or not checkpoints require one."""
        escalated = DecisionFacts(escalated=not self.decision_required)
        return self.awaiting_decision(since).deciding(escalated)

    def unescalated(self) -> Self:
        """Return a copy of which no check or review has said that a decision is due."""
        return self.updated(RunFields(decision_required=None)).deciding(DecisionFacts(escalated=False))

    def unasked(self) -> Self:
        """Return a copy without the decision that was due."""
        return self.updated(RunFields(decision_state=None, decision_requested_at=None))

    def undecided(self) -> Self:
        """Return a copy of which nothing is asked, now or later."""
        return self.unasked().updated(RunFields(decision_required=None))

    def requesting_changes(self, at: str, feedback: str, by: Requester | None) -> Self:
        """Return a copy with a change request that no decision made; ``by`` is None for a person's."""
        return self.updated(
            RunFields(
                decision_state=DecisionState.CHANGES_REQUESTED,
                decision_requested_at=at,
                decision_resolved_at=at,
                decision_feedback=feedback,
            )
        ).deciding(DecisionFacts(by=by))

    def told(self, text: str) -> Self:
        """Return a copy to whose agent a person said this too, while it worked or before it goes on."""
        said = self.own.said.updated(Said(told=(*self.own.said.told, text)))
        told = self.with_own(Own(said=said))
        if self.decision_state is not DecisionState.CHANGES_REQUESTED:
            return told
        return told.updated(RunFields(decision_feedback=said.told_text))

    def told_meanwhile(self, told: tuple[str, ...]) -> Self:
        """Return a copy of an ended run with what a person said to it while it worked.

        What came too late to pause it is a change request, before any check or review; without a session a
        person has to decide.
        """
        run = self.with_own(Own(said=self.own.said.updated(Said(told=told))))
        text, is_over = run.own.said.told_text, self.status in {RunStatus.SUCCESS, RunStatus.FAILED}
        if text is None or not is_over or self.own.superseded:
            return run
        unchecked, at = run.with_own(Own(check=None, review=None)), self.completed_at or self.started_at
        if self.provider_session_ref is None:
            return unchecked.awaiting_decision(at)
        return unchecked.requesting_changes(at, text, None)

    def without_request(self) -> Self:
        """Return a copy whose change request does not count."""
        return self.updated(RunFields(decision_resolved_at=None, decision_feedback=None)).deciding(
            DecisionFacts(by=None)
        )

    def decided(self, state: DecisionState | None, at: str, feedback: str | None) -> Self:
        """Return a copy with a person's decision."""
        decided = self.updated(
            RunFields(decision_state=state, decision_resolved_at=at, decision_feedback=feedback)
        )
        if state is DecisionState.REJECTED:
            return decided.with_own(Own(terminal_reason=TerminalReason.REJECTED))
        return decided.deciding(DecisionFacts(hook_output=None)) if state in APPROVALS else decided

    def deciding(self, facts: DecisionFacts) -> Self:
        """Return a copy with what is set in ``facts`` about its decision."""
        return self.with_own(Own(decision=self.own.decision.updated(facts)))

    def committed_as(self, *oids: str) -> Self:
        """Return a copy with further commits."""
        return self.with_own(Own(commits=tuple(dict.fromkeys((*self.own.commits, *oids)))))

    def judging(self, run: str, round_number: int, result: dict[str, Any]) -> Self:
        """Return a copy with what it found, as a reviewer, about the change of another run."""
        return self.with_own(Own(opinion=Opinion(run=RunId(run), round=round_number, result=result)))

    def about(self, signature: str) -> Self:
        """Return a copy that is about this state of a parent's children."""
        return self.updated(RunFields(parent_review_completion_signature=signature))

    def finding(self, verdict: ParentVerdict) -> Self:
        """Return a copy with the verdict on a parent."""
        return self.updated(
            RunFields(
                parent_review_passed=verdict.passed,
                parent_review_resume_task_ids=verdict.resume_task_ids,
                parent_review_feedback=verdict.feedback or None,
                parent_review_results={str(child): result for child, result in verdict.results.items()},
            )
        )

    def failing(self, error: str) -> Self:
        """Return a copy with the error with which it failed."""
        return self.updated(RunFields(error=error))

    def dismissed(self, dismissal: Dismissal) -> Self:
        """Return a copy of a parent's review that a person dismissed."""
        over = RunFields(completed_at=self.completed_at or dismissal.at)
        return self.updated(over).with_own(Own(dismissed=dismissal))

    def bringing(self, brought: Brought) -> Self:
        """Return a copy whose worktree is brought to this merge."""
        landing = self.own.landing
        if not isinstance(landing, LandingDue | LandingBlocked) or landing.brought == brought:
            return self
        return self.with_own(Own(landing=landing.model_copy(update={"brought": brought})))

    def landing_as(self, *, begun: Merge | None) -> Self:
        """Return a copy of whose landing this merge may be written in part."""
        landing = self.own.landing
        if not isinstance(landing, LandingDue | LandingBlocked):
            return self
        return self.with_own(Own(landing=landing.model_copy(update={"begun": begun})))

    def landed_at_last(self, at: str) -> Self:
        """Return a copy whose landing, which had begun, is complete."""
        landing = self.own.landing
        if not isinstance(landing, LandingDue | LandingBlocked) or landing.begun is None:
            return self
        return self.with_own(Own(landing=Landed(at=at, merge=landing.begun, check=landing.check)))

    def committed(self) -> Self:
        """Return a copy whose commit was made after all, if it was refused when the change landed."""
        if not isinstance(self.own.landing, Landed):
            return self
        return self.with_own(Own(landing=self.own.landing.model_copy(update={"uncommitted": None})))

    def landed_as(self, head: str) -> Self:
        """Return a copy whose change has left the user's worktree so."""
        landing = self.own.landing
        if not isinstance(landing, Landed):
            return self
        merge = landing.merge.updated(Merge(trees=Trees(landing.merge.trees.base, head)))
        return self.with_own(Own(landing=landing.model_copy(update={"merge": merge})))

    def superseded(self, at: str, by: str) -> Self:
        """Return a copy superseded by a run, a command or whatever ``by`` names; its commit is not made."""
        own = Own(superseded=Superseded(at=at, by=by))
        is_commit_due = self.own.worktree is None and isinstance(self.own.landing, LandingDue)
        return self.with_own(own.updated(Own(landing=None)) if is_commit_due else own)

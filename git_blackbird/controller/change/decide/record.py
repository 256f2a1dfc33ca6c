"""Recording a decision, or that a record counts: under the store lock, once."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird import trace
from git_blackbird.controller.change.commit.approval import (
    ApprovalRequest,
    commit_change,
    recover_approval,
)
from git_blackbird.controller.change.commit.refusal import (
    ApprovalRefusedError,
    require_branch,
    with_hook_edits,
)
from git_blackbird.controller.change.decide.checkpoint import (
    diverged_names,
    find_approvable,
    find_pending,
    find_undoable,
    require_requestable,
    why_not_resumable,
)
from git_blackbird.controller.change.land.landing import prepare_landing
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.manual_commits import recording_deferred
from git_blackbird.controller.core.drafts import Drafts, drop_recorded_drafts
from git_blackbird.controller.core.guards import (
    require_readable,
    require_unclaimed,
    require_undecided,
    require_whole,
)
from git_blackbird.controller.core.plan_edits import settle_edits
from git_blackbird.controller.core.status_sync import save_statuses, update_run
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.place.place import is_conflict_shown, place_of, unresolved_text
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.changes import changed_paths
from git_blackbird.git.change.parts import limited_to, paths_outside, rename_halves, without_change
from git_blackbird.messages.display.checkpoint import GOES_BACK
from git_blackbird.messages.display.format import bare_quote_error
from git_blackbird.messages.outgoing.prompts import bound_output, render_suggestion
from git_blackbird.messages.patch.comments import sent_comments
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.next_steps import MESSAGE, Sentence, TaskCommand
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.change.work import undo_commands
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, DecisionState, RunStatus
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import ApprovalCommit, OtherBranch
from git_blackbird.model.views.events import Decided


class DecidedChange(NamedTuple):
    """What a decision is about: a change, and the runs that made it; ``trees`` is None where it is not known.

    ``edited`` are paths that a person edited in the task's worktree after the run, which is part of it,
    ``left_out`` those of the whole change that are none of it, and ``halves`` those of them to or from which
    a path of it was renamed, each with that. ``left`` is what else of the whole change is left out: lines of
    the files ``in_part``. ``unresolved`` says what of a conflict is.
    """

    trees: Trees | None
    runs: tuple[Run, ...] = ()
    edited: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    halves: Mapping[str, str] = MappingProxyType({})
    left: Trees | None = None
    in_part: tuple[str, ...] = ()
    unresolved: str | None = None


@dataclass(frozen=True)
class DecisionResult:
    """The outcome of a decision: record and state, paths that differ now.

    ``undo`` are the commands that take a rejected change back, one line each. ``commit`` is what an approval
    committed; None where it commits nothing. ``other_branch`` is there where nobody was asked about it.
    ``deferred`` has a line for each commit that its hook had left to be recorded. ``plan_edits`` says what
    became of edits of the plan. ``undoes``: what was rejected is taken back next.
    """

    run: Run
    state: PlanState
    change: DecidedChange
    moved: tuple[str, ...] = ()
    undo: tuple[TaskCommand, ...] = ()
    commit: ApprovalCommit | None = None
    other_branch: OtherBranch | None = None
    deferred: tuple[str, ...] = ()
    plan_edits: tuple[str, ...] = ()
    undoes: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        change, is_elsewhere = self.change, not self.run.is_in_place
        kept = f"run {self.run.id} keeps it" if is_elsewhere else "it stays in your worktree"
        return (
            *self.deferred,
            *self.plan_edits,
            *([f"{change.unresolved}: {GOES_BACK}"] if change.unresolved else ()),
            *(f"with what was edited in its worktree after the run: {path}" for path in change.edited),
            *(f"left out, {kept}: {path}{self._rename_text(path)}" for path in change.left_out),
            *(f"left out, {kept}: some of the lines of {path}" for path in change.in_part),
        )

    def _rename_text(self, path: str) -> str:
        other = self.change.halves.get(path)
        return "" if other is None else f", the other half of a rename: {other} is approved"

    @property
    def decided(self) -> Decided | None:
        run = self.run
        if run.decision_state is None:
            return None
        return Decided(
            run.task_id,
            run.id,
            run.decision_state,
            elsewhere=False,
            commit=self.commit,
            is_of_failure=run.status is RunStatus.FAILED,
            undoes=self.undoes,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        warnings = () if self.commit is None else self.commit.warnings
        if self.other_branch is not None:
            warnings = (
                *warnings,
                f"{self.run.task_id} is approved on another branch: {self.other_branch.text}",
            )
        return warnings


def record_decision(
    workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None = None
) -> DecisionResult:
    """Record a decision on a task's pending run, and what follows from it for the plan.

    An approval may also accept a failed run and, where approvals are committed, one that is done.

    With ``run_id`` the decision is about that run only. Changes requested without a text are what a refusing
    hook printed and what the reviewers of the change found. Where approvals are committed, the commit comes
    first. Raises RequestError if there is nothing to decide, if the session of a change request cannot go on,
    or if the change of an approval cannot be committed; nothing is recorded then.
    """
    workspace.environment.forbid_agents("decide")
    with recording_deferred(workspace) as deferred:
        return replace(_decide(workspace, task_id, decision, run_id), deferred=deferred)


def _decide(workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None) -> DecisionResult:
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_readable(state, task)
    is_approval = decision.state in APPROVALS
    may_commit = is_approval and workspace.commits_approvals and not decision.without_commit
    if is_approval:
        run = find_approvable(state, task.id, run_id, commits=may_commit)
    elif decision.undoes:
        run = find_undoable(state, task.id, run_id)
    else:
        run = find_pending(state, task.id, run_id)
        require_whole(state.history(task.id))
    if decision.state is DecisionState.CHANGES_REQUESTED:
        decision = _in_words(workspace, state.history(task.id), run, decision)
    change = _decided_change(workspace, state, run, decision)
    pair = change.trees
    place = place_of(workspace, run)
    strayed = place.other_branch() if is_approval and not decision.branch_confirmed else None
    commits = may_commit and (pair is None or not pair.is_empty)
    if commits and (run.is_in_place or run.has_landed):
        becomes = partial(_decided, workspace, decision, pair, ApprovalCommit())
        approval = ApprovalRequest(state, task, run, pair, becomes, change.runs, strayed, left=change.left)
        return _approve(workspace, approval, decision, change)
    require_branch(task, strayed if commits else None)
    if not decision.undoes:
        _require_undone(state, run)
    now = None if pair is None else place.files_now(pair)
    if now is not None and change.left is not None:
        now = without_change(workspace.repo, now, change.left)
    moved = diverged_names(workspace, pair, now)
    saved = _save(workspace, run, decision, change)
    if decision.state is DecisionState.REJECTED:
        # Where the index cannot follow a killed approval's commit now, the status says so.
        with suppress(UnusableError):
            recover_approval(workspace)
    undo = () if decision.undoes else undo_commands(saved.run)
    return replace(saved, moved=moved, undo=undo, other_branch=strayed, undoes=decision.undoes)


def _in_words(workspace: Workspace, history: History, run: Run, decision: Decision) -> Decision:
    """Return a change request with all that it says, and the comments that it sends.

    Raises RequestError for one without words, and for a session that cannot go on.
    """
    if decision.feedback is None:
        # Then the findings of the hook and the reviewers are the request.
        decision = decision._replace(feedback=render_suggestion(run, merged_or_none(run)))
    words = decision.feedback or ""
    if not words.strip():
        way = TaskCommand("decide", run.task_id, " --request-changes", blank=MESSAGE)
        raise RequestError("change request cannot be empty", hint=way)
    require_words(Change.of(history).standing_rulings, words)
    require_requestable(workspace, history, run)
    comments = decision.comments or Drafts(workspace).comments(run).items
    return decision._replace(comments=sent_comments(comments, words))


def _decided_change(workspace: Workspace, state: PlanState, run: Run, decision: Decision) -> DecidedChange:
    """Return the change that a decision is about.

    Raises RequestError for a part that there is not, UnresolvedError.
    """
    history = state.history(run.task_id)
    if run.has_landed:
        # The change that its approval could not commit.
        runs = workspace.runs_to_decide(history) if run.is_in_place else ()
        whole, edits = run.landing_pair, None
    else:
        runs = workspace.runs_to_decide(history)
        whole = decision.shown or change_of(workspace, state, run.task_id).trees
        is_kept = decision.shown is None and decision.state is not DecisionState.REJECTED
        edits = place_of(workspace, run).edits() if is_kept else None
    if edits is not None:
        whole = edits.pair
    unresolved = None
    if decision.state in APPROVALS and whole is not None:
        _require_resolved(workspace, run, whole, decision.paths)
        unresolved = unresolved_text(place_of(workspace, run).conflicts(whole, decision.paths))
    edited = () if edits is None else edits.paths
    if not decision.only:
        return DecidedChange(whole, runs, edited, unresolved=unresolved)
    if whole is None:
        raise RequestError("the change is not known, so no part of it can be approved")
    part = limited_to(workspace.repo, whole, decision.only)
    left_out = paths_outside(workspace.repo, whole, part)
    halves = rename_halves(workspace.repo, whole, left_out) if left_out else {}
    left = Trees(part.head, whole.head)
    names = (path.decode(errors="replace") for path in changed_paths(workspace.repo, left))
    return DecidedChange(part, runs, edited, left_out, halves, left, tuple(sorted(names)))


def _require_resolved(workspace: Workspace, run: Run, pair: Trees, only: tuple[str, ...]) -> None:
    """Refuse to approve conflicts that are not resolved, where no session is to. Raises UnresolvedError."""
    if stage_of(run) is not Stage.BLOCKED and not only:
        return
    left = place_of(workspace, run).conflicts(pair, only)
    if not left and not only and is_conflict_shown(workspace, run, pair):
        left = prepare_landing(workspace, run).merge.conflicts
    text = unresolved_text(left)
    if text is not None:
        folder = TaskCommand("worktrees open", run.task_id)
        raise UnresolvedError(
            f"{run.task_id} is not approved: {text}",
            hint=Sentence(
                "resolve it in its worktree (",
                folder,
                " says where), `git add` what is right as it is, and approve again; or approve the rest with"
                " --files",
            ),
        )


class UnresolvedError(RequestError):
    """A change cannot be approved: conflicts in it are not resolved."""


def _approve(
    workspace: Workspace, approval: ApprovalRequest, decision: Decision, change: DecidedChange
) -> DecisionResult:
    """Commit a change, and record its approval. Raises ApprovalRefusedError; nothing is recorded then."""
    state, run = approval.state, approval.run
    try:
        with commit_change(workspace, approval) as (then, commit):
            if not commit.paths:
                _require_undone(state, run)
            saved = _save(then, run, decision, change, commit)
    except ApprovalRefusedError as error:
        _keep_hook_output(workspace, state.history(run.task_id), run, error)
        raise
    return replace(saved, moved=commit.moved, commit=commit)


def _require_undone(state: PlanState, run: Run) -> None:
    """Raise RequestError if the task is done and nothing is left to commit."""
    if stage_of(run) is Stage.DONE:
        find_pending(state, run.task_id, run.id)


def _keep_hook_output(
    workspace: Workspace, history: History, run: Run, refusal: ApprovalRefusedError
) -> None:
    """Save what a hook changed, and its output for a change request; name the command that sends it."""
    if refusal.hook_output is None:
        return
    output = bound_output(refusal.hook_output)

    def refused(stored: Run) -> Run:
        known = with_hook_edits(workspace, stored, refusal.hook_edits)
        return known.updated(hook_output=output) if known.is_pending else known

    update_run(workspace, run, refused)
    if run.is_pending and why_not_resumable(workspace, history, run) is None:
        sends = TaskCommand("decide", run.task_id, " --request-changes")
        asks = Sentence("or have the agent fix it: ", sends, " sends what the hook printed")
        refusal.hint = (*refusal.ways_out, asks)


def require_words(rulings: Iterable[Ruling], request: str) -> None:
    """Raise RequestError if the change request quotes a ruling and says no more."""
    if (text := bare_quote_error(rulings, request)) is not None:
        raise RequestError(text, hint="write it below the quotation, or delete that if the ruling stands")


def _save(
    workspace: Workspace,
    run: Run,
    decision: Decision,
    change: DecidedChange,
    commit: ApprovalCommit | None = None,
) -> DecisionResult:
    with workspace.transaction() as transaction:
        stored = require_undecided(workspace, run)
        if commit is None:
            require_unclaimed(workspace, run.task_id)
        now = workspace.environment.timestamp()
        decided = _decided(workspace, decision, change.trees, commit, stored, now)
        transaction.save_run(decided)
        plan_edits = settle_edits(workspace.store, transaction)
        after = save_statuses(transaction).state
    trace.event("decide", decision.state.value, "run", run.id, "of", run.task_id)
    drop_recorded_drafts(workspace)
    return DecisionResult(decided, after, change, plan_edits=plan_edits)


def _decided(
    workspace: Workspace,
    decision: Decision,
    pair: Trees | None,
    commit: ApprovalCommit | None,
    stored: Run,
    at: str,
) -> Run:
    decided = stored.decided(decision.state, at, decision.feedback).updated(
        shown=pair,
        approved_on=place_of(workspace, stored).commit_branch if decision.may_commit else None,
        decided_in_part=bool(decision.only),
        comments=decision.comments or stored.comments,
    )
    return decided if commit is None else decided.committed_as(*filter(None, [commit.oid])).committed()

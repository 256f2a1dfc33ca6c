"""How a run is closed: what it changed, what that means, what happened beside it, what is due next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_blackbird import trace
from git_blackbird.agents.failures import find_reset
from git_blackbird.controller.change.work.watch import (
    config_changes,
    edited_outside,
    load_observed,
    observe,
    outside_of,
    remove_observed,
    save_observed,
    warn_outside,
)
from git_blackbird.controller.core.plan_edits import carried_edits, edits_at_work, hold_edits, undecided_edits
from git_blackbird.controller.core.status_sync import save_status
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace, shorten_path
from git_blackbird.controller.launch.launch import silence_texts
from git_blackbird.controller.launch.run_files import publish_logs
from git_blackbird.controller.place.place import place_of, unresolved_text
from git_blackbird.controller.place.snapshots import (
    EndSnapshot,
    snapshot,
    submodules,
    without_earlier_files,
)
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.change.changes import compose
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import head
from git_blackbird.git.hooks.attribution import list_commits
from git_blackbird.git.submodules.edits import submodule_changes
from git_blackbird.git.worktree.log import log_size
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.format import masked_text
from git_blackbird.messages.incoming.questions import stray_rulings
from git_blackbird.model.base.redaction import masked_kinds
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.change.change import Change, contributions
from git_blackbird.model.rules.limits import believed_end, limit_reached
from git_blackbird.model.run.agent_io import AgentFailure
from git_blackbird.model.run.ended import Ended, judged
from git_blackbird.model.run.parts import LandingBlocked
from git_blackbird.model.run.run import Run, RunChange
from git_blackbird.model.run.states import ReviewState, RunStatus
from git_blackbird.model.run.summary import Outside, Summary, Trees
from git_blackbird.model.views.events import Phase
from git_blackbird.storage.plan_file import InvalidPlanError
from git_blackbird.storage.store import Transaction

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence

# How often a snapshot is taken once more since HEAD was moved meanwhile.
_TRIES = 3
_THE_PLAN_IS_AS_IT_WAS = (
    "the plan is as it was: these edits, and any of yours in an editor meanwhile, wait for the decision on"
)
_OVER = frozenset({RunStatus.SUCCESS, RunStatus.FAILED})


def close_run(
    workspace: Workspace,
    ui: UserInterface,
    run: Run,
    ended: Ended,
    *,
    at: str | None = None,
    end: EndSnapshot | None = None,
) -> Run:
    """Take the head snapshot, write the record, derive the status.

    ``at`` is when the run ended, if that was not now; ``end`` keeps its snapshot for the next run. A summary
    that fails never blocks: the record says that it is minimal.
    """
    try:
        change = change_of_run(workspace, ui, run, end)
    except GitStoppedError as error:
        change = RunChange(Summary(minimal=error.message))
    run = run.changed(change)
    now, changed = workspace.environment.timestamp(), run.head_tree is None or run.head_tree != run.base_tree
    ended = judged(concluded(ended, at or now), changed=changed or bool(change.summary.submodules))
    is_success = ended.status is RunStatus.SUCCESS
    no_change = is_success and _changed_nothing(workspace, run)
    outside = edited_outside(workspace, run, ended.edited)
    place, elsewhere = place_of(workspace, run), run.change_elsewhere
    closed = run.ended(ended).updated(no_change=no_change, outside=outside)
    if elsewhere is not None and elsewhere.base != run.base_tree:
        # A merge that the agent was sent.
        closed = closed.noting(*filter(None, [unresolved_text(place.conflicts(elsewhere))]))
    closed = closed.noting(*(silence_texts(workspace, ended) if no_change else ()))
    closed = _naming_masks(ui, closed.noting(*stray_rulings(run, ended.rulings)), ended.marks)
    counts = ended.status in _OVER and ended.superseded_by is None
    landing = place.landing if counts else None
    is_gone = isinstance(landing, LandingBlocked)
    # Where nothing was changed there is nothing to review, and only a person can say whether it is done.
    needs_decision = is_gone or (no_change and not workspace.config.execution.accept_no_change)
    is_reviewed = is_success and workspace.reviews_changes and not needs_decision
    is_checked = is_success and workspace.has_checks and not no_change and not is_gone
    if counts:
        is_rechecked = workspace.config.check.criteria and not no_change
        closed = closed.updated(landing=landing, recheck_due=is_rechecked)
    if is_reviewed or is_checked:
        # Whoever ends the reviews, or the check without them, says what is to be decided.
        closed = closed.updated(
            review_state=ReviewState.DUE if is_reviewed else None,
            evidence=_evidence_due() if is_checked else None,
            decision_required=is_gated(workspace, run) or None,
        )
    elif needs_decision or (counts and is_gated(workspace, run)):
        closed = closed.awaiting_decision(now)
    with trace.measured(Phase.RECORD, run.task_id):
        return save_closed(workspace, ui, closed)


def _evidence_due() -> "Evidence":
    from git_blackbird.model.run.evidence import DUE  # a task without a check does without

    return DUE


def is_gated(workspace: Workspace, run: Run) -> bool:
    """Whether a decision is due once work on a task is over, whatever it made."""
    is_stop = workspace.config.execution.stop_after_each_task
    return is_stop or workspace.store.records.history(run.task_id).owes_decision(run)


def change_of_run(
    workspace: Workspace, ui: UserInterface, run: Run, end: EndSnapshot | None = None
) -> RunChange:
    """Take the head snapshot and compare; return what the run did to its worktree.

    What others committed meanwhile is no part of it. Without a snapshot the summary is minimal. Raises
    GitStoppedError where a person did not wait for it.
    """
    change, repo = RunChange(Summary()), workspace.repo
    if not repo.top.is_dir():
        return RunChange(Summary(minimal=f"{repo.top} is gone"))
    try:
        at = head(repo)
        change = change._replace(end_commit=at.commit, end_branch=at.branch)
        with trace.measured(Phase.SNAPSHOT, run.task_id):
            for _ in range(_TRIES):
                log_end = log_size(repo.git_dir)
                after = snapshot(workspace, since=run.base_tree)
                if log_size(repo.git_dir) == log_end:
                    break
        if end is not None:
            end.keep(workspace, after, log_end)
        if run.base_tree is None:
            return change._replace(summary=Summary(minimal="the snapshot from before the run is missing"))
        with trace.measured(Phase.SUMMARY, run.task_id):
            own = place_of(workspace, run).own_change(ui, Trees(run.base_tree, after.tree), log_end)
            change = change._replace(head=after.tree)
            own = without_earlier_files(workspace, run, own)
            before, after_inside = run.submodule_digests or {}, submodules(workspace)
            inside = submodule_changes(repo, own.pair, before, after_inside)
            beside = own.beside.updated(submodules=inside)
            summary = summarize(repo, own.pair).with_fields(beside)
        summary = summary.updated(left_out=after.left_out)
        return change._replace(summary=summary, base=own.pair.base, worktree_base=own.began)
    except GitStoppedError:
        raise
    except BlackbirdError as error:
        warn(ui, f"no summary of run {run.id}: {error.message}", run.task_id)
        return change._replace(summary=Summary(minimal=error.message))


def save_closed(workspace: Workspace, ui: UserInterface, run: Run) -> Run:
    """Save a closed record with its commits, then the plan, under one lock.

    What others wrote on the record meanwhile stays.
    """
    commits: tuple[str, ...] = ()
    try:
        commits = list_commits(workspace.repo, run.id)
    except OSError as error:
        warn(ui, f"the commits of run {run.id} are not known: {error.strerror}", run.task_id)
    with closing_run(workspace, run) as (transaction, meanwhile):
        closed, history = run, workspace.store.records.history(run.task_id)
        switched = None if run.review_summary is None else run.review_summary.switched
        needs_decision = meanwhile.needs_decision or (switched is not None and switched.is_unclear)
        if needs_decision and not run.is_review and not run.is_superseded:
            # Also with checkpoints off, which the agent may have switched off itself. A run that is not over,
            # or is to be checked or reviewed first, hands this on to what follows it.
            is_next = run.status in _OVER and run.review_state is None and run.evidence is None
            closed = (
                run.awaiting_decision(run.completed_at) if is_next else run.updated(decision_required=True)
            )
        stored = history.find(run.id) or run
        closed = closed.updated(commits=commits, plan_edits=carried_edits(history, run))
        closed = meanwhile.noted_on(closed)
        closed = closed.told_meanwhile(stored.messages_while_working)
        if stored.is_superseded:
            # A person set the task's status while the agent worked: nothing is asked of this run.
            closed = closed.without_decision().updated(
                superseded_at=stored.superseded_at, superseded_by=stored.superseded_by
            )
        transaction.save_run(closed)
        transaction.renew_plan_backup()
        save_status(transaction, run.task_id)
    publish_logs(workspace, closed)
    for text in meanwhile.texts(run):
        warn(ui, text, run.task_id)
    warn_outside(ui, closed)
    began, ended = closed.start_branch, closed.end_branch
    if closed.is_in_place and began is not None and ended != began and closed.end_commit:
        there = "is detached" if ended is None else f"is on {ended}"
        text = f"HEAD was on {began} when run {run.id} began, and {there} now"
        warn(ui, text, run.task_id, f"git switch {shell_word(began)}")
    return closed


@dataclass(frozen=True)
class AgentInterference:
    """Changes of plan and configuration while an agent worked.

    ``plan_fault`` says what was set aside; ``is_loosened``: what protects the user is looser than it was.
    """

    plan_changes: tuple[str, ...]
    plan_fault: str | None
    config_changes: tuple[str, ...]
    is_loosened: bool
    outside: Outside

    @property
    def needs_decision(self) -> bool:
        """Whether a person has to decide on the run, also with checkpoints off."""
        return self.is_loosened or bool(self.plan_changes)

    def noted_on(self, run: Run) -> Run:
        """Return the record with these changes, beside those that it has."""
        fault = () if self.plan_fault is None else (self.plan_fault,)
        return run.noting(*fault).updated(
            plan_edits=(*run.plan_edits, *self.plan_changes),
            config_edits=(*run.config_edits, *self.config_changes),
            outside=run.outside.adding(self.outside),
        )

    def texts(self, run: Run) -> Iterator[str]:
        yield from () if self.plan_fault is None else (self.plan_fault,)
        yield from (f"the plan was edited during the run: {change}" for change in self.plan_changes)
        if self.plan_changes:
            yield f"{_THE_PLAN_IS_AS_IT_WAS} {run.task_id}"
        yield from (f"the configuration changed during the run: {change}" for change in self.config_changes)


@contextmanager
def closing_run(workspace: Workspace, run: Run) -> Iterator[tuple[Transaction, AgentInterference]]:
    """Hold the store lock to save the end of a run, with its agent's other changes.

    The backup of the plan is to be renewed once the record is saved: then the plan file has what counts.
    Raises UnusableError when git's configuration cannot be read.
    """
    with workspace.transaction() as transaction:
        before, now = load_observed(workspace), observe(workspace)
        config = config_changes(workspace, before, now)
        changes = () if before is None else before.outside.changes(now.outside.at)
        outside = outside_of(workspace, run, {run.id, *workspace.store.at_work}, changes)
        workspace.store.at_work.discard(run.id)
        plan = _check_plan(workspace, transaction, run)
        yield transaction, AgentInterference(*plan, *config, outside)
        if workspace.store.at_work:
            # The next to end tells what changes from here on.
            writes = frozenset() if before is None else before.outside.writes
            save_observed(workspace, now._replace(outside=now.outside._replace(writes=writes)))
        else:
            remove_observed(workspace)


def _check_plan(
    workspace: Workspace, transaction: Transaction, run: Run
) -> tuple[tuple[str, ...], str | None]:
    """Compare the plan file with what counts of it; restore the last valid plan when it must be.

    Edits wait for the decision on the run. Where there is none on such a run, they are set aside.
    """
    known = workspace.store.backup.load()
    if known is None:
        return (), None
    replacement = workspace.store.backup.replacement()
    changes: tuple[str, ...] = ()
    fault: str | None = None
    if replacement is not None:
        fault = f"the plan file was replaced by {replacement} during the run; that"
    elif transaction.plan_bytes() is None:
        transaction.restore_plan(known)
        return (), "the plan file was deleted during the run; it has been restored"
    else:
        try:
            changes = edits_at_work(transaction)
        except InvalidPlanError as error:
            fault = f"the plan was made invalid during the run ({error.faults[0]}); it"
    stored = workspace.store.records.history(run.task_id).find(run.id) or run
    is_looked_at = run.is_review or stored.review_state is ReviewState.BY_HAND
    if changes and (is_looked_at or run.is_superseded or stored.is_superseded):
        # No decision on this run follows.
        known = workspace.store.renderer.render(transaction.plan())
        fault = "the plan was edited during the run; that"
    if fault is not None:
        aside = shorten_path(workspace, str(transaction.quarantine_plan(run.id, known)))
        return (), f"{fault} is kept as {aside}, and the last valid plan has been restored"
    if changes:
        hold_edits(workspace.store, transaction, run.task_id, run.id)
    return changes, None


def _naming_masks(ui: UserInterface, run: Run, marks: Mapping[str, str]) -> Run:
    """Note on the record, and warn, that questions or rulings have masked parts."""
    texts = {
        "its questions": (text for one in run.questions for text in (one.prompt, *one.options)),
        "its rulings": (text for one in run.rulings for text in (one.decision, one.reason) if text),
    }
    for where, parts in texts.items():
        if kinds := masked_kinds("\n".join(parts), marks):
            run = run.noting(masked_text(where, kinds))
            warn(ui, run.notes[-1], run.task_id)
    return run


def concluded(ended: Ended, at: str) -> Ended:
    """Return the end of a run of any type with its time, and the usage limit that it met, if any."""
    if ended.leftovers_stopped:
        ended = ended.noting(f"{ended.leftovers_stopped} process(es) the agent left behind were stopped")
    if ended.refusal is not AgentFailure.USAGE_LIMIT:
        return ended._replace(at=at)
    moment = parse_timestamp(at)
    named = ended.resets_at or find_reset(ended.error or "", moment / 10**9)
    limit = limit_reached(moment, named)
    way_out = f"wait until {limit.until}" if believed_end(limit) else ended.way_out
    return ended._replace(at=at, limit=limit, way_out=way_out)


def _changed_nothing(workspace: Workspace, closed: Run) -> bool:
    """Return whether ``closed`` and the runs before it leave every file as it was; false where unknown.

    A run that finds the work done by an interrupted or failed one before it has not changed nothing.
    Raises GitStoppedError.
    """
    if closed.tree_pair is None:
        return False
    history = workspace.store.records.history(closed.task_id)
    runs = Change.of(history).runs
    earlier = (run for run in runs if run.id != closed.id and run.tree_pair is not None)
    runs = (*earlier, closed)
    if len(runs) == 1:
        return closed.tree_pair.is_empty
    try:
        return compose(workspace.repo, contributions(runs)).is_empty
    except GitStoppedError:
        raise
    except BlackbirdError:
        # Snapshots of earlier runs are gone: only this run is known.
        return closed.tree_pair.is_empty


def drop_stale_plan_backup(workspace: Workspace) -> None:
    """Drop the backup of the plan of a closed run; if the plan file is gone, restore it first.

    For when no agent works: a crash just after a record was closed leaves such a copy behind, and in the plan
    file the edits that wait with that run.
    """
    with workspace.transaction() as transaction:
        known = workspace.store.backup.load()
        if known is None:
            return
        if workspace.store.backup.replacement() is None and transaction.plan_bytes() is None:
            transaction.restore_plan(known)
        held = undecided_edits(workspace.store)
        if held is None:
            transaction.drop_plan_backup()
        else:
            hold_edits(workspace.store, transaction, held.task_id, held.run_id)
            transaction.renew_plan_backup()

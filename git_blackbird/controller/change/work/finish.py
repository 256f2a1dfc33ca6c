"""Close a run's record: its status, its change, what is due next."""

from collections.abc import Iterator, Mapping

from git_blackbird import trace
from git_blackbird.agents.failures import find_reset
from git_blackbird.agents.process.logs import TAIL_BYTES
from git_blackbird.agents.process.outcome import ExitCause, ProcessResult
from git_blackbird.controller.change.work.guard import closing_run, list_tracked
from git_blackbird.controller.change.work.outcome import RunOutcome, classify
from git_blackbird.controller.change.work.outside import edited_outside, warn_branch_left, warn_outside
from git_blackbird.controller.core.plan_edits import carried_edits
from git_blackbird.controller.core.status_sync import save_status
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.logs import publish_logs
from git_blackbird.controller.launch.wrapper import silence_texts
from git_blackbird.controller.place.place import place_of
from git_blackbird.controller.place.snapshots import OwnChange, snapshot, submodules, without_earlier_files
from git_blackbird.controller.place.unresolved import unresolved_text
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.change.composing import compose
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import head
from git_blackbird.git.submodules.edits import submodule_changes
from git_blackbird.git.worktree.log import log_size
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.format import masked_text
from git_blackbird.messages.incoming.questions import stray_rulings
from git_blackbird.model.base.ids import session_fault
from git_blackbird.model.base.redaction import masked_kinds
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.change.change import Change, contributions
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import believed_end, limit_reached
from git_blackbird.model.run.agent_io import AgentFailure, AgentResult
from git_blackbird.model.run.check import CheckOutcome, CheckResult
from git_blackbird.model.run.parts import LandingBlocked, TruncatedBytes, UsageLimit
from git_blackbird.model.run.run import Ending, Run, RunChange
from git_blackbird.model.run.states import (
    ReviewState,
    RunStatus,
)
from git_blackbird.model.run.summary import Summary, Trees
from git_blackbird.model.views.events import Phase

# How often a snapshot is taken once more since HEAD was moved meanwhile.
_TRIES = 3
_THE_PLAN_IS_AS_IT_WAS = (
    "the plan is as it was: these edits, and any of yours in an editor meanwhile, wait for the decision on"
)
_GATED = frozenset({RunStatus.SUCCESS, RunStatus.FAILED})


def close_run(
    workspace: Workspace,
    ui: UserInterface,
    run: Run,
    ended: ProcessResult,
    *,
    gated: bool,
    at: str | None = None,
) -> Run:
    """Take the head snapshot, write the record, derive the status; ``gated``: a decision is due then.

    ``at`` is when the run ended, if that was not now.
    A summary that fails never blocks: the record says that it is minimal.
    """
    try:
        summarized = run.changed(snapshot_and_summarize(workspace, ui, run))
    except GitStoppedError as error:
        summarized = run.changed(RunChange(Summary(minimal=error.message)))
    changed = summarized.head_tree is None or summarized.head_tree != summarized.base_tree
    changed = changed or bool(summarized.review_summary and summarized.review_summary.submodules)
    outcome = classify(ended, changed=changed, worked=changed or ended.reading.worked)
    now = workspace.environment.timestamp()
    is_success = outcome.status is RunStatus.SUCCESS
    no_change = is_success and _changed_nothing(workspace, summarized)
    closed = summarized.ended(ending_of(ended, outcome, at or now))
    closed = closed.updated(
        provider_session_ref=session_to_resume(run, ended.reading),
        no_change=no_change,
        outside=edited_outside(workspace, run, ended.reading.edited),
    )
    silence = silence_texts(workspace, ended) if no_change else ()
    closed = closed.noting(*_unresolved_conflicts(workspace, summarized), *silence)
    decided = ended.reading.rulings
    closed = closed.ruling(decided).noting(*stray_rulings(run, decided))
    if outcome.status is RunStatus.WAITING_USER:
        closed = closed.updated(questions=ended.reading.questions)
    closed = _naming_masks(ui, closed, ended.marks)
    counts = outcome.status in _GATED and outcome.overtaken_by is None
    landing = place_of(workspace, summarized).landing if counts else None
    is_gone = isinstance(landing, LandingBlocked)
    # Where nothing was changed there is nothing to review, and only a person can say whether it is done.
    is_doubtful = is_gone or (no_change and not workspace.config.execution.accept_no_change)
    is_checked = is_success and workspace.check_command and not no_change and not is_gone
    is_reviewed = is_success and workspace.reviews_changes and not is_doubtful
    if counts:
        closed = closed.updated(landing=landing)
    if is_reviewed or is_checked:
        # Whoever ends the reviews, or the check without them, says what is to be decided.
        closed = closed.updated(
            review_state=ReviewState.DUE if is_reviewed else None,
            check=CheckResult(outcome=CheckOutcome.DUE) if is_checked else None,
            decision_required=gated or None,
        )
    elif is_doubtful or (gated and counts):
        closed = closed.awaiting_decision(now)
    with trace.measured(Phase.RECORD, run.task_id):
        return save_finished_run(workspace, ui, closed)


def _naming_masks(ui: UserInterface, run: Run, marks: Mapping[str, str]) -> Run:
    """Return the record with what is masked in its questions, which a person answers, and its rulings."""
    texts = {
        "its questions": (text for one in run.questions for text in (one.prompt, *one.options)),
        "its rulings": (text for one in run.rulings for text in (one.decision, one.reason) if text),
    }
    for where, parts in texts.items():
        if kinds := masked_kinds("\n".join(parts), marks):
            run = run.noting(masked_text(where, kinds))
            warn(ui, run.notes[-1], run.task_id)
    return run


def count_as_failure(workspace: Workspace, run: Run, *, gated: bool) -> None:
    """Count a run that ended without work as its task's failure; ``gated``: a decision is due then.

    Not where something else has become of the task since.
    """
    with workspace.transaction() as transaction:
        state = transaction.state_of(run.task_id)
        task, history = state.plan.tasks.get(run.task_id), state.history(run.task_id)
        latest = None if history.latest is None else history.latest.id
        if task is None or latest != run.resumes or (latest is None and task.status is not Status.TODO):
            return
        failed = (history.find(run.id) or run).updated(
            superseded_at=None,
            superseded_by=None,
            terminal_reason=None,
            landing=place_of(workspace, run).landing,
        )
        now = workspace.environment.timestamp()
        transaction.save_run(failed.awaiting_decision(now) if gated else failed)
        save_status(transaction, run.task_id)


def _unresolved_conflicts(workspace: Workspace, run: Run) -> Iterator[str]:
    """Name the conflicts of a merge that the agent was sent and left unresolved."""
    change = run.change_elsewhere
    if change is not None and change.base != run.base_tree:
        text = unresolved_text(place_of(workspace, run).conflicts(change))
        yield from () if text is None else (text,)


def ending_of(ended: ProcessResult, outcome: RunOutcome, now: str) -> Ending:
    """Return what the record says of the end of a run, whatever its type."""
    reading, notes = ended.reading, ended.reading.notes
    if ended.leftovers_stopped:
        notes = (*notes, f"{ended.leftovers_stopped} process(es) the agent left behind were stopped")
    is_told = ended.cause is not ExitCause.EXITED or outcome.status is RunStatus.SUCCESS
    limit = _limit(reading, now)
    until = limit and limit.until if believed_end(limit) else None
    return Ending(
        at=now,
        status=outcome.status,
        exit_code=ended.exit_code,
        stdout=ended.stdout_tail or None,
        stderr=ended.stderr_tail or None,
        error=outcome.error or (None if is_told else _error(ended)),
        reason=outcome.reason,
        way_out=f"wait until {until}" if until else reading.refusal_hint,
        limit=limit,
        final_text=reading.whole_text or None,
        usage=reading.usage,
        cost_usd=reading.cost_usd,
        raw_totals=reading.raw_totals or None,
        unlogged_bytes=not_kept(ended.stdout_dropped, ended.stderr_dropped),
        printed_bytes=tail_of(ended.stdout_bytes, ended.stderr_bytes),
        masked_secrets=dict(ended.redacted) or None,
        notes=notes,
        superseded_by=outcome.overtaken_by,
    )


def _limit(reading: AgentResult, now: str) -> UsageLimit | None:
    """Return the usage limit that ended a run ``now``; None if none did."""
    if reading.refusal is not AgentFailure.USAGE_LIMIT:
        return None
    moment = parse_timestamp(now)
    named = reading.resets_at or find_reset(reading.error or "", moment / 10**9)
    return limit_reached(moment, named)


def not_kept(stdout: int, stderr: int) -> TruncatedBytes | None:
    """Return how many bytes of each stream the log lacks; None if it is complete."""
    return TruncatedBytes(stdout=stdout, stderr=stderr) if stdout or stderr else None


def tail_of(stdout: int, stderr: int) -> TruncatedBytes | None:
    """Return the size of the output if the record has only its end; None if it is complete."""
    return not_kept(stdout if stdout > TAIL_BYTES else 0, stderr if stderr > TAIL_BYTES else 0)


def session_to_resume(run: Run, reading: AgentResult) -> str | None:
    """Return the conversation that can be continued: one the agent has confirmed, or had before this run."""
    named = reading.session
    if named and session_fault(named) is None:
        return named
    return run.provider_session_ref if run.resumes else None


def _error(ended: ProcessResult) -> str | None:
    if ended.reading.error:
        return ended.reading.error
    if ended.reading.questions or ended.exit_code is None or ended.exit_code == 0:
        return None
    if ended.exit_code < 0:
        return f"signal: {-ended.exit_code}"
    return f"exit status {ended.exit_code}"


def snapshot_and_summarize(workspace: Workspace, ui: UserInterface, run: Run) -> RunChange:
    """Take the head snapshot and compare; return what the run did to its worktree.

    What others committed meanwhile is no part of it. Without a snapshot the summary is minimal. Raises
    GitStoppedError where a person did not wait for it.
    """
    change = RunChange(Summary())
    if not workspace.repo.top.is_dir():
        return RunChange(Summary(minimal=f"{workspace.repo.top} is gone"))
    try:
        at = head(workspace.repo)
        change = change._replace(end_commit=at.commit, end_branch=at.branch)
        with trace.measured(Phase.SNAPSHOT, run.task_id):
            after, log_end = _last_snapshot(workspace, run)
        if run.base_tree is None:
            return change._replace(summary=Summary(minimal="the snapshot from before the run is missing"))
        pair = Trees(run.base_tree, after.tree)
        with trace.measured(Phase.SUMMARY, run.task_id):
            own = place_of(workspace, run).own_change(ui, pair, log_end)
            change = change._replace(head=after.tree)
            own = without_earlier_files(workspace, run, own)
            summary = _summarize(workspace, run, own).updated(left_out=after.left_out)
        return change._replace(summary=summary, base=own.pair.base, worktree_base=own.began)
    except GitStoppedError:
        raise
    except BlackbirdError as error:
        warn(ui, f"no summary of run {run.id}: {error.message}", run.task_id)
        return change._replace(summary=Summary(minimal=error.message))


def _summarize(workspace: Workspace, run: Run, own: OwnChange) -> Summary:
    before = None if run.base_tree is None else run.submodule_digests
    after = submodules(workspace)
    inside = submodule_changes(workspace.repo, own.pair, before or {}, after)
    beside = own.beside.updated(submodules=inside)
    return summarize(workspace.repo, own.pair).with_fields(beside)


def _last_snapshot(workspace: Workspace, run: Run) -> tuple[Snapshot, int]:
    """Take the head snapshot; also return the size of git's log of HEAD, which tells its commits."""
    for _ in range(_TRIES):
        size = log_size(workspace.repo.git_dir)
        after = snapshot(workspace, since=run.base_tree)
        if log_size(workspace.repo.git_dir) == size:
            break
    return after, size


def save_finished_run(workspace: Workspace, ui: UserInterface, run: Run) -> Run:
    """Save a closed record, then the plan, under one lock; what others wrote on it meanwhile stays.

    The record names the commits that were made in the run.
    """
    commits = list_tracked(workspace, ui, run)
    with closing_run(workspace, run) as (transaction, check):
        closed = run
        if (check.needs_decision or _is_doubtful(run)) and not run.is_review:
            closed = _due_in_any_case(run)
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        earlier = carried_edits(workspace.store.records.history(run.task_id), run)
        closed = check.add_notes_to(closed, earlier).updated(commits=commits)
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
    texts = [] if check.plan_fault is None else [check.plan_fault]
    texts += [f"the plan was edited during the run: {change}" for change in check.plan_changes]
    if check.plan_changes:
        texts.append(f"{_THE_PLAN_IS_AS_IT_WAS} {run.task_id}")
    texts += [f"the configuration changed during the run: {change}" for change in check.config_changes]
    for text in texts:
        warn(ui, text, run.task_id)
    warn_outside(ui, closed)
    warn_branch_left(ui, closed)
    return closed


def _is_doubtful(run: Run) -> bool:
    """Whether a person has to confirm the change, because the agent went to another branch."""
    switched = None if run.review_summary is None else run.review_summary.switched
    return switched is not None and switched.is_doubtful


def _due_in_any_case(run: Run) -> Run:
    """Make a decision due for a doubtful end even with checkpoints off: the agent may have switched them off.

    A run that is not over, or is to be checked or reviewed first, hands this on to what follows it.
    """
    if run.is_superseded:
        return run
    if run.status in _GATED and run.review_state is None and run.check is None:
        return run.awaiting_decision(run.completed_at)
    return run.updated(decision_required=True)


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

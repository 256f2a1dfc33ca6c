"""Closing a run's record: how it ended, what it changed, what is due next."""

from dataclasses import dataclass, replace
from typing import Any

from git_blackbird.agents.logs import TAIL_BYTES
from git_blackbird.agents.protocol import Abilities
from git_blackbird.agents.runner import EndCause, Ended
from git_blackbird.controller.claims import list_noted
from git_blackbird.controller.conduct import cut_logs
from git_blackbird.controller.config_guard import ConfigCheck, check_config, forget_config
from git_blackbird.controller.face import Face
from git_blackbird.controller.no_change import changed_nothing
from git_blackbird.controller.orders import Order
from git_blackbird.controller.outside_moves import OwnChange, own_change
from git_blackbird.controller.plan_guard import check_plan
from git_blackbird.controller.record_watch import found_notices
from git_blackbird.controller.snapshots import snapshot, submodules
from git_blackbird.controller.statuses import save_status
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.changes import summarize
from git_blackbird.git.head_moves import log_size
from git_blackbird.git.program import GitStoppedError
from git_blackbird.git.refs import save_run_ref
from git_blackbird.git.repository import head
from git_blackbird.git.snapshot import Snapshot
from git_blackbird.git.submodules import submodule_changes
from git_blackbird.model.change import Summary, TreePair
from git_blackbird.model.conversation import Reading, Refusal
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.run import (
    OVERTAKEN_BY_LOST_SESSION,
    OVERTAKEN_BY_UNAVAILABLE,
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
    StreamCut,
    TerminalReason,
)

LIMIT_REASONS = {
    EndCause.WALL_LIMIT: TerminalReason.WALL_LIMIT,
    EndCause.IDLE_LIMIT: TerminalReason.IDLE_LIMIT,
    EndCause.INTERRUPTED: TerminalReason.INTERRUPTED,
}
# How often a snapshot is taken once more since HEAD was moved meanwhile.
_TRIES = 3
_GATED = frozenset({RunStatus.SUCCESS, RunStatus.FAILED})


@dataclass(frozen=True)
class Closing:
    """How an agent ended, and whether its end is a checkpoint."""

    abilities: Abilities
    ended: Ended
    order: Order
    gated: bool


@dataclass(frozen=True)
class Outcome:
    """What a run's end means: its status, why, and whether it counts at all."""

    status: RunStatus
    reason: TerminalReason | None = None
    overtaken_by: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Traces:
    """What a run left: whether the worktree is another, and whether its model was at work at all."""

    changed: bool
    worked: bool


def judge(closing: Closing, traces: Traces) -> Outcome:
    """Say what an end means. Unknown is never success; a refusal is never charged to the task."""
    ended, reading = closing.ended, closing.ended.reading
    if ended.cause in LIMIT_REASONS:
        return Outcome(RunStatus.PAUSED, LIMIT_REASONS[ended.cause])
    if reading.refusal is not None:
        return _judge_refusal(reading, traces)
    if reading.questions:
        return Outcome(RunStatus.WAITING_USER)
    if reading.succeeded and reading.blocked and not traces.changed:
        return Outcome(RunStatus.FAILED, error=f"nothing was changed: {reading.blocked}")
    return Outcome(RunStatus.SUCCESS if reading.succeeded else RunStatus.FAILED)


def _judge_refusal(reading: Reading, traces: Traces) -> Outcome:
    if reading.refusal is Refusal.SESSION_UNKNOWN:
        return Outcome(RunStatus.FAILED, TerminalReason.SESSION_LOST, OVERTAKEN_BY_LOST_SESSION)
    if traces.worked and reading.session is not None:
        return Outcome(RunStatus.PAUSED, TerminalReason.AGENT_UNAVAILABLE)
    return Outcome(RunStatus.FAILED, TerminalReason.AGENT_UNAVAILABLE, OVERTAKEN_BY_UNAVAILABLE)


def close_run(workspace: Workspace, face: Face, run: Run, closing: Closing) -> Run:
    """Take the head snapshot, write the record, derive the status.

    A summary that fails never blocks: the record says that it is minimal. Raises SaveError.
    """
    try:
        trees = summarize_leg(workspace, face, run)
    except GitStoppedError as error:
        trees = {"head_tree": None, "review_summary": Summary(minimal=error.message)}
    usage = closing.ended.reading.usage
    changed = trees["head_tree"] is None or trees["head_tree"] != trees.get("base_tree", run.base_tree)
    changed = changed or bool(trees["review_summary"].submodules)
    asked_model = usage is not None and usage.output_tokens > 0
    outcome = judge(closing, Traces(changed, worked=changed or asked_model))
    now = workspace.world.timestamp()
    fields = {
        **ending_fields(closing.ended, outcome, now),
        "provider_session_ref": _session(run, closing),
        "questions": closing.ended.reading.questions if outcome.status is RunStatus.WAITING_USER else (),
        **trees,
    }
    no_change = outcome.status is RunStatus.SUCCESS and changed_nothing(workspace, run.with_fields(**trees))
    if no_change:
        fields["no_change"] = True
    if no_change and not workspace.settings.flag("execution.acceptNoChange"):
        # There is nothing to review, and whether the task is done nobody else can say.
        fields |= pending_fields(now)
    elif outcome.status is RunStatus.SUCCESS and workspace.reviews_changes:
        # Whoever ends the reviews says what is to be decided.
        fields |= {"review_state": ReviewState.DUE, "decision_required": closing.gated or None}
    elif closing.gated and outcome.status in _GATED and outcome.overtaken_by is None:
        fields |= pending_fields(now)
    return save_closed(workspace, face, run, fields)


def pending_fields(now: str) -> dict[str, Any]:
    """Give the fields of a decision that is due from ``now`` on."""
    return {
        "decision_required": True,
        "decision_state": DecisionState.PENDING,
        "decision_requested_at": now,
    }


def ending_fields(ended: Ended, outcome: Outcome, now: str) -> dict[str, Any]:
    """Give what the record of any run says of how it ended."""
    reading = ended.reading
    is_told = ended.cause is not EndCause.EXITED or outcome.status is RunStatus.SUCCESS
    fields: dict[str, Any] = {
        "completed_at": now,
        "status": outcome.status,
        "exit_code": ended.exit_code,
        "stdout": ended.stdout_tail or None,
        "stderr": ended.stderr_tail or None,
        "error": outcome.error or (None if is_told else _error(ended)),
        "terminal_reason": outcome.reason,
        "way_out": reading.refusal_hint,
        "result": reading.final_text or None,
        "usage": reading.usage,
        "cost_usd": reading.cost_usd,
        "raw_totals": reading.raw_totals or None,
        "notes": (*reading.notes, *_leftovers(ended)),
    }
    if outcome.overtaken_by is not None:
        fields |= {"superseded_at": now, "superseded_by": outcome.overtaken_by}
    fields |= tail_of(ended.stdout_bytes, ended.stderr_bytes)
    return fields | not_kept(ended.stdout_dropped, ended.stderr_dropped)


def not_kept(stdout: int, stderr: int) -> dict[str, StreamCut]:
    """Give the field that says how many bytes of each stream its log does not have; none where it has all."""
    return {"not_kept": StreamCut(stdout=stdout, stderr=stderr)} if stdout or stderr else {}


def tail_of(stdout: int, stderr: int) -> dict[str, StreamCut]:
    """Give the field that says how much was printed of which the record has only the end."""
    cut = StreamCut(stdout=stdout if stdout > TAIL_BYTES else 0, stderr=stderr if stderr > TAIL_BYTES else 0)
    return {"tail_of": cut} if cut.stdout or cut.stderr else {}


def _session(run: Run, closing: Closing) -> str | None:
    """Give the conversation that can be continued: one the agent has confirmed, or had before this leg."""
    return closing.ended.reading.session or (run.provider_session_ref if run.resumes else None)


def _error(ended: Ended) -> str | None:
    if ended.reading.error:
        return ended.reading.error
    if ended.exit_code is None or ended.exit_code == 0:
        return None
    if ended.exit_code < 0:
        return f"signal: {-ended.exit_code}"
    return f"exit status {ended.exit_code}"


def _leftovers(ended: Ended) -> tuple[str, ...]:
    if not ended.leftovers_stopped:
        return ()
    return (f"{ended.leftovers_stopped} process(es) the agent left behind were stopped",)


def summarize_leg(workspace: Workspace, face: Face, run: Run) -> dict[str, Any]:
    """Take the head snapshot and compare; gives the fields of the record that tell of the change.

    What others committed meanwhile is no part of it. Without a snapshot the summary is minimal. Raises
    GitStoppedError where a person did not wait for it.
    """
    fields: dict[str, Any] = {"head_tree": None}
    try:
        fields["end_commit"] = head(workspace.repo).commit
        after, log_end = _last_snapshot(workspace, run)
        fields["head_tree"] = after.tree
        if run.base_tree is None:
            return fields | {"review_summary": Summary(minimal="the snapshot from before the run is missing")}
        own = _own_change(workspace, face, run, TreePair(run.base_tree, after.tree), log_end)
        save_run_ref(workspace.repo, run.id, own.pair.base, own.pair.head)
        inside = submodule_changes(workspace.repo, own.pair, run.base_submodules or {}, submodules(workspace))
        summary = replace(
            summarize(workspace.repo, own.pair),
            left_out=after.left_out,
            outside=own.outside,
            submodules=inside,
        )
        return fields | {"base_tree": own.pair.base, "review_summary": summary}
    except GitStoppedError:
        raise
    except BlackbirdError as error:
        _warn(face, run, f"no summary of run {run.id}: {error.message}")
        return fields | {"review_summary": Summary(minimal=error.message)}


def _last_snapshot(workspace: Workspace, run: Run) -> tuple[Snapshot, int]:
    """Take the head snapshot; gives the size of git's log of HEAD as well, which says what is in it."""
    for _ in range(_TRIES):
        size = log_size(workspace.repo)
        after = snapshot(workspace, since=run.base_tree)
        if log_size(workspace.repo) == size:
            break
    return after, size


def _own_change(workspace: Workspace, face: Face, run: Run, pair: TreePair, log_end: int) -> OwnChange:
    """Leave in the change what cannot be told from it, and say so."""
    try:
        return own_change(workspace, run, pair, log_end)
    except GitStoppedError:
        raise
    except (UnusableError, OSError) as error:
        why = error.message if isinstance(error, UnusableError) else error.strerror
        text = f"what you committed during run {run.id} is in its change: the moves of HEAD are not known"
        _warn(face, run, f"{text}: {why}")
        return OwnChange(pair)


def _warn(face: Face, run: Run, text: str) -> None:
    face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))


def save_closed(workspace: Workspace, face: Face, run: Run, fields: dict[str, Any]) -> Run:
    """Save a closed record, then the plan, under one lock; what others wrote on it meanwhile stays.

    The record names the commits that were made in the run.
    """
    commits = list_noted(workspace, face, run)
    config = check_config(workspace)
    if config.is_loosened and not run.is_review:
        fields = fields | _due_in_any_case(fields)
    with workspace.transaction() as transaction:
        replaced = transaction.clear_way(run)
        check = check_plan(transaction, run.id)
        stored = transaction.history(run.task_id).find(run.id) or run
        notes = (*fields.get("notes", ()), *((check.warning,) if check.warning else ()))
        ours = {
            "notes": notes,
            "plan_changes": check.changes,
            "config_changes": config.changes,
            "commits": commits,
        }
        closed = run.with_fields(**{**fields, **ours})
        if stored.superseded_at is not None:
            closed = _overtaken_meanwhile(closed, stored)
        transaction.save_run(closed)
        found = found_notices(workspace, transaction.end_watch(), run.task_id)
        if found:
            closed = closed.with_fields(notes=(*closed.notes, *(one.text for one in found)))
            transaction.save_run(closed)
        # The plan is what it must be, and no agent is at work that could break it.
        transaction.forget_plan()
        save_status(workspace, transaction, run.task_id)
    forget_config(workspace)
    cut_logs(workspace, closed)
    for was, aside in replaced:
        _warn(face, run, f"{was} was replaced during the run: what is there now is kept as {aside.name}")
    for notice in found:
        face.notify(notice)
    if check.warning:
        _warn(face, run, check.warning)
    for change in check.changes:
        _warn(face, run, f"the plan changed during the run: {change}")
    tell_config_changes(face, closed, config)
    return closed


def tell_config_changes(face: Face, run: Run, check: ConfigCheck) -> None:
    """Name what became another of the configuration."""
    for change in check.changes:
        text = f"the configuration changed during the run: {change}"
        face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))


def _due_in_any_case(fields: dict[str, Any]) -> dict[str, Any]:
    """Give what makes a decision due though none would be: a stop may be what was switched off.

    A run that is not over, or is to be reviewed first, hands this on to what follows it.
    """
    if "superseded_at" in fields:
        return {}
    is_over = fields["status"] in _GATED and "review_state" not in fields
    return pending_fields(fields["completed_at"]) if is_over else {"decision_required": True}


def _overtaken_meanwhile(closed: Run, stored: Run) -> Run:
    """Keep that a person set the task's status while the agent worked: then nothing is asked of this run."""
    return closed.with_fields(
        superseded_at=stored.superseded_at,
        superseded_by=stored.superseded_by,
        decision_required=None,
        decision_state=None,
        decision_requested_at=None,
    )

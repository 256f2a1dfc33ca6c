"""Check the change of a run, and say who acts next."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.criteria import has_checks
from git_blackbird.controller.change.check.evidence import run_checks
from git_blackbird.controller.change.decide.checkpoint import (
    after_verdicts,
    escalation_reasons,
    why_not_resumable,
)
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.worktrees import bring_submodules
from git_blackbird.messages.display.evidence import NO_CHECK, check_word
from git_blackbird.messages.outgoing.prompts import render_check_request
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import CheckFollowUp, Due, after_check, due_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, Requester, ReviewState
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.events import CheckEnded
from git_blackbird.model.views.stop import Stop

if TYPE_CHECKING:
    from git_blackbird.model.run.proof import Proof

_UNASKED = {None, Due.REVIEW}
_NO_SNAPSHOTS = "there are no snapshots of the change"


Prove = Callable[[Call, Task, Run, Trees, int], Awaitable["Proof | None"]]


async def check_change(call: Call, item: Item, prove: Prove | None) -> Stop | None:
    """Check a change, and ``prove`` one that passes what was run, if it is given."""
    workspace, task, run = call.workspace, item.task, item.of_run
    if not has_checks(workspace, task):
        # It was switched off meanwhile.
        update_run(workspace, run, lambda stored: _with_evidence(workspace, stored, None))
        return None
    pair, _ = await run_in_thread(lambda: change_of(workspace, item.state, task.id))
    broken = CheckResult(outcome=CheckOutcome.BROKEN, reason=_NO_SNAPSHOTS)
    evidence: Evidence | None = Evidence(checks=(broken,))
    if pair is not None:
        await run_in_thread(lambda: bring_submodules(workspace, run))
        evidence = await run_checks(call, task, run, pair)
        if evidence is not None and evidence.has_passed_where_run and prove is not None:
            proof = await prove(call, task, run, pair, workspace.config.check.prove_seconds)
            evidence = None if proof is None else evidence.updated(proof=proof)
    if evidence is None:
        return interrupted_stop("", EXECUTE, task_id=task.id)
    ended = _save(workspace, run, evidence)
    call.ui.notify(ended)
    if workspace.commits_checked and due_of(ended.run) in _UNASKED and not evidence.has_passed:
        red = (check for check in evidence.checks if not check.has_passed)
        why = "; ".join(f"its {check.title} {check_word(check)}" for check in red) or NO_CHECK
        text = f"the change of {task.id} is not committed: {why}"
        warn(call.ui, text, task.id, TaskCommand("decide", task.id, " --approve", remark="commits it"))
    return None


def _save(workspace: Workspace, run: Run, evidence: Evidence) -> CheckEnded:
    saved = update_run(workspace, run, lambda stored: _with_evidence(workspace, stored, evidence))
    history = workspace.store.records.history(run.task_id)
    return CheckEnded(run.task_id, saved, evidence, escalation_reasons(workspace, history, saved))


def _with_evidence(workspace: Workspace, stored: Run, evidence: Evidence | None) -> Run:
    """Return a record with the evidence of its change, and what is due after it.

    The reviews, else a decision where one is required. Where the configuration says so, a failed check goes
    back to the agent first, and in the end to a person; nobody reviews that change. One that failed before
    is for a person at once, after the reviews if there are any.
    """
    checked = stored.updated(evidence=evidence)
    if stored.is_superseded or not stored.is_check_due:
        return checked
    now, follow_up = workspace.environment.timestamp(), after_check(evidence, workspace.config.check.mode)
    is_reviewed = stored.review_state is ReviewState.DUE
    if evidence is not None and follow_up is CheckFollowUp.FIX:
        skipped = checked.updated(review_state=ReviewState.SKIPPED) if is_reviewed else checked
        return _with_change_request(workspace, skipped, render_check_request(evidence.failed), now)
    if is_reviewed:
        return checked
    if follow_up is CheckFollowUp.ASK:
        return checked.escalating(now)
    return after_verdicts(workspace, checked, now)


def _with_change_request(workspace: Workspace, run: Run, request: str, now: str) -> Run:
    """Return a record with a change request of the check's, or a decision where it cannot be carried out."""
    history, most = workspace.store.records.history(run.task_id), workspace.config.check.max_rounds
    if Change.of(history).count_sent_back(Requester.CHECK) >= most:
        return run.escalating(now)
    if why_not_resumable(workspace, history, run) is not None:
        return run.escalating(now)
    return run.requesting_changes(now, request, Requester.CHECK)

"""Send a change that does not land back to its session, or leave it to a person."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.controller.change.decide.checkpoint import why_not_resumable
from git_blackbird.controller.change.move import bring_merge
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.place import unresolved_paths, unresolved_text
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.change.both_added import paths_with_markers
from git_blackbird.git.change.merging import TreeMerge, failed_drivers
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.messages.outgoing.prompts import (
    render_conflict_request,
    render_merged_check_request,
    render_unresolved_request,
)
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.parts import ConflictMerge, LandingBlocked, LandingDue, Merge
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, Requester
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.events import LandingEnded

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence


class Reason(NamedTuple):
    """Why a change does not land: ``text`` for people, ``request`` for the session."""

    text: str
    request: str
    evidence: "Evidence | None" = None


def block_landing(
    workspace: Workspace,
    run: Run,
    reason: str,
    *,
    evidence: "Evidence | None" = None,
    offered: Merge | None = None,
    gone: bool = False,
) -> LandingEnded:
    """Leave a change that could not land to a person.

    A person sees the ``evidence`` on the merged files, and the ``offered`` merge with what both sides added.
    ``gone``: it can never land.
    """
    now, begun = workspace.environment.timestamp(), run.landing_pair
    if begun is not None:
        trees, there = TreeStore(workspace.repo), snapshot(workspace, since=begun.head).tree
        written = {*trees.changed_paths(*begun)} - {*trees.changed_paths(begun.head, there)}
        if written:
            reason = f"your worktree has it in {_joined_names(sorted(written))}; {reason}"

    def blocked(stored: Run) -> Run:
        blocked = LandingBlocked(
            reason=reason,
            brought=stored.brought,
            offered=offered,
            evidence=evidence or stored.landing_evidence,
            gone=gone,
        )
        asked = stored.updated(landing=blocked, landing_slot=None).awaiting_decision(now)
        return asked.updated(escalated=True)

    saved = update_run(workspace, run, blocked)
    return LandingEnded(run.task_id, saved, reasons=(reason,))


def send_back(workspace: Workspace, run: Run, reason: Reason, merged: Trees | None = None) -> LandingEnded:
    """Send the obstacle to a landing to the task's session while it has rounds left; else ask a person.

    ``merged`` are the user's worktree without the change and with it: session and person find these files in
    the task's worktree.
    """
    history = workspace.store.records.history(run.task_id)
    sent = _count_rounds(Change.of(history))
    most, obstacle = workspace.config.landing.max_rounds, why_not_resumable(workspace, history, run)
    if run.moving is not None:
        # The part in the user's worktree would belong to another change then.
        obstacle = "a change that is there in part is not sent back"
    is_overtaken = run.landing_slot is not None and merged is not None and reason.evidence is None
    if (sent >= most and not is_overtaken) or obstacle is not None:
        place = workspace_of(workspace, run)
        if merged is not None and reason.evidence is None and place is not None:
            # For the person to resolve. Else the change is as it was, and can be merged again.
            with suppress(BlackbirdError):
                bring_merge(workspace, run, place.repo, merged.base)
        why = obstacle or f"sent back {sent} of {most} times (landing.maxRounds)"
        folder = TaskCommand("worktrees open", run.task_id)
        resolve = "; resolve it in its worktree (", folder, " says where), and approve"
        text = Sentence(f"{reason.text}; {why}", *(resolve if reason.evidence is None else ()))
        return block_landing(workspace, run, text, evidence=reason.evidence)
    now = workspace.environment.timestamp()
    change = run.change_elsewhere
    brought = None if merged is None or change is None else ConflictMerge(change=change, merge=merged)
    due = LandingDue(brought=brought, evidence=reason.evidence)

    def request(stored: Run) -> Run:
        sent = stored.updated(landing=due, landing_slot=run.landing_slot or now)
        return sent.requesting_changes(now, reason.request, Requester.LANDING)

    saved = update_run(workspace, run, request)
    return LandingEnded(run.task_id, saved, reasons=(reason.text,))


def _count_rounds(change: Change) -> int:
    """Count how often a landing sent a change back, since a person's last request and before its newest run.

    A conflict with what landed in an earlier slot is no round.
    """
    requests = (one for one in change.requests_before_newest if one.requested_by is Requester.LANDING)
    return sum(not _was_overtaken(one) for one in requests)


def _was_overtaken(run: Run) -> bool:
    is_conflict = run.brought is not None and run.landing_evidence is None
    return is_conflict and run.landing_slot != run.decision_requested_at


def conflict_reason(workspace: Workspace, merge: TreeMerge) -> Reason:
    """Return the reason of a merge with conflicts, with the merge drivers that failed. Raises GitError."""
    failed = failed_drivers(workspace.repo, merge)
    notes = [f"{path.decode(errors='replace')}: {why}" for path, why in failed.items()]
    text = "; ".join((f"it conflicts with your worktree in {_joined_names(merge.conflicts)}", *notes))
    return Reason(text, render_conflict_request(merge.conflicts, (*merge.messages, *notes)))


def check_reason(evidence: "Evidence") -> Reason:
    failed = evidence.failed
    text = f"{evidence.failing(failed)} on the merged files"
    return Reason(text, render_merged_check_request(failed), evidence)


def unresolved_reason(workspace: Workspace, run: Run) -> Reason | None:
    """Return the reason of a conflict that has not been resolved; None without any.

    Files with the markers of a merge never land. What git could not mark was looked at when a person approved
    a landing that had come to them, or files by name.
    """
    change = run.change_elsewhere
    if change is None:
        return None
    is_looked_at = isinstance(run.landing, LandingBlocked) or run.decided_in_part
    if is_looked_at and run.decision_state in APPROVALS:
        left = paths_with_markers(workspace.repo, change)
    else:
        left = unresolved_paths(workspace, run, change)
    text = unresolved_text(left)
    return None if text is None else Reason(text, render_unresolved_request(left))


def _joined_names(paths: Iterable[bytes]) -> str:
    return ", ".join(path.decode(errors="replace") for path in paths)

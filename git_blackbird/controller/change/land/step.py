"""Land the change of a task that worked in a worktree of its own; commit that of one in place."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.land.landing import (
    ChangeGoneError,
    StaleLandingError,
    additions_in,
    are_additions_shown,
    block_on_other_branch,
    both_added_text,
    commit_in_place,
    land,
    prepare_landing,
    remove_place,
    take_missing_snapshot,
)
from git_blackbird.controller.change.land.sent_back import (
    block_landing,
    check_reason,
    conflict_reason,
    send_back,
    unresolved_reason,
)
from git_blackbird.controller.change.move import AGAIN, UNSTEADY, Prepared, take_back
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.core.ui import inform
from git_blackbird.controller.core.waiting import finish_in_thread, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.merging import MergeRefusedError
from git_blackbird.git.worktree.linked import worktree_name
from git_blackbird.git.worktree.saved_trees import JOURNAL_REFS, save_pair
from git_blackbird.git.writing.write_back import describe_unwritten
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.change.stages import (
    CheckFollowUp,
    accepted_outcomes,
    after_merged_check,
    why_asked,
)
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.parts import Merge
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.events import LandingEnded
from git_blackbird.model.views.stop import Stop

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence

_TRIES = 5


async def land_change(call: Call, item: Item) -> Stop | None:
    """Merge the change with the user's worktree, check that, and write it; else send it back or ask.

    What was made in the user's worktree is only committed. Raises UnusableError if the system refuses a file
    or the worktree keeps changing.
    """
    workspace, run = call.workspace, item.of_run
    try:
        if run.is_in_place:
            commit = partial(commit_in_place, workspace, item.state, item.task, run)
            call.ui.notify(await finish_in_thread(commit, call.force_stop))
            return None
        if run.head_tree is None:
            await finish_in_thread(lambda: take_missing_snapshot(workspace, call.ui, run), call.force_stop)
            return None
        blocked = await run_in_thread(lambda: block_on_other_branch(workspace, run))
        if blocked is not None:
            call.ui.notify(blocked)
            return None
        unresolved = await run_in_thread(lambda: unresolved_reason(workspace, run))
        if unresolved is None:
            return await _merge_and_write(call, item)
        call.ui.notify(send_back(workspace, run, unresolved))
    except ChangeGoneError as error:
        call.ui.notify(block_landing(workspace, run, error.message, gone=True))
    except MergeRefusedError as error:
        call.ui.notify(block_landing(workspace, run, f"git cannot merge it: {error.message}"))
    except StaleLandingError as error:
        inform(call.ui, error.message, run.task_id)
    return None


async def _merge_and_write(call: Call, item: Item) -> Stop | None:
    """Merge, check and write the change, again where a file was edited meanwhile.

    Raises as ``land_change``.
    """
    workspace, run = call.workspace, item.of_run
    for _ in range(_TRIES):
        # What of it is begun may be another than before.
        run = workspace.store.records.history(run.task_id).find(run.id) or run
        landing = await call.interruptible(run_in_thread(partial(prepare_landing, workspace, run)))
        if landing is None:
            return interrupted_stop("", EXECUTE, task_id=run.task_id)
        evidence = await _check(call, item.task, run, landing)
        if call.is_interrupted:
            return interrupted_stop("", EXECUTE, task_id=run.task_id)
        ended = await finish_in_thread(
            partial(_finish, call, replace(item, run=run), landing, evidence), call.force_stop
        )
        if ended is not None:
            call.ui.notify(ended)
            if ended.run.has_landed:
                # In the background: many files take long.
                call.run_in_background(run.task_id, partial(remove_place, workspace, ended.run))
            return None
    raise UnusableError(UNSTEADY, hint=AGAIN)


async def _check(call: Call, task: Task, run: Run, landing: Prepared) -> "Evidence | None":
    is_mergeable = not landing.merge.conflicts and not landing.left
    is_worth = call.workspace.has_checks and not landing.pair.is_empty
    if not is_worth or CheckOutcome.FAILED in accepted_outcomes(run) or not is_mergeable:
        return None
    from git_blackbird.controller.change.check.evidence import run_checks  # most changes have no check

    # Until the record names them.
    repo = call.workspace.repo
    save_pair(repo, JOURNAL_REFS + worktree_name(repo), landing.pair)
    return await run_checks(call, task, run, landing.pair, f"{run.task_id} with your worktree")


def _finish(call: Call, item: Item, landing: Prepared, evidence: "Evidence | None") -> LandingEnded | None:
    workspace, run = call.workspace, item.of_run
    if landing.left:
        way_out = TaskCommand("decide", run.task_id, " --approve")
        hint = "; get that out of the way and approve again (", way_out, "), or the rest, with --files"
        return block_landing(workspace, run, Sentence(describe_unwritten(landing.left), *hint))
    if landing.merge.conflicts:
        is_back = run.moving is not None and take_back(workspace, run, run.moving)
        reason = conflict_reason(workspace, landing.merge)
        return None if is_back else send_back(workspace, run, reason, landing.pair)
    if evidence is not None:
        follow_up = after_merged_check(evidence, run)
        conflict = landing.merge.both_added
        if follow_up is CheckFollowUp.FIX and conflict is None:
            return send_back(workspace, run, check_reason(evidence), landing.pair)
        if follow_up is CheckFollowUp.FIX and conflict is not None:
            # Both sides added lines: it goes back as the conflict that git made of them.
            reason = conflict_reason(workspace, conflict)
            reason = reason._replace(text=f"{reason.text}, and with both additions the check fails")
            return send_back(workspace, run, reason, Trees(landing.now, conflict.tree))
        if follow_up is CheckFollowUp.ASK:
            return _ask(workspace, run, landing, evidence)
    # Lines that both sides added may land without a person once the check passes.
    is_passed = evidence is not None and evidence.has_passed
    if not is_passed and not are_additions_shown(workspace, run, landing):
        return _ask(workspace, run, landing)
    return land(workspace, item.state, item.task, run, landing)


def _ask(
    workspace: Workspace, run: Run, landing: Prepared, evidence: "Evidence | None" = None
) -> LandingEnded:
    """Leave a landing to a person, who is shown the lines that both sides added."""
    additions = additions_in(run, landing)
    both = both_added_text(additions) if additions else None
    red = None if evidence is None else why_asked(evidence)
    offered = Merge(trees=landing.pair, additions=additions) if additions else None
    reason = "; ".join(filter(None, (both, red)))
    return block_landing(workspace, run, reason, evidence=evidence, offered=offered)

"""The choices at the checkpoint of a change."""

from dataclasses import replace

from git_blackbird.model.change.decision import APPROVES, SPECS, ChoiceSpec
from git_blackbird.model.change.stages import TABLE, Stage, stage_of
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice, RunStatus

REVIEW_AND_FIX = "Review again and fix"


def may_fix(run: Run, max_rounds: int) -> bool:
    """Whether the agent fixes what another review of a change finds, before anybody is asked."""
    return run.is_pending and (run.review_round or 1) < max_rounds


def choices_for(
    run: Run, *, was_requested: bool, is_in_worktree: bool, max_rounds: int = 1
) -> tuple[ChoiceSpec, ...]:
    """Return the choices for a run on which a decision is due, by their digits, 0 as the last.

    ``was_requested``: a person requested changes before it. ``is_in_worktree``: the user's worktree has
    something of what the task did. ``max_rounds``: up to so many rounds of reviews, the agent fixes what
    they find.
    """
    has_reviews = run.merged_review is not None and run.status is not RunStatus.FAILED
    is_offered = {
        **dict.fromkeys((*APPROVES, Choice.VIEW_DIFF), not run.is_change_gone),
        Choice.REQUEST_CHANGES: run.moving is None,
        Choice.REJECT: run.moving is None,
        Choice.RETRY: stage_of(run) is not Stage.BLOCKED or run.is_change_gone,
        Choice.REVIEW_AGAIN: has_reviews and not run.is_change_gone,
        Choice.VIEW_SINCE_REQUEST: was_requested,
        Choice.REJECT_AND_UNDO: is_in_worktree or run.moving is not None,
    }
    offered = (
        _offered(run, one, max_rounds) for one in TABLE[stage_of(run)].choices if is_offered.get(one, True)
    )
    return tuple(sorted(offered, key=lambda spec: spec.digit or 10))


def _offered(run: Run, choice: Choice, max_rounds: int) -> ChoiceSpec:
    spec = SPECS[choice]
    if choice is Choice.REVIEW_AGAIN and may_fix(run, max_rounds):
        fixes = f"{spec.description}; the agent may fix what is found"
        return replace(spec, label=REVIEW_AND_FIX, description=fixes, alias=spec.label)
    if choice not in APPROVES:
        return spec
    if stage_of(run) is Stage.NOT_COMMITTED:
        return replace(spec, label="Commit again", description="approves it, and commits what has landed")
    if run.status is RunStatus.FAILED:
        label = spec.label.replace("Approve", "Accept as it is")
        return replace(spec, label=label, description="accepts what it did; the task is done")
    return replace(spec, description="approves it and lands it") if run.awaits_landing else spec

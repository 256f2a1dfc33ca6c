"""The choices at the checkpoint of a change."""

from dataclasses import replace

from git_blackbird.model.change.decision import APPROVES, SPECS, Choice, ChoiceSpec
from git_blackbird.model.change.stages import TABLE, Stage, stage_of
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


def choices_for(run: Run, *, was_requested: bool, is_in_worktree: bool) -> tuple[ChoiceSpec, ...]:
    """Return the choices for a run on which a decision is due, by their digits, 0 as the last.

    ``was_requested``: a person requested changes before it. ``is_in_worktree``: the user's worktree has
    something of what the task did.
    """
    is_offered = {
        Choice.REQUEST_CHANGES: not run.landing_begun,
        Choice.REJECT: not run.landing_begun,
        Choice.REVIEW_AGAIN: run.own.reviewed is not None and run.status is not RunStatus.FAILED,
        Choice.VIEW_SINCE_REQUEST: was_requested,
        Choice.REJECT_AND_UNDO: is_in_worktree or bool(run.landing_begun),
    }
    offered = (_offered(run, one) for one in TABLE[stage_of(run)].choices if is_offered.get(one, True))
    return tuple(sorted(offered, key=lambda spec: spec.digit or 10))


def _offered(run: Run, choice: Choice) -> ChoiceSpec:
    spec = SPECS[choice]
    if choice not in APPROVES:
        return spec
    if stage_of(run) is Stage.NOT_COMMITTED:
        return replace(spec, label="Commit again", description="approves it, and commits what has landed")
    if run.status is RunStatus.FAILED:
        label = spec.label.replace("Approve", "Accept as it is")
        return replace(spec, label=label, description="accepts what it did; the task is done")
    return replace(spec, description="approves it and lands it") if run.awaits_landing else spec

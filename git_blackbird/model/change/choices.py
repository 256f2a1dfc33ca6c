"""The choices at the checkpoint of a change."""

from collections.abc import Iterator
from dataclasses import replace

from git_blackbird.model.change.decision import APPROVES, SPECS, Choice, ChoiceSpec
from git_blackbird.model.change.stages import TABLE, stage_of
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


def choices_for(run: Run, *, was_requested: bool) -> tuple[ChoiceSpec, ...]:
    """Return the choices for a run on which a decision is due, by their digits.

    ``was_requested``: a person requested changes before it.
    """
    return tuple(_offered(run, choice) for choice in _choices(run, was_requested=was_requested))


def _choices(run: Run, *, was_requested: bool) -> Iterator[Choice]:
    yield from TABLE[stage_of(run)].choices
    if run.own.reviewed is not None and run.status is not RunStatus.FAILED:
        yield Choice.REVIEW_AGAIN
    if was_requested:
        yield Choice.VIEW_SINCE_REQUEST


def _offered(run: Run, choice: Choice) -> ChoiceSpec:
    spec = SPECS[choice]
    if choice in APPROVES and run.awaits_landing:
        spec = replace(spec, description="approves it; execute lands it")
    if choice in APPROVES and run.status is RunStatus.FAILED:
        label = spec.label.replace("Approve", "Accept as it is")
        return replace(spec, label=label, description="accepts what it did; the task is done")
    if choice is Choice.REJECT and run.landing_pair is not None:
        taking_out = "fails the task; takes out what landed"
        return replace(spec, options=" --reject --undo", description=taking_out)
    return spec

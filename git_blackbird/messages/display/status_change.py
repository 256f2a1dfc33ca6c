"""Describe what a status change superseded, and what it does not undo."""

from collections.abc import Iterator

from git_blackbird.messages.display.format import render_path
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.run import DecisionState
from git_blackbird.model.entities.undo import Undo
from git_blackbird.model.views.status_change import StatusChange


def render_reset(reset: StatusChange) -> Iterator[str]:
    """Describe the effects of a status change, in lines; empty if there were none."""
    for run in reset.overtaken:
        if run.decision_state is DecisionState.PENDING:
            yield f"the decision due on run {run.id} is dropped"
        if run.decision_state is DecisionState.CHANGES_REQUESTED and run.decision_feedback in reset.pending:
            yield f"the change request on run {run.id} stays pending: it is sent with the next start"
    if reset.let_go is not None:
        yield f"feedback from the review of {reset.let_go.parent_task_id} was dropped; it was never sent"
    if reset.reopened:
        yield f"also changed: {', '.join(reset.reopened)}"
    if reset.dependents:
        yield f"not reset, although they depend on it: {', '.join(reset.dependents)}"


def undo_lines(undo: Undo) -> Iterator[str]:
    """Return each command, then each path that they leave alone, with the reason."""
    yield from (f"to take the change back: {clean_line(command)}" for command in undo.commands)
    yield from (
        f"  it leaves {render_path(path.path)} as it is: {clean_line(path.reason)}" for path in undo.kept
    )

"""What a status set by hand overtook, and what it does not undo."""

from collections.abc import Iterator

from git_blackbird.model.reset import Reset
from git_blackbird.model.run import DecisionState


def render_reset(reset: Reset) -> Iterator[str]:
    """Say what a change of a status led to beside it, in lines; nothing where it led to nothing."""
    for run in reset.overtaken:
        if run.decision_state is DecisionState.PENDING:
            yield f"the decision due on run {run.id} is dropped"
        if run.decision_state is DecisionState.CHANGES_REQUESTED and run.decision_feedback in reset.owed:
            yield f"the change request on run {run.id} stays pending: it is sent with the next start"
    if reset.let_go is not None:
        yield f"feedback from the review of {reset.let_go.parent_task_id} was dropped; it was never sent"
    if reset.reopened:
        yield f"changed with it: {', '.join(reset.reopened)}"
    if reset.dependents:
        yield f"not undone, although they built on it: {', '.join(reset.dependents)}"

"""How a status set by hand, or by a retry, is shown."""

from git_blackbird.cli.output import Output
from git_blackbird.controller.requests import Reset
from git_blackbird.model.recorded import plain
from git_blackbird.model.run import DecisionState


def show_reset(output: Output, reset: Reset, headline: str) -> None:
    """Say what was set, what that overtook, and what is not undone."""
    output.say(headline)
    for run in reset.overtaken:
        if run.decision_state is DecisionState.PENDING:
            output.say(f"  the decision due on run {run.id} is dropped")
        if run.decision_state is DecisionState.CHANGES_REQUESTED and run.decision_feedback in reset.owed:
            output.say(f"  the change request on run {run.id} stays owed: the next start hears it")
    if reset.let_go is not None:
        output.say(
            f"  what the review of {reset.let_go.parent_task_id} found is owed no more: nobody heard it"
        )
    if reset.reopened:
        output.say(f"  changed with it: {', '.join(reset.reopened)}")
    if reset.dependents:
        output.say(f"  not undone, though they built on it: {', '.join(reset.dependents)}")
    output.data(
        {
            "task": reset.task_id,
            "status": reset.status.value,
            "overtaken": [run.id for run in reset.overtaken],
            "owed": list(reset.owed),
            "changed": list(reset.reopened),
            "notUndone": list(reset.dependents),
            "letGo": None if reset.let_go is None else plain(reset.let_go),
        }
    )

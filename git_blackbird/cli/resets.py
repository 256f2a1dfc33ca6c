"""How a status set by hand, or by a retry, is shown."""

from git_blackbird.cli.output import Output
from git_blackbird.messages.reset_text import render_reset
from git_blackbird.model.recorded import plain
from git_blackbird.model.reset import Reset


def show_reset(output: Output, reset: Reset, headline: str) -> None:
    """Say what was set, what that overtook, and what is not undone."""
    output.say(headline)
    for line in render_reset(reset):
        output.say(f"  {line}")
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

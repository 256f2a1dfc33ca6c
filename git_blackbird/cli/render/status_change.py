"""How a status set by hand, or by a retry, is shown."""

from git_blackbird.cli.output import Output
from git_blackbird.messages.display.status_change import render_reset
from git_blackbird.model.views.status_change import StatusChange


def show_status_change(output: Output, reset: StatusChange, headline: str) -> None:
    """Say what was set, what that overtook, and what is not undone."""
    output.print(headline)
    for line in render_reset(reset):
        output.print(f"  {line}")
    output.data("plan:StatusChangeOutput", reset)

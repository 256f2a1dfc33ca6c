"""Suggest a change request at a checkpoint, from the output of a hook and the reviewers' findings."""

from typing import TYPE_CHECKING

from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.run import Run

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.entities.findings import MergedReview

MAX_OUTPUT_CHARACTERS = 8000
_REFUSED = (
    "A hook of the repository refused to commit your change. Fix what it reports, and check that it passes. "
    "The hook said:"
)


def bound_output(text: str) -> str:
    """Return the end of a hook's output, without control sequences."""
    output = strip_controls(text).strip()
    left_out = len(output) - MAX_OUTPUT_CHARACTERS
    return output if left_out <= 0 else f"({left_out} characters before)\n{output[left_out:]}"


def render_suggestion(run: Run, merged: "MergedReview | None") -> str | None:
    """Format a change request with the known problems of a change; None without any."""
    parts = []
    if run.hook_output is not None:
        parts.append(f"{_REFUSED}\n\n{bound_output(run.hook_output)}\n")
    if merged is not None and merged.findings:
        # Imported on demand, because only reviews need it.
        from git_blackbird.messages.display.merged_review import render_fix_request  # noqa: PLC0415

        parts.append(render_fix_request(merged))
    return "\n".join(parts) or None


def suggestion_source(run: Run, merged: "MergedReview | None") -> str:
    """Name the source of a suggested change request."""
    found = merged is not None and bool(merged.findings)
    if run.hook_output is None:
        return "what the reviewers found"
    return "what the hook printed and the reviewers found" if found else "what the hook printed"

"""The change request that is suggested at a checkpoint: what a hook said, what the reviewers found."""

from typing import TYPE_CHECKING

from git_blackbird.model.run import Run
from git_blackbird.model.text import clean

if TYPE_CHECKING:
    # Only who has reviews to look at pays for loading what they are made of.
    from git_blackbird.model.findings import MergedReview

MAX_OUTPUT_CHARACTERS = 8000
_REFUSED = (
    "A hook of the repository refused to commit your change. Fix what it reports, and check that it passes. "
    "The hook said:"
)


def bound_output(text: str) -> str:
    """Return the end of what a hook said, without control sequences."""
    output = clean(text).strip()
    left_out = len(output) - MAX_OUTPUT_CHARACTERS
    return output if left_out <= 0 else f"({left_out} characters before)\n{output[left_out:]}"


def render_suggestion(run: Run, merged: "MergedReview | None") -> str | None:
    """Write the change request that says what is wrong with a change; None where nothing is known to be."""
    parts = []
    if run.hook_output is not None:
        parts.append(f"{_REFUSED}\n\n{bound_output(run.hook_output)}\n")
    if merged is not None and merged.findings:
        # Only who has reviews to look at pays for it.
        from git_blackbird.messages.merged_review import render_fix_request  # noqa: PLC0415

        parts.append(render_fix_request(merged))
    return "\n".join(parts) or None


def suggestion_source(run: Run, merged: "MergedReview | None") -> str:
    """Name what a suggested change request says."""
    found = merged is not None and bool(merged.findings)
    if run.hook_output is None:
        return "what the reviewers found"
    return "what the hook said and the reviewers found" if found else "what the hook said"

"""The next steps that a call prints at its end."""

from git_blackbird.model.stop import Stop
from git_blackbird.model.text import clean


def render_next_steps(stop: Stop) -> list[str]:
    """Write a line for each step; several ways of doing one thing stand together."""
    steps = [clean(step) for step in stop.next_steps]
    if stop.is_choice and len(steps) > 1:
        return ["next step, one of:", *(f"  {step}" for step in steps)]
    return [f"next step: {step}" for step in steps]

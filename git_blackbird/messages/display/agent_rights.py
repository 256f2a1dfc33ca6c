"""The question before starting an agent that may do more than edit the worktree."""

from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.agent_rights import RightsQuestion

REFUSE = "No, start nothing"
AGREE = "Yes, start it, and remember this answer in this clone"
_LONGEST = 500


def render_rights(question: RightsQuestion) -> tuple[str, str]:
    """Describe what the agent may do, and whether the command stops after each task."""
    may = f"{question.agent} may {clean_line(question.rights.description, _LONGEST)}."
    if question.stops_after_each:
        return may, "This call stops for a decision after each task."
    return may, "This call does not stop after each task (--stop-after-each stops it)."


def render_rights_line(question: RightsQuestion) -> str:
    """Describe the same on one line, where nobody can be asked."""
    return " ".join(render_rights(question))


def render_ask(question: RightsQuestion) -> str:
    """Ask whether to start it."""
    return f"Start the agent {question.agent}?"

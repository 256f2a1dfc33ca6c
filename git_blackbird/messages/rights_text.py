"""What a person is asked before an agent starts that may do more than edit the worktree."""

from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.text import clean_line

REFUSE = "No, start nothing"
AGREE = "Yes, start it, and remember this answer in this clone"
_LONGEST = 500


def render_rights(question: RightsQuestion) -> tuple[str, str]:
    """Say what the agent may do, and whether the call stops after each task."""
    may = f"{question.agent} may {clean_line(question.rights.says, _LONGEST)}."
    if question.stops_after_each:
        return may, "This call stops for a decision after each task."
    return may, "This call does not stop after each task (--stop-after-each stops it)."


def render_rights_line(question: RightsQuestion) -> str:
    """Say the same in one line, to whoever cannot be asked."""
    return " ".join(render_rights(question))


def render_ask(question: RightsQuestion) -> str:
    """Ask whether it is to be started."""
    return f"Start the agent {question.agent}?"

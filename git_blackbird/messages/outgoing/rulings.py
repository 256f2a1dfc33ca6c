"""What an agent is told about questions that it may decide itself, and about what it decided."""

from collections.abc import Sequence

from git_blackbird.model.run.parts import Ruling

RULING_PROMPT = (
    '\n\nAdd "destructive": false to a question if no answer to it can lead to anything that reverting your '
    "edits of files does not undo. You may then be told to decide it yourself."
)
DECIDE_YOURSELF = "Nobody answers this. Decide it yourself, and say what you decided and why."
_RULING_FORM = """\
Say what you decided at the end: end your final message with one JSON object of this form, and nothing after
it but another question:

{"rulings": [{"id": "the id of the question", "decision": "what you decided", "reason": "why"}]}
"""


def render_ruling(rulings: Sequence[Ruling]) -> str:
    """Format the order to decide questions, for the agent that asked them."""
    ids = "\n".join(f"- {ruling.question.id}: {ruling.question.prompt}" for ruling in rulings)
    return f"{DECIDE_YOURSELF}\n\n{ids}\n\nGo on with the task, and finish it. {_RULING_FORM}"


def render_overruled(ruling: Ruling, text: str = "") -> str:
    """Quote what an agent decided itself, above the person's ruling."""
    return "\n".join((ruling.quote, "", text.rstrip("\n")))

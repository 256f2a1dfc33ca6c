"""What an agent is told about questions that it may decide itself, and about what it decided."""

from collections.abc import Sequence

from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.messages import messages_of
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
    """Quote what an agent decided itself, above what is to be instead."""
    return "\n".join((_quote(ruling), "", text.rstrip("\n")))


def _quote(ruling: Ruling) -> str:
    decided = f"You decided: {ruling.decision or 'what you did not say'}"
    lines = strip_controls(f"{ruling.question.prompt}\n{decided}").splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def standing_rulings(change: Change) -> tuple[Ruling, ...]:
    """Return the rulings of a change that no request quotes to overrule them."""
    texts = messages_of(change.runs).texts
    return tuple(each for each in change.rulings if not any(_quote(each) in text for text in texts))

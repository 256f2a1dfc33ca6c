"""Overrule what an agent decided itself: a change request that quotes it."""

from collections.abc import Iterable, Mapping

from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.format import bare_quote_error
from git_blackbird.messages.outgoing.prompts import join_messages
from git_blackbird.messages.outgoing.rulings import render_overruled
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.parts import Ruling


def overruling_request(
    workspace: Workspace, task_id: str, given: Mapping[str, str], words: str | None
) -> str:
    """Return the change request that overrules rulings on a task, by question id; then ``words``.

    Raises RequestError for a blank text, and for an id of no task or no ruling.
    """
    history = workspace.store.records.history(find_task(workspace.store.plan(), task_id).id)
    rulings = {ruling.question.id: ruling for ruling in Change.of(history).rulings}
    for name in given:
        if name not in rulings:
            known = (
                f"its rulings are: {', '.join(rulings)}" if rulings else "its agent decided nothing itself"
            )
            raise RequestError(f"{task_id} has no ruling {quoted(name)}", hint=known)
    texts = [render_overruled(rulings[name], text) for name, text in given.items()]
    for text in texts:
        require_words(rulings.values(), text)
    return join_messages(*texts, words or "")


def require_words(rulings: Iterable[Ruling], request: str) -> None:
    """Refuse a change request that quotes a ruling and says no more. Raises RequestError."""
    if (text := bare_quote_error(rulings, request)) is not None:
        raise RequestError(text, hint="write it below the quotation, or delete that if the ruling stands")

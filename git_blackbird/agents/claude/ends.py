"""The ends of Claude Code: what the words of a result, or of an error, mean."""

from collections.abc import Mapping

from git_blackbird.agents.claude.events import Result
from git_blackbird.agents.event_parser import unfinished_word
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.agent_io import AgentFailure

# Versions without the first field have the second one.
_FINISHED: Mapping[str, frozenset[str]] = {
    "terminal_reason": frozenset({"completed"}),
    "stop_reason": frozenset({"end_turn", "stop_sequence"}),
}
_FIRST_LINE_CHARACTERS = 100
_STATUS_REFUSALS = {
    401: AgentFailure.NOT_LOGGED_IN,
    402: AgentFailure.NO_CREDIT,
    403: AgentFailure.NOT_LOGGED_IN,
    404: AgentFailure.UNKNOWN_MODEL,
    413: AgentFailure.PROMPT_TOO_LONG,
    429: AgentFailure.USAGE_LIMIT,
}
REASON_REFUSALS = {
    "prompt_too_long": AgentFailure.PROMPT_TOO_LONG,
    "blocking_limit": AgentFailure.PROMPT_TOO_LONG,
    "rapid_refill_breaker": AgentFailure.CONTEXT_FULL,
}
_KIND_REFUSALS = {
    "authentication_failed": AgentFailure.NOT_LOGGED_IN,
    "billing_error": AgentFailure.NO_CREDIT,
    "rate_limit": AgentFailure.USAGE_LIMIT,
    "server_error": AgentFailure.OUTAGE,
}


def says_error(result: Result) -> bool:
    """Whether a result says that it is an error, or never says that it is none."""
    return result.is_error is not False or result.subtype.startswith("error") or not result.subtype


def end_word(result: Result, text: str) -> str | None:
    """Return the word of an end that is no error, and not known to mean finished; "" if it has none.

    None for one that does; ``text`` is its answer.
    """
    if result.subtype != "success":
        return clean_line(result.subtype)
    word = unfinished_word(result, _FINISHED)
    is_answered = bool(text.strip()) if word == "" else result.structured_output is not None
    return None if is_answered and not result.terminal_reason else word


def unsent_text(result: Result, why: str) -> str:
    """Return the error where no model was asked; ``why``, as far as an event said it."""
    why = why or clean_line(result.result.partition("\n")[0], _FIRST_LINE_CHARACTERS)
    return ": ".join(filter(None, ("its prompt did not reach the model", why)))


def error_of(result: Result, own_words: str) -> str:
    """Return the error of a result in its own words, or else in those that the program said before."""
    text = "; ".join(filter(None, result.errors)) or result.result
    return clean_line(text, 1000) or own_words or result.subtype or "a result without success"


def refusal_by(status: int, kind: str) -> AgentFailure | None:
    """Return the refusal that the status of the server, or the kind of an error, stands for."""
    refusal = AgentFailure.OUTAGE if status >= 500 else _STATUS_REFUSALS.get(status)
    return refusal or _KIND_REFUSALS.get(kind)

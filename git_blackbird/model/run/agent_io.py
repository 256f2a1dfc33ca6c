"""What agents do and report: progress, failures, rights."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.run.parts import Usage


def agent_in_text(name: str) -> str:
    """Name an agent in a sentence, in which the bare word ``command`` would be misread."""
    return "the agent 'command'" if name == "command" else name


class ProgressKind(StrEnum):
    """What an agent is doing, according to its output.

    ``WAITS`` names what is still at work in the background once it has answered. ``PRINTS`` is the last line
    of output without an event stream, ``SPENDS`` a step with usage figures only.
    """

    SAYS = "says"
    READS = "reads"
    EDITS = "edits"
    RUNS = "runs"
    TOOL = "tool"
    NOTE = "note"
    WAITS = "waits"
    PRINTS = "prints"
    SPENDS = "spends"


_WORK = frozenset(ProgressKind) - {ProgressKind.NOTE, ProgressKind.SPENDS}


class Progress(NamedTuple):
    """One readable step of an agent's output.

    ``text`` has one line, or several for messages; it is bounded and not sanitized. ``usage`` and
    ``cost_usd`` are those of the run so far, if this step has them.
    """

    kind: ProgressKind
    text: str
    usage: Usage | None = None
    cost_usd: float | None = None

    @property
    def shows_work(self) -> bool:
        return self.kind in _WORK or (self.usage is not None and self.usage.output_tokens > 0)


class AgentFailure(StrEnum):
    """Why an agent could not work; unless it ``is_of_task`` this does not count as a failure of the task.

    A ``USAGE_LIMIT`` is over by itself, ``NO_CREDIT`` is not.
    """

    MISSING = "missing"
    NOT_LOGGED_IN = "not_logged_in"
    USAGE_LIMIT = "usage_limit"
    NO_CREDIT = "no_credit"
    FORBIDDEN = "forbidden"
    UNKNOWN_MODEL = "unknown_model"
    PROMPT_TOO_LONG = "prompt_too_long"
    CONTEXT_FULL = "context_full"
    OUTAGE = "outage"
    SESSION_UNKNOWN = "session_unknown"
    SESSION_BUSY = "session_busy"
    TOO_OLD = "too_old"
    REFUSED = "refused"

    @property
    def is_of_task(self) -> bool:
        """Whether it refused this prompt or conversation alone, so that the task has failed."""
        return self in {AgentFailure.PROMPT_TOO_LONG, AgentFailure.CONTEXT_FULL}


class Rights(NamedTuple):
    """The rights of an agent as configured, in words, and the settings that grant them.

    ``calmer`` is the command with which it may only edit, where there is one.
    """

    description: str
    terms: tuple[str, ...] = ()
    calmer: ShellLine | None = None


class RightsQuestion(NamedTuple):
    agent: str
    rights: Rights
    stops_after_each: bool

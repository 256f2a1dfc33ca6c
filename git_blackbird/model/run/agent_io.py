"""What agents do and report: progress, results, failures, rights."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.run.parts import Question, Usage


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


@dataclass(frozen=True)
class Progress:
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
        """Whether a model, or a command, is known to be at work by this step."""
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


WOKEN_MARK = "[later, woken by a background command, a subagent or a notification]"


@dataclass(frozen=True)
class AgentResult:
    """The outcome of a run according to the agent's whole output.

    ``succeeded`` is true only if output and exit code both confirm it. ``session`` is the conversation that
    the agent named, or None. ``raw_totals`` has the counters as printed, from which the next resume is
    subtracted. ``blocked`` says that the agent was denied an action: success without a change does not count
    then. ``lacked`` is what could not be started for it, and may be why it changed nothing. ``is_cut``: the
    final text is incomplete, so that a missing part of it means nothing. ``resets_at`` is when the usage
    limit that refused it is over, in seconds since 1970, if an event says so. ``woken_texts`` are what the
    agent said later, when its own work in the background had ended. ``worked``: a model has said or done
    something. ``is_budget_spent``: it stopped by itself at the cost it was allowed. ``last_error`` is what
    the program said last of an error that it has not got over, also while it tries again. ``is_unknown_end``:
    it ended by itself, in a way that is known neither to mean finished nor to be a failure; ``error`` has its
    word for it. ``rulings`` are what it decided about questions, by their ids, and why. ``edited`` are the
    absolute paths of files that its edits wrote, where its output names them.
    """

    succeeded: bool = False
    session: str | None = None
    final_text: str = ""
    questions: tuple[Question, ...] = ()
    error: str | None = None
    refusal: AgentFailure | None = None
    refusal_hint: str | None = None
    resets_at: float | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    blocked: str | None = None
    lacked: str | None = None
    is_cut: bool = False
    worked: bool = False
    woken_texts: tuple[str, ...] = ()
    is_budget_spent: bool = False
    last_error: str | None = None
    is_unknown_end: bool = False
    rulings: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    edited: tuple[str, ...] = ()

    @property
    def whole_text(self) -> str:
        """The final text, and below it, marked, what was said later."""
        later = (f"{WOKEN_MARK}\n{text}" for text in self.woken_texts)
        return "\n\n".join(filter(None, (self.final_text, *later)))


class Rights(NamedTuple):
    """The rights of an agent as configured, in words, and the settings that grant them.

    ``calmer`` is the command with which it may only edit, where there is one.
    """

    description: str
    terms: tuple[str, ...] = ()
    calmer: ShellLine | None = None


class RightsQuestion(NamedTuple):
    """What a person agrees to: an agent with these rights, and whether the command stops after each task."""

    agent: str
    rights: Rights
    stops_after_each: bool

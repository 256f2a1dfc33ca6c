"""What passes between a person and an agent: questions, answers, progress, usage."""

from dataclasses import dataclass, field
from enum import StrEnum

from git_blackbird.model.recorded import Recorded


@dataclass(frozen=True, kw_only=True)
class Question(Recorded):
    """Something an agent asked; ``options`` are the answers that it expects."""

    id: str
    prompt: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer(Recorded):
    """What a person answered to the question of that id."""

    id: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Usage(Recorded):
    """Tokens of one run, as differences, not session totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ProgressKind(StrEnum):
    """What an agent is doing right now, as far as its output says.

    ``PRINTS`` is the last line of an output that is no event stream, ``SPENDS`` a step that tells figures
    and nothing else.
    """

    SAYS = "says"
    READS = "reads"
    EDITS = "edits"
    RUNS = "runs"
    TOOL = "tool"
    NOTE = "note"
    PRINTS = "prints"
    SPENDS = "spends"


@dataclass(frozen=True)
class Progress:
    """One readable step out of an agent's output.

    ``text`` has one line, but what an agent says may have several; it is bounded and may hold anything an
    agent can print. ``usage`` and ``cost_usd`` are those of the run so far, where this step tells them.
    """

    kind: ProgressKind
    text: str
    usage: Usage | None = None
    cost_usd: float | None = None


class Refusal(StrEnum):
    """Why an agent could not work at all; nothing is charged to the task."""

    MISSING = "missing"
    NOT_LOGGED_IN = "not_logged_in"
    USAGE_LIMIT = "usage_limit"
    FORBIDDEN = "forbidden"
    UNKNOWN_MODEL = "unknown_model"
    PROMPT_TOO_LONG = "prompt_too_long"
    OUTAGE = "outage"
    SESSION_UNKNOWN = "session_unknown"
    SESSION_BUSY = "session_busy"
    TOO_OLD = "too_old"
    REFUSED = "refused"


@dataclass(frozen=True)
class Reading:
    """What an agent's whole output says of its run.

    ``succeeded`` is true only when the output and the exit code both prove it. ``session`` is the
    conversation the agent named itself; None when it never named one. ``raw_totals`` keeps the
    counters as printed, for the difference at the next resume. ``blocked`` says that the agent was kept
    from doing something: success without a change is none then. ``is_cut``: the final text is not all that
    was said last, so that nothing may be concluded from what is not in it.
    """

    succeeded: bool
    session: str | None = None
    final_text: str = ""
    questions: tuple[Question, ...] = ()
    error: str | None = None
    refusal: Refusal | None = None
    refusal_hint: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    blocked: str | None = None
    is_cut: bool = False

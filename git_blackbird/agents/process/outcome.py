"""How a started process is followed, and how it ended."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from git_blackbird.agents.protocol import OutputParser
from git_blackbird.model.run.agent_io import AgentResult, Progress

RESULT_GRACE_SECONDS = 60.0
"""How long a program may go on after its final result, with nothing at work that it could wait for."""
OnOutput = Callable[[bytes, str, int], None]
"""A callback for a piece of output, its stream, ``stdout`` or ``stderr``, and the bytes skipped before it."""


@dataclass(frozen=True)
class Limits:
    """Time limits, in seconds: of a run, its silence, the effect of a signal, its life after its result."""

    wall_seconds: float
    idle_seconds: float
    grace_seconds: float
    result_seconds: float = RESULT_GRACE_SECONDS


class ExitCause(StrEnum):
    """Why a run ended: it exited, reached a limit or its budget, was stopped on request, or lost its machine.

    With ``TOLD`` it was stopped since a person has something to say to it, with ``NOT_STARTED`` its agent
    never began to work.
    """

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    TOLD = "told"
    WORKER_LOST = "worker_lost"
    NOT_STARTED = "not_started"


@dataclass(frozen=True)
class ChildRequest:
    """The way in which a started process is followed to its end, here or on another machine.

    ``reader`` parses its output; the callbacks receive steps and output, and must not block. Once ``hurry``
    is set, a process that is being stopped is killed. It is stopped where ``why_stop`` names a cause, unless
    it has done all it was to do.
    """

    reader: OutputParser
    limits: Limits
    on_progress: Callable[[Progress], None]
    on_output: OnOutput | None
    hurry: asyncio.Event
    why_stop: Callable[[], ExitCause | None] = lambda: None


@dataclass(frozen=True)
class ProcessResult:
    """The end of a run.

    ``exit_code`` is negative for the signal that killed it and None if unknown. ``_bytes`` counts the output,
    ``_dropped`` the part of it that the log does not keep. ``leftovers_stopped`` counts the processes that
    outlived the agent, ``redacted`` the secrets that were masked in its output, by their kinds. ``marks`` are
    what stands in their places there, with the kind of each.
    """

    exit_code: int | None
    cause: ExitCause
    reading: AgentResult
    stdout_tail: str = ""
    stderr_tail: str = ""
    stdout_bytes: int = 0
    stdout_dropped: int = 0
    stderr_bytes: int = 0
    stderr_dropped: int = 0
    leftovers_stopped: int = 0
    duration_seconds: float = 0.0
    redacted: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)

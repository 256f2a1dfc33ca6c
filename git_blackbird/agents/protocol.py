"""What every agent is to the controller: what it can do, how it starts, how its output is read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from git_blackbird.model.agent_rights import Rights
from git_blackbird.model.conversation import Progress, Reading

JsonObject = dict[str, Any]
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True)
class Abilities:
    """What a provider can do; the controller asks before it relies on it.

    ``prints_events``: its standard output is an event stream for programs, and its standard error noise.
    """

    resume: bool
    schema: bool
    read_only: bool
    chooses_session: bool
    reports_cost: bool
    prints_events: bool


@dataclass(frozen=True)
class AgentSettings:
    """What the configuration says of the agents.

    ``command`` is a shell command, and ``command_schema`` the word of the user's that it keeps to a schema.
    """

    command: str | None = None
    command_schema: bool = False
    claude_path: str = "claude"
    claude_permission_mode: str = "bypassPermissions"
    claude_model: str | None = None
    claude_args: tuple[str, ...] = ()
    codex_path: str = "codex"
    codex_sandbox: str = "workspace-write"
    codex_model: str | None = None
    codex_args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assignment:
    """One start of an agent on one task.

    ``session`` is the conversation to begin, where the agent lets us choose it, or, with ``resume``,
    the one to continue. ``prompt`` is the text for agents that read text, ``context`` the context pack
    for those that read JSON. ``previous_totals`` are the ``raw_totals`` of the run that is resumed.
    ``folder`` is the top of the worktree, for paths to be shown without it. ``schema`` is the JSON schema
    that the answer must keep to; only for an agent that is able to. With ``read_only`` it reviews: it is
    to write nothing, and no session of it is kept. ``scratch`` is the run's private work folder.
    """

    task_id: str
    run_id: str
    session: str | None
    prompt: str
    context: JsonObject
    resume: bool = False
    previous_totals: Mapping[str, float] = field(default_factory=dict)
    folder: str = ""
    schema: JsonObject | None = None
    read_only: bool = False
    scratch: str = ""


@dataclass(frozen=True)
class Inspection:
    """What can be found out about a provider here without a model being asked.

    ``program`` is its path, None when it was not found. ``obstacle`` says why it cannot be started, with
    ``hint``, the way out. ``login`` says whether it is logged in, in its own words where it has any.
    ``powers`` says what it may do in a worktree as configured, ``reviews`` what as a reviewer of a parent,
    ``remarks`` what else is worth knowing.
    """

    program: str | None = None
    version: str = ""
    obstacle: str | None = None
    hint: str | None = None
    login: str | None = None
    powers: str = ""
    reviews: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """A process to start: arguments, what it reads, and what its environment has beyond ours.

    ``files`` are to be there when it starts, by their plain names in the run's private work folder.
    """

    argv: tuple[str, ...]
    stdin: bytes
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


class OutputReader(Protocol):
    """Makes sense of one run's output; never raises, whatever was printed, and keeps little of it."""

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output, of any size and cut anywhere."""
        ...

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Say what the whole output means; ``exit_code`` is negative for a signal, None if unknown."""
        ...


class Agent(Protocol):
    """A provider of agents (DESIGN.md 9)."""

    name: str
    abilities: Abilities
    # Empty folders that it may leave at the top of a worktree when it is killed.
    litter: tuple[str, ...]

    @property
    def rights(self) -> Rights | None:
        """What it may do as configured; None where all but editing the worktree is denied."""
        ...

    def new_session(self, random_hex: str) -> str | None:
        """Name a new conversation from 32 random hex digits; None when the agent names its own."""
        ...

    def probe(self, environ: Mapping[str, str]) -> str:
        """Check that the agent can be started and give its version, or "".

        Raises AgentUnavailableError.
        """
        ...

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Find out what it can do here; starts the program, and asks no model. Never raises."""
        ...

    def accepts_session(self, session: str) -> bool:
        """Whether this can be one of its sessions; what cannot is never passed on to the program."""
        ...

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:
        """Say how to start; ``environ`` is what the child will inherit."""
        ...

    def reader(self, assignment: Assignment) -> OutputReader:
        """Give a fresh reader for that start's output, live or out of the saved log."""
        ...


def build_session_uuid(random_hex: str) -> str:
    """Write 32 random hex digits as a version 4 UUID."""
    digits = random_hex.lower().ljust(32, "0")[:32]
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def is_uuid(session: str) -> bool:
    """Whether a session's name is a UUID, as the programs write it."""
    return _UUID.fullmatch(session) is not None

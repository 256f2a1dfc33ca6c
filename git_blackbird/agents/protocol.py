"""The interface between the controller and agents: capabilities, launch, environment, output."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.run.agent_io import Progress, Rights, agent_in_text
from git_blackbird.model.run.ended import Ended

JsonObject = dict[str, Any]
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Capabilities(NamedTuple):
    """What a provider supports; the controller checks before it relies on it.

    ``prints_events``: its standard output is an event stream for programs, and its standard error is noise.
    ``schema_command`` is the command that makes it support schemas, where a setting does.
    ``reads_only_files``: where it is read-only it runs no commands, not even those that show a change.
    """

    resume: bool = False
    schema: bool = False
    read_only: bool = False
    chooses_session: bool = False
    reports_cost: bool = False
    prints_events: bool = False
    reads_only_files: bool = False
    schema_command: ShellLine | None = None


RESULT_GRACE_SECONDS = 60.0
"""How long a program may go on after its final result, with nothing at work that it could wait for."""


@dataclass(frozen=True)
class Limits:
    """Time limits, in seconds: of a run, its silence, the effect of a signal, its life after its result."""

    wall_seconds: float = math.inf
    idle_seconds: float = math.inf
    grace_seconds: float = 0.0
    result_seconds: float = RESULT_GRACE_SECONDS


@dataclass(frozen=True)
class Assignment:
    """What an agent is to do in one run, on whichever machine: it has no paths.

    ``session`` is the conversation to begin, if the agent accepts a name, or, with ``resume``, the one to
    continue. ``prompt`` is the text for agents that read text, ``context`` the context pack for those that
    read JSON. ``previous_totals`` are the ``raw_totals`` of the resumed run. ``schema`` is the JSON schema of
    the answer, for agents that support it. With ``read_only`` the agent reviews: it writes nothing, and its
    session is not saved. ``usd_left`` is what the run may cost, for agents that can stop there.
    """

    agent: str
    task_id: str
    run_id: str
    session: str | None
    prompt: str
    context: JsonObject
    limits: Limits = Limits()
    resume: bool = False
    previous_totals: Mapping[str, float] = field(default_factory=dict)
    schema: JsonObject | None = None
    read_only: bool = False
    usd_left: float | None = None


class ProbeResult(NamedTuple):
    """What can be found out about a provider locally, without using a model.

    ``program`` is its path, None if it was not found. ``blocked_reason`` says why it cannot be started, with
    a ``hint``. ``login`` is its login state, in its own words if it has any. ``powers`` describes its rights
    in a worktree as configured, ``reviews`` those as a reviewer of a parent, ``remarks`` anything else worth
    knowing. With ``holds_reviews`` its program has the options that hold it to its abilities in reviews.
    """

    program: str | None = None
    version: str = ""
    blocked_reason: str | None = None
    hint: str | None = None
    login: str | None = None
    powers: str = ""
    reviews: str = ""
    remarks: tuple[str, ...] = ()
    holds_reviews: bool = True


class OutputParser(Protocol):
    """Parse one run's output; never raises, whatever was printed, and keeps little of it.

    Unless ``needs_all``, the end of the output is enough: what is printed faster than it is read may be left
    out.
    """

    needs_all: bool

    @property
    def remaining_work(self) -> Sequence[str] | None:
        """After a final result: the work in the background that the program may wait for; None before it."""
        ...

    @property
    def step(self) -> int | None:
        """The number of the step at work, which stopping would cut off; None between steps, or if unknown."""
        ...

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Parse the next piece of standard output, of any size and cut anywhere."""
        ...

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:
        """Return the outcome; ``exit_code`` is negative for a signal, None if unknown."""
        ...


class ExitCodeReader:
    """The parser of a program whose exit code says everything."""

    needs_all = False
    remaining_work = step = None

    def feed(self, data: bytes) -> Sequence[Progress]:  # noqa: ARG002  # the Protocol's
        return ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:  # noqa: ARG002  # the Protocol's
        return Ended(succeeded=exit_code == 0)


class Launch(NamedTuple):
    """A process to start and to follow, made where it runs: an agent says how, and its launcher the rest.

    ``files`` are created before it starts, by plain names in ``scratch``, the run's private work folder.
    ``folder`` is where it works. ``stop`` is a command that ends what it started and is not its descendant,
    such as a container; empty if there is none. ``reader`` parses its output.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    environ: Mapping[str, str] = {}
    files: Mapping[str, bytes] = {}
    stop: tuple[str, ...] = ()
    folder: str = ""
    scratch: str = ""
    limits: Limits = Limits()
    reader: OutputParser = ExitCodeReader()


class Agent(Protocol):
    name: str
    abilities: Capabilities
    # Empty folders that a killed agent may leave at the top of a worktree.
    leftover_dirs: tuple[str, ...]

    @property
    def model(self) -> str | None:
        """The model that it is configured to use; None for its own choice."""
        ...

    @property
    def summary(self) -> str:
        """Its name and how it is set up to work, on one line."""
        ...

    @property
    def rights(self) -> Rights | None:
        """Its rights as configured; None if it can only edit the worktree."""
        ...

    def probe(self, environ: Mapping[str, str]) -> str:
        """Check that the agent can be started and return its version, or "". Raises AgentUnavailableError."""
        ...

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        """Find out what it supports here; starts the program, but uses no model. Never raises."""
        ...

    def accepts_session(self, session: str) -> bool:
        """Whether this can be one of its sessions; other names are never passed to the program."""
        ...

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:
        """Return how to start it in a folder; its environment is what it adds, ``scratch`` is private."""
        ...

    def parser(self, assignment: Assignment, folder: str = "") -> OutputParser:
        """Return a new parser for the output of that start, live or from the saved log.

        ``folder`` is the top of the worktree, to shorten displayed paths.
        """
        ...


def render_schema(agent: Agent, assignment: Assignment) -> str | None:
    """Return the schema of an assignment on one line; None if it has none.

    Raises AgentUnavailableError for an agent that does not support schemas.
    """
    if assignment.schema is None:
        return None
    if not agent.abilities.schema:
        raise AgentUnavailableError(
            f"{agent_in_text(agent.name)} cannot enforce a JSON schema", hint=agent.abilities.schema_command
        )
    return json.dumps(assignment.schema, separators=(",", ":"))


def new_session(agent: Agent, random_hex: str) -> str | None:
    """Return a name for a new conversation from 32 random hex digits; None if the agent chooses it."""
    return str(UUID(random_hex, version=4)) if agent.abilities.chooses_session else None


def is_uuid(session: str) -> bool:
    return _UUID.fullmatch(session) is not None


RUN_ID_VARIABLE = "BLACKBIRD_RUN_ID"
TASK_ID_VARIABLE = "BLACKBIRD_TASK_ID"
# Named after the run, so that a process without the run's id in its environment is found by its TMPDIR in
# this folder. Short, because agents put sockets below it, and the path of a socket is limited (macOS: 104
# bytes).
RUN_FOLDER_PREFIX = "git-blackbird-"
TMP_FOLDER = "tmp"

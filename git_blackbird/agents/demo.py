"""The ``demo`` agent: an embedded, deterministic one, in a real process of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from git_blackbird import __version__
from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.command import render_context, session_environ
from git_blackbird.agents.json_lines import JsonLines
from git_blackbird.agents.protocol import (
    Abilities,
    AgentSettings,
    Assignment,
    Inspection,
    JsonObject,
    Launch,
    build_session_uuid,
)
from git_blackbird.agents.schemas import render_schema
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Usage

_PROGRAM = Path(__file__).with_name("demo_agent.py")
_KINDS = {kind.value: kind for kind in ProgressKind}


class DemoAgent:
    """Does what the lines of a task's prompt say; see ``demo_agent``."""

    name = "demo"
    abilities = Abilities(
        resume=True,
        schema=True,
        read_only=False,
        chooses_session=True,
        reports_cost=True,
        prints_events=True,
    )
    litter: tuple[str, ...] = ()

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings

    @property
    def rights(self) -> None:
        """It does what a plan says that it was given, and nothing else."""
        return

    def new_session(self, random_hex: str) -> str:
        """Name a session."""
        return build_session_uuid(random_hex)

    def probe(self, environ: Mapping[str, str]) -> str:  # noqa: ARG002  # the Protocol's
        """Give its version, which is ours. Raises AgentUnavailableError when its file is gone."""
        if not _PROGRAM.is_file():
            raise AgentUnavailableError(f"the demo agent is not installed: no {_PROGRAM}")
        return __version__

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Say that it is there: it is a part of this program."""
        try:
            return Inspection(
                str(_PROGRAM),
                self.probe(environ),
                powers="does what the task's prompt says, with your permissions",
                reviews="compares files with what the prompt requires of them, in a throw-away checkout",
            )
        except AgentUnavailableError as error:
            return Inspection(obstacle=error.message, hint=error.hint)

    def accepts_session(self, session: str) -> bool:
        """Every name that is not empty: it keeps nothing of a session."""
        return bool(session)

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:  # noqa: ARG002  # the Protocol's
        """Start it by its file, isolated: no module of the worktree or of PYTHONPATH can take its place."""
        return Launch(
            argv=(sys.executable, "-IS", str(_PROGRAM)),
            stdin=render_context(assignment.context),
            environ={**session_environ(assignment), **render_schema(self, assignment).environ},
        )

    def reader(self, assignment: Assignment) -> "DemoReader":  # noqa: ARG002  # the Protocol's
        """Read its lines of JSON."""
        return DemoReader()


class DemoReader:
    """Reads ``session``, ``progress`` and ``result`` lines."""

    def __init__(self) -> None:
        self._lines = JsonLines()
        self._session: str | None = None
        self._result: JsonObject | None = None

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output."""
        steps = [self._take(line) for line in self._lines.feed(data)]
        return [step for step in steps if step is not None]

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Success is exit status 0 with a result that says so and asks nothing."""
        for line in self._lines.flush():
            self._take(line)
        result = self._result or {}
        text = str(result.get("text", ""))
        questions = parse_questions(text) if exit_code == 0 else ()
        proved = exit_code == 0 and result.get("ok") is True
        return Reading(
            succeeded=proved and not questions,
            session=self._session,
            final_text=text,
            questions=questions,
            error=None if proved else _error_text(result, exit_code, stderr_tail),
            usage=_usage(result.get("usage")),
            cost_usd=0.0 if self._result else None,
        )

    def _take(self, line: JsonObject) -> Progress | None:
        match line.get("type"):
            case "session":
                self._session = str(line.get("session_id", "")) or None
            case "progress":
                kind = _KINDS.get(str(line.get("kind")), ProgressKind.NOTE)
                return Progress(kind, one_line(str(line.get("text", ""))))
            case "result":
                self._result = line
            case _:
                pass
        return None


def _error_text(result: JsonObject, exit_code: int | None, stderr_tail: str) -> str:
    return str(result.get("error") or last_line(stderr_tail) or exit_text(exit_code))


def _usage(counted: Any) -> Usage | None:
    if not isinstance(counted, dict):
        return None
    numbers = {name: value for name, value in counted.items() if isinstance(value, int)}
    return Usage(input_tokens=numbers.get("input_tokens", 0), output_tokens=numbers.get("output_tokens", 0))

"""The ``demo`` agent: embedded and deterministic, in a real process of its own."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

import git_blackbird
from git_blackbird.agents.answer_parser import AnswerParser
from git_blackbird.agents.command.agent import render_context, session_environ
from git_blackbird.agents.failures import ProviderHelp, last_line
from git_blackbird.agents.json_events import Line
from git_blackbird.agents.protocol import (
    Assignment,
    Capabilities,
    Launch,
    ProbeResult,
)
from git_blackbird.clean import one_line
from git_blackbird.model.base.lenient import Count, Fallback, Flag, Lenient, Text
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.parts import Usage

_PROGRAM = Path(__file__).with_name("demo_program.py")
_ROOT = Path(git_blackbird.__file__).parent.parent
# Imported: a program that is started by its path is compiled at each start.
_START = f"""import sys
sys.path.append({str(_ROOT)!r})
from git_blackbird.agents.demo.demo_program import main
sys.exit(main())"""
_KINDS = {kind.value: kind for kind in ProgressKind}


class DemoAgent:
    """Carry out the directives in a task's prompt; see ``demo_program``."""

    name = "demo"
    abilities = Capabilities(
        resume=True, schema=True, chooses_session=True, reports_cost=True, prints_events=True
    )
    leftover_dirs: tuple[str, ...] = ()
    model = None

    def __init__(self, _settings: None = None) -> None: ...

    @property
    def summary(self) -> str:
        return self.name

    @property
    def rights(self) -> None:
        """Limited to the directives in the plan."""
        return

    def probe(self, environ: Mapping[str, str]) -> str:  # noqa: ARG002  # the Protocol's
        return git_blackbird.__version__

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        return ProbeResult(
            str(_PROGRAM),
            self.probe(environ),
            powers="does what the task's prompt says, with your permissions",
            reviews="compares files with what the prompt requires of them, in a throwaway checkout",
        )

    def accepts_session(self, session: str) -> bool:
        return bool(session)

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:  # noqa: ARG002  # the Protocol's
        """Return its launch, isolated so that no module of the worktree or PYTHONPATH replaces it."""
        return Launch(
            argv=(sys.executable, "-IS", "-c", _START),
            stdin=render_context(assignment.context),
            environ=session_environ(self, assignment),
        )

    def parser(self, assignment: Assignment, folder: str = "") -> "DemoParser":
        return DemoParser(assignment, folder=folder)


class _Session(Lenient):
    type: Literal["session"]
    session_id: Text


class _Step(Lenient):
    type: Literal["progress"]
    kind: Text
    text: Text
    lasts: Flag


class _Usage(Lenient):
    input_tokens: Count
    output_tokens: Count


class _Result(Lenient):
    type: Literal["result"]
    ok: Flag
    text: Text
    error: Text
    usage: Annotated[_Usage | None, Fallback(None)]


_Event = Annotated[_Session | _Step | _Result, Field(discriminator="type")]
_EVENTS: TypeAdapter[_Event | tuple[_Event, ...]] = TypeAdapter(Line[_Event])


class DemoParser(AnswerParser[_Event]):
    """Parse ``session``, ``progress`` and ``result`` lines."""

    events = _EVENTS
    provider = ProviderHelp("demo", package="", update="", login="")
    tools: Mapping[str, ProgressKind] = {}

    def _take(self, event: _Event) -> Iterator[Progress]:
        self._worked = True
        match event:
            case _Session():
                self._session = event.session_id
            case _Step():
                self._tools.end("")
                if event.lasts:
                    self._tools.begin("")
                yield Progress(_KINDS.get(event.kind, ProgressKind.NOTE), one_line(event.text))
            case _Result():
                self._text, self._failure, self._completed = event.text, event.error, event.ok is True
                self._hear(self._text, ends_turn=True)
                self._usage = Usage(**dict(event.usage)) if event.usage else None
                self._cost = 0.0

    def _words(self) -> str:
        return last_line(self._stderr)

    def _refusal(self) -> None: ...

"""The real programs as tests are given them: skipped aloud where missing, their model server a stand-in."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.agents.protocol import Agent
from git_blackbird.agents.registry import load_agent
from tests.standin.alone import obstacle
from tests.standin.anthropic import Anthropic
from tests.standin.gemini import Gemini
from tests.standin.install import EVERY_VERSION, FULL_PROGRAMS, NEWEST, Program, find_binary, find_program
from tests.standin.openai import OpenAi
from tests.standin.opencode import Opencode
from tests.standin.server import Dialect, StandIn, serve
from tests.support import config_with

DIALECTS: dict[str, Dialect] = {
    dialect.agent: dialect for dialect in (Anthropic(), OpenAi(), Opencode(), Gemini())
}


# Codex's own sandbox, where it can be made; the tests that are about it are skipped elsewhere, aloud.
SANDBOX = "danger-full-access" if obstacle() else "workspace-write"
needs_sandbox = pytest.mark.skipif(obstacle() is not None, reason=f"codex has no sandbox: {obstacle()}")
SANDBOXES = [pytest.param("workspace-write", marks=needs_sandbox), "danger-full-access"]


def real(*programs: Program) -> list[object]:
    """Return the parameters of a test that runs with each of these programs.

    Without any, with all that can be held to a schema.
    Earlier versions take part when BLACKBIRD_EVERY_VERSION asks for them.
    """
    wanted = [one for one in programs or FULL_PROGRAMS if EVERY_VERSION or one in NEWEST]
    return [
        pytest.param(
            program,
            id=program.name,
            marks=[
                pytest.mark.real_agents,
                pytest.mark.skipif(find_program(program) is None, reason=program.reason),
            ],
        )
        for program in wanted
    ]


def real_by(program: Program) -> list[object]:
    """Return the parameters of a test of a flow that is ours, and the same whichever program works in it.

    It runs with this one; with all others too when BLACKBIRD_EVERY_VERSION asks for them.
    """
    return real(*(FULL_PROGRAMS if EVERY_VERSION else (program,)))


def path_of(program: Program) -> str:
    """Return the path of a program that is there, as it is installed."""
    path = find_program(program)
    assert path is not None, program.reason
    return path


def binary_of(program: Program) -> str:
    """Return the path of the same without its launcher, for stories that are not about how it is started."""
    return find_binary(path_of(program))


def load(program: Program, **settings: Any) -> Agent:
    """Return the agent that runs this very program; ``settings`` are keys as ``config_with`` takes them."""
    named = {f"{program.agent}__path": binary_of(program), "codex__sandbox": SANDBOX, **settings}
    return load_agent(program.agent, config_with(**named))


def load_installed(program: Program, **settings: Any) -> Agent:
    """Return the same, started through its launcher, which is what gets signals and passes them on."""
    return load(program, **{f"{program.agent}__path": path_of(program), **settings})


@contextmanager
def short_folder() -> Iterator[Path]:
    """Make a folder below which agents have room for their sockets; else they put them beside it.

    It is on a disk: a sandboxed program has a /dev of its own, in which the memory of others is not.
    """
    with tempfile.TemporaryDirectory(prefix="real-", dir="/var/tmp") as folder:
        yield Path(folder)


@contextmanager
def model_of(program: Program) -> Iterator[StandIn]:
    """Serve what the program takes for its model, until the block ends."""
    with serve(DIALECTS[program.agent]) as standin:
        yield standin

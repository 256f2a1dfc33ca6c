"""What the tests of real programs share: each with the ``program`` that the test is about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.agents.protocol import Agent
from tests.standin.install import Program
from tests.standin.real import load, model_of
from tests.standin.server import StandIn


@pytest.fixture
def model(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Return the stand-in of the program's model server, which the environment names."""
    with model_of(program) as standin:
        for name, value in standin.environ(tmp_path / "config").items():
            monkeypatch.setenv(name, value)
        yield standin


@pytest.fixture
def agent(program: Program) -> Agent:
    """Return the agent that starts the program."""
    return load(program)

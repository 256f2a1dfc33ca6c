"""What trials with the real agents are given: a program, and a model for it."""

from collections.abc import Iterator

import pytest

from tests.standin.install import Program
from tests.standin.real import model_of, real
from tests.standin.server import StandIn


@pytest.fixture(params=real())
def program(request: pytest.FixtureRequest) -> Program:
    chosen: Program = request.param
    return chosen


@pytest.fixture
def model(program: Program) -> Iterator[StandIn]:
    with model_of(program) as standin:
        yield standin

"""Command lines that say two things are refused, and nothing is recorded."""

import pytest

from tests.cli.golden_harness import Program, program

__all__ = ["program"]


@pytest.mark.parametrize(
    "args",
    [
        ("decide", "a", "--approve", "--reject"),
        ("decide", "a", "--reject", "--approve"),
        ("decide", "a", "--approve", "--request-changes", "-m", "x"),
        ("decide", "a"),
        ("resume", "a", "--answer", "db=mysql", "--answer", "db=sqlite"),
        ("config", "agent", "demo", "--local", "--project"),
    ],
)
def test_two_things_at_once(program: Program, args: tuple[str, ...]) -> None:
    program.run("init")
    program.run("add", "--id", "a", "--title", "A")
    assert program.run(*args) == 2

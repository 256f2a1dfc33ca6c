"""What a wrong command line is told."""

import pytest

from tests.cli.golden_harness import Program, program

__all__ = ["program"]


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (("edit", "a", "--title"), "git blackbird edit"),
        (("runs", "--limit"), "git blackbird runs"),
        (("edit", "a", "--unknown"), "git blackbird edit"),
        (("--unknown", "edit"), "git blackbird"),
        (("unknown",), "git blackbird"),
    ],
)
def test_the_hint_is_the_help_of_the_command(program: Program, args: tuple[str, ...], command: str) -> None:
    assert program.run(*args) == 2
    assert program.text().splitlines()[2] == f"2> hint: {command} -h"

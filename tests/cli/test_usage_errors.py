"""What a wrong command line is told."""

from pathlib import Path

import pytest

from git_blackbird.model.entities.status import Status
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task

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


def test_every_command_that_is_shown_can_be_pasted(program: Program, repo: Path) -> None:
    save(repo, [task("-ready"), task("-failed", status=Status.FAILED)], [run("-failed", "019b7c4e52000004")])
    program.run("show", "--", "-ready")
    program.run("show", "--", "-failed")
    program.run("runs", "--", "-ready")
    program.run("runs", "--", "-failed", "ffff")
    program.run("status")
    program.run("status", "--json")
    shown = [line for line in program.text().splitlines() if not line.startswith("$")]
    named = [line for line in shown if "git blackbird" in line and ("-ready" in line or "-failed" in line)]
    assert len(named) >= 5
    for line in named:
        assert " -- -ready" in line or " -- -failed" in line

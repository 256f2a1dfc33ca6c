"""What a wrong command line is told."""

from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus
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


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("list", "--ready", "--blocked"), "--ready and --blocked do not go together"),
        (("list", "--tree", "--all", "--ready"), "--all and --ready do not go together"),
        (("runs", "a", "--follow", "--diff"), "--follow and --diff do not go together"),
        (("adopt", "--take", "--leave"), "--take and --leave do not go together"),
        (("list", "--status", "failed", "--blocked"), "--status and --blocked do not go together"),
    ],
)
def test_options_of_which_one_would_be_ignored_are_refused(
    program: Program, repo: Path, args: tuple[str, ...], reason: str
) -> None:
    save(repo, [task("a")], [run("a")])
    assert program.run(*args) == 2
    assert program.text().splitlines()[1] == f"2> error: {reason}"


def test_the_same_option_twice_and_a_name_like_an_option_are_no_conflict(
    program: Program, repo: Path
) -> None:
    save(repo, [task("--diff")])
    assert program.run("list", "--ready", "--ready") == 0
    assert program.run("runs", "--log", "--", "--diff") == 1
    assert "2> error: no runs found for --diff" in program.text()


def test_every_command_that_is_shown_can_be_pasted(program: Program, repo: Path) -> None:
    save(
        repo,
        [task("-ready"), task("-failed", status=Status.FAILED)],
        [run("-failed", "019b7c4e52000004", RunStatus.FAILED)],
    )
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

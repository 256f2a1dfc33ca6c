"""The completion scripts know every command, option and key of the program."""

from pathlib import Path

import pytest

from git_blackbird.cli.completion_command import SCRIPTS as NAMES
from tests.cli import completion_table
from tests.cli.completion_table import BEGIN, END, SCRIPTS, UPDATE, quoted
from tests.cli.golden_harness import Program, program

__all__ = ["program"]

FILES = [SCRIPTS / name for name in NAMES.values()]


@pytest.mark.parametrize("script", FILES, ids=lambda script: script.name)
def test_a_script_knows_what_the_program_has(script: Path) -> None:
    if UPDATE:
        completion_table.update(script)
    assert script.read_text().partition(BEGIN)[2].partition(END)[0] == quoted(script)


def test_every_script_is_there() -> None:
    names = [*NAMES.values(), "git-blackbird.conf.fish"]
    assert sorted(path.name for path in SCRIPTS.iterdir()) == sorted(names)


def test_fish_is_told_the_same_at_its_start() -> None:
    (line,) = (one for one in (SCRIPTS / "git-blackbird.conf.fish").read_text().splitlines() if one[0] != "#")
    assert line in (SCRIPTS / NAMES["fish"]).read_text().splitlines()


@pytest.mark.parametrize("shell", NAMES)
def test_the_program_prints_its_scripts(program: Program, shell: str) -> None:
    program.capture.readouterr()
    assert program.run("completion", shell) == 0
    assert program.transcript[1] == (SCRIPTS / NAMES[shell]).read_text()

"""The README says what a newcomer types, and all of it works in the order of the page."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from git_blackbird.cli.syntax.registry import cli, load_command
from tests.support import commit
from tests.trial.program import ROOT, Trial

README = (ROOT / "README.md").read_text()
AGENT = """case $BLACKBIRD_TASK_ID in
    api*) echo "# more" >>app.py ;;
    *) mkdir -p docs && echo API >docs/api.md ;;
esac"""


def typed(text: str) -> Iterator[tuple[list[str], str]]:
    """The commands of this program in the blocks of a page, each with what is typed below it as its input."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        lines = iter(block.splitlines())
        for line in lines:
            words = _words(line, lines)
            below = list(iter(lambda: next(lines), "EOF")) if "<<EOF" in words else []  # noqa: B023
            if words[:2] == ["git", "blackbird"]:
                yield [word for word in words[2:] if word != "<<EOF"], "".join(f"{one}\n" for one in below)


def _words(line: str, following: Iterator[str]) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a text that goes on
        return _words(f"{line}\n{next(following)}", following)


def from_to(begin: str, end: str) -> str:
    return README.partition(f"## {begin}\n")[2].partition(f"## {end}\n")[0]


def test_the_readme_is_short_and_has_the_daily_loop_first() -> None:
    assert len(README.encode()) < 10_000
    top = README.partition("## Your first plan")[0]
    assert "## The daily loop" in top
    assert len(top.splitlines()) <= 75


def test_rights_and_costs_stand_after_the_first_plan_and_before_the_first_run() -> None:
    between = from_to("Your first plan", "Running and deciding").partition("## Before the first real run")[2]
    assert "what it may do" in between
    assert "what it costs" in between


def test_commands_in_the_readme_are_taken() -> None:
    for words, _ in typed(README):
        parse(words)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_commands_in_the_pages_are_taken_with_values_in_place_of_words_in_capitals(page: Path) -> None:
    for words, _ in typed(page.read_text()):
        parse([word.lower() if re.fullmatch("[A-Z]{2,}", word) else word for word in words])


def test_the_examples_of_the_manual_are_taken() -> None:
    examples = (ROOT / "man/git-blackbird.1").read_text().partition(".SH EXAMPLES")[2].partition(".SH")[0]
    lines = re.findall(r"^\.B (?:\S+=\S+ )?git blackbird (.+)$", examples, flags=re.MULTILINE)
    for line in lines:
        parse(shlex.split(line.replace("\\-", "-").replace("\\&", "")))
    assert len(lines) == examples.count(".TP\n")


def parse(words: list[str]) -> None:
    """Have the parser of a command read what is typed. Raises click.ClickException if it is refused."""
    name, *args = words
    first = load_command(name)
    command = first.commands[args.pop(0)] if isinstance(first, click.Group) else first
    command.make_context(name, args, **cli.context_settings)


def test_the_first_plan_is_run_and_decided_on_as_the_readme_says(repo: Path) -> None:
    commit(repo, {"app.py": "def orders():\n    return []\n"})
    trial = Trial(repo, {"BLACKBIRD_AGENT_CMD": AGENT})
    for args, below in typed(from_to("Your first plan", "Before the first real run")):
        trial.expect(0, *args, stdin=below)
    trial.expect(3, "execute")
    for args, below in typed(from_to("Running and deciding", "Where to read on")):
        trial.expect(3 if args == ["execute"] else 0, *args, stdin=below)
    assert "1. docs-of-the-api" in trial.expect(0, "execute", "--dry-run")

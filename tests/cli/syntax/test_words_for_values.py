"""A word that help and hints have in the place of a value is no value."""

import re
from collections.abc import Iterator

import click
import pytest

from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import task
from tests.cli.syntax.names import NAMES, command_named

__all__ = ["program"]
# Verbs that take all arguments of their command.
FILLED = {"review": "dismiss", "deps": "add", "worktrees": "open"}


def command_lines() -> Iterator[list[str]]:
    """Yield a line of each command for each word that stands for a value of one of its parameters."""
    for name in NAMES:
        spec = command_named(name)
        arguments = [param for param in spec.params if isinstance(param, click.Argument)]
        for param, word in words_of(spec):
            position = arguments.index(param) if param in arguments else len(arguments)
            filled = [FILLED.get(name, "x") if one.name == "action" else "x" for one in arguments]
            given = [
                value
                for number, (one, value) in enumerate(zip(arguments, filled, strict=True))
                if one.required or number < position < len(arguments)
            ]
            if param in arguments:
                given[position : position + 1] = [word]
            else:
                given += [param.opts[0], word]
            yield [*name.split(), *given]


def words_of(spec: click.Command) -> Iterator[tuple[click.Parameter, str]]:
    for param in spec.params:
        with click.Context(spec) as context:
            shown = param.make_metavar(context)
        if not (isinstance(param, click.Option) and (param.is_flag or isinstance(param.flag_value, str))):
            for word in dict.fromkeys(re.findall(r"[A-Z]{2,}", shown)):
                yield param, f"x={word}" if "=" in shown else word


@pytest.mark.parametrize("line", list(command_lines()), ids=" ".join)
def test_no_parameter_takes_its_own_word(program: Program, line: list[str]) -> None:
    assert program.run(*line) == 2
    said = program.text().splitlines()[1]
    assert re.search(r"2> error: .*\b[A-Z]{2,}", said)


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (
            ["resume", "a", "--answer", "db=VALUE", "--answer", "why=1"],
            "--answer db=VALUE: VALUE stands for what you fill in there (answer one question; repeatable)",
            "git blackbird resume a",
        ),
        (
            ["decide", "a", "--request-changes", "-m", "TEXT"],
            "-m TEXT: TEXT stands for what you fill in there (the message for the agent)",
            "git blackbird decide a --request-changes -e",
        ),
        (
            ["plan", "generate", "-y", "--message=TEXT"],
            "-m TEXT: TEXT stands for what you fill in there (what is wanted)",
            "git blackbird plan generate -y",
        ),
        (
            ["review", "dismiss", "it's", "--reason", "TEXT"],
            "--reason TEXT: TEXT stands for what you fill in there (with dismiss: why; else asked for)",
            "git blackbird review dismiss 'it'\\''s'",
        ),
        (["branch", "a", "NAME"], "NAME stands for what you fill in there", "git blackbird branch -h"),
    ],
)
def test_what_is_refused_is_asked_for(program: Program, line: list[str], message: str, hint: str) -> None:
    assert program.run(*line) == 2
    assert program.text().splitlines()[1:3] == [f"2> error: {message}", f"2> hint: {hint}"]


def test_text_with_such_a_word_in_it_is_text(program: Program) -> None:
    save(program.cwd, [task("a")])
    assert program.run("edit", "a", "--title", "TEXT of it", "--notes", "a=TEXT") == 0
    assert program.run("add", "--title", "TEXT") == 2
    assert program.run("show", "TEXT") == 1

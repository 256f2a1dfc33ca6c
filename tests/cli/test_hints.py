"""Commands that this program prints are commands that it takes."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from git_blackbird.cli.syntax.registry import COMMANDS, cli, load_command
from git_blackbird.errors import UsageError
from git_blackbird.model.base.next_steps import (
    MESSAGE,
    OPTIONS_OF,
    REQUEST,
    CallOptions,
    ShellLine,
    TaskCommand,
    dismiss_command,
)
from tests.cli.hints import hints
from tests.cli.syntax.names import NAMES, command_named

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
# A command that stands alone, or in a remark between backticks; not what was typed, after "$".
PRINTED = re.compile(
    r"(?:^(?:2> )? *(?:hint: |next step: )?|`)(git blackbird(?: [^`#\n]*[^`#\s])?)(?= *(?:`|#|$))",
    re.MULTILINE,
)
# Options of the program itself, help.
OF_NO_COMMAND = re.compile(r"git blackbird (?:-.*|.* -h)")
WHOLE = CallOptions(
    agent="demo",
    stop_after_each=True,
    reviews="off",
    no_input=True,
    jobs=2,
    worktrees=True,
    cluster="local:2",
)


def require_taken(line: str) -> None:
    """Have the command's own parser read a line, with its blanks filled in."""
    filled = line.replace(" NAME", " demo").replace(" STATUS", " todo")
    name, *args = shlex.split(filled)[2:] or ["status"]
    assert name in COMMANDS, line
    try:
        load_command(name).make_context(name, args, **cli.context_settings)
    except (click.exceptions.Exit, UsageError):  # a word for a value is taken, and refused
        pass
    except click.ClickException as error:
        raise AssertionError(f"{line}: {error.format_message()}") from error


def printed() -> Iterator[str]:
    for text in (page.read_text() for page in sorted(GOLDEN.glob("*.txt"))):
        yield from PRINTED.findall(text)
    for text in (text for path in modules() for text in texts_in(path)):
        # The name alone is what the text speaks of.
        yield from (line for line in PRINTED.findall(text) if line.count(" ") > 2)


def modules() -> Iterator[Path]:
    """All of the program but the words of its commands, which know what was typed."""
    for path in sorted((ROOT / "git_blackbird").rglob("*.py")):
        if "cli" not in path.parts and path.name != "next_steps.py":
            yield path


def test_every_command_that_is_printed_is_one() -> None:
    for line in sorted(set(printed())):
        # What is left out or stands for several is no command to type.
        if not OF_NO_COMMAND.fullmatch(line) and not any(mark in line for mark in ("...", "|", "[")):
            require_taken(line)


@pytest.mark.parametrize("verb", sorted(OPTIONS_OF))
def test_next_steps_repeat_all_options_of_a_call_that_their_command_takes(verb: str) -> None:
    name = next(name for name in NAMES if f"{verb} ".startswith(f"{name} "))
    of_calls = {option for options in OPTIONS_OF.values() for option in options}
    assert {*OPTIONS_OF[verb]} == of_calls & {param.name for param in command_named(name).params}
    task = None if verb in {"execute", "plan generate", "plan refine"} else "a"
    require_taken(TaskCommand(verb, task).with_options(WHOLE).command)


def test_no_text_names_an_agent_s_option_without_its_command() -> None:
    """Who prints it does not know whether the command that was typed has it: ``resume`` has not."""
    for path in modules():
        # By itself it is a word of a command, such as that of an agent's program.
        for text in texts_in(path) - {"--agent"}:
            for found in re.finditer(r"--agent\b", text):
                before = text[: found.start()].rpartition("\n")[2]
                assert re.search(r"git blackbird (execute|restart|review run)\b[^`#]*$", before) or re.match(
                    r"(execute|restart) ", text
                ), f"{path}: {text}"


def texts_in(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_what_a_person_says_is_asked_for() -> None:
    tell = TaskCommand("resume", "a", remark="goes on", blank=MESSAGE)
    assert tell == "git blackbird resume a -e    # goes on; or -m TEXT"
    assert (tell.command, tell.runnable) == ("git blackbird resume a -e", "git blackbird resume a -F -")
    assert tell.template == "git blackbird resume a -m TEXT"
    behind = dismiss_command("-a")
    assert behind == "git blackbird review dismiss -- -a    # asks why; or --reason TEXT"
    assert (behind.runnable, behind.template) == (None, "git blackbird review dismiss --reason TEXT -- -a")
    plan = ShellLine("git -c a=b blackbird plan generate", "again", REQUEST)
    assert (plan.command, plan.runnable) == (plan.split("    ")[0], f"{plan.command} -F -")
    assert plan.template == f"{plan.command} -m TEXT"
    asked = TaskCommand("resume", "a", blank=MESSAGE).with_options(CallOptions(no_input=True))
    assert asked == "git blackbird resume a -e    # or -m TEXT"
    assert ShellLine("git blackbird execute NAME").template is None


def test_no_command_that_is_printed_has_a_blank() -> None:
    assert not [hint for hint in hints() if hint.blanks]

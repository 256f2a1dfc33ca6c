"""The options of commands that tell an agent something: its words, a file of them, or the editor."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import click

from git_blackbird.cli.context import Invocation
from git_blackbird.cli.text_option import text
from git_blackbird.controller.drafts import write_message
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import UsageError

message_options = (
    click.option("-m", "--message", type=text, help="What to tell the agent."),
    click.option(
        "-F",
        "--file",
        "message_file",
        type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
        help="Read that from a file; - is standard input.",
    ),
    click.option("-e", "--edit", "in_editor", is_flag=True, help="Write that in your editor."),
)


def with_message(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``-m``, ``-F`` and ``-e``."""
    for option in reversed(message_options):
        command = option(command)
    return command


class Message(NamedTuple):
    """What ``-m``, ``-F`` and ``-e`` gave; the editor is opened when the words are read."""

    words: str | None
    in_editor: bool

    @classmethod
    def given(cls, call: Invocation, message: str | None, file: Path | None, *, in_editor: bool) -> Self:
        """Read the options. Raises UsageError where they do not go together."""
        words = read_message(message, file)
        if in_editor and words is not None:
            raise UsageError("-e cannot be combined with -m or -F")
        if in_editor and call.no_input:
            raise UsageError("-e needs an interactive terminal", hint="-m TEXT, or leave --no-input out")
        return cls(words, in_editor)

    @property
    def is_given(self) -> bool:
        """Whether there is, or will be, something to tell."""
        return self.words is not None or self.in_editor

    @property
    def option(self) -> str:
        """The option by which it is given."""
        return "-e" if self.in_editor else "-m"

    def read(self, workspace: Workspace, task_id: str) -> str | None:
        """Give the words; from the editor they begin with the draft there is. Raises RequestError."""
        if not self.in_editor:
            return self.words
        return write_message(workspace, find_task(workspace.store.plan(), task_id).id)


def read_message(message: str | None, file: Path | None) -> str | None:
    """Give the words of ``-m`` or ``-F``, unchanged.

    Raises UsageError when both are given, the file cannot be read, or there are none in it.
    """
    if file is None:
        if message is not None and not message.strip():
            raise UsageError("-m is empty")
        return message
    if message is not None:
        raise UsageError("-m and -F cannot be combined")
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read as text: {why}") from error
    if not text.strip():
        raise UsageError(f"{file} is empty")
    return text

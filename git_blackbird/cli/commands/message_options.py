"""What the options of commands that tell an agent something gave: its words, a file of them, the editor."""

import sys
from pathlib import Path
from typing import NamedTuple, Self

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.core.drafts import write_message
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import UsageError


class MessageOptions(NamedTuple):
    """What ``-m``, ``-F`` and ``-e`` gave; the editor is opened when the words are read."""

    words: str | None
    in_editor: bool

    @classmethod
    def given(cls, call: CommandContext, message: str | None, file: str | None, *, in_editor: bool) -> Self:
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
        """Return the words; from the editor they begin with the draft there is. Raises RequestError."""
        if not self.in_editor:
            return self.words
        return write_message(workspace, find_task(workspace.store.plan(), task_id).id)


def read_message(message: str | None, file: str | None) -> str | None:
    """Return the words of ``-m`` or ``-F``, unchanged.

    Raises UsageError when both are given, the file cannot be read, or there are none in it.
    """
    if file is None:
        if message is not None and not message.strip():
            raise UsageError("-m is empty")
        return message
    if message is not None:
        raise UsageError("-m and -F cannot be combined")
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read as text: {why}") from error
    if not text.strip():
        raise UsageError(f"{file} is empty")
    return text

"""What a person is told of how a rejected change is taken back."""

from collections.abc import Iterator

from git_blackbird.messages.amounts import render_path
from git_blackbird.model.text import clean_line
from git_blackbird.model.undo import Undo


def undo_lines(undo: Undo) -> Iterator[str]:
    """Write each command, then each path that they leave alone and why."""
    yield from (f"to take the change back: {clean_line(command)}" for command in undo.commands)
    yield from (
        f"  it leaves {render_path(one.path)} as it is: {clean_line(one.reason)}" for one in undo.kept
    )

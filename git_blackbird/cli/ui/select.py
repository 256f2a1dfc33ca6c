"""Select the user interface of a call: plain lines, a terminal, or events for programs."""

import contextlib
import sys
from collections.abc import Iterator

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.cli.ui.base import BaseUI
from git_blackbird.cli.ui.writer import running_writer
from git_blackbird.controller.core.workspace import Workspace


@contextlib.contextmanager
def build_ui(call: CommandContext, workspace: Workspace, *, stream: bool) -> Iterator[BaseUI]:
    """Yield the user interface that fits the call, and leave the terminal as it was."""
    if call.output.as_json:
        from git_blackbird.cli.ui.json import JsonUI  # noqa: PLC0415  # one of three is needed

        with running_writer() as writer:
            yield JsonUI(writer, wants_output=stream)
    elif not call.no_input and is_capable_terminal(call.environment.environ):
        from git_blackbird.cli.ui.terminal import TerminalUI  # noqa: PLC0415  # questionary is for terminals

        with TerminalUI(call.output, workspace, wants_output=stream) as ui:
            yield ui
    else:
        from git_blackbird.cli.ui.plain import PlainUI  # noqa: PLC0415  # one of three is needed

        asks = not call.no_input and not _keys_go_to_pager(call)
        with running_writer() as writer:
            yield PlainUI(workspace, writer, asks=asks, wants_output=stream)


def _keys_go_to_pager(call: CommandContext) -> bool:
    """Whether a pager that git started reads the keys that would be an answer; says so once."""
    is_paged = bool(call.environment.environ.get("GIT_PAGER_IN_USE")) and not sys.stdout.isatty()
    if not is_paged or not sys.stdin.isatty():
        return False
    call.output.warn(
        "git's pager reads the keyboard, so no questions are asked",
        f"`git --no-pager blackbird {call.output.command}` asks",
    )
    return True

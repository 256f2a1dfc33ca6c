"""Which face a call wears: nobody here, plain lines, a terminal, or a program's events."""

import contextlib
import sys
from collections.abc import Iterator

from git_blackbird.cli.context import Invocation
from git_blackbird.controller.face import Face
from git_blackbird.controller.workspace import Workspace


@contextlib.contextmanager
def build_face(call: Invocation, workspace: Workspace, *, stream: bool) -> Iterator[Face]:
    """Give the face that fits how the program was called, and leave the terminal as it was."""
    if call.output.as_json:
        from git_blackbird.cli.json_face import JsonFace  # noqa: PLC0415  # one of three is needed

        yield JsonFace(call.output, wants_output=stream)
    elif sys.stdin.isatty() and sys.stdout.isatty() and not call.no_input:
        from git_blackbird.cli.terminal_face import TerminalFace  # noqa: PLC0415  # questionary is for terminals

        with TerminalFace(call.output, workspace, wants_output=stream) as face:
            yield face
    else:
        from git_blackbird.cli.line_face import LineFace  # noqa: PLC0415  # one of three is needed

        yield LineFace(call.output, asks=not call.no_input, wants_output=stream)

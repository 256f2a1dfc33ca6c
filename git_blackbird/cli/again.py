"""Asking whether a text that could not be taken is to be edited again."""

import sys

import click

from git_blackbird.cli.confirm import confirm
from git_blackbird.cli.context import Invocation
from git_blackbird.controller.editing import WantsAgain
from git_blackbird.errors import InterruptedByUserError, RequestError
from git_blackbird.model.text import clean


def asks_again(call: Invocation) -> WantsAgain:
    """Ask on a terminal; where nobody is, the answer is no."""
    ends = (sys.stdin, sys.stderr)
    is_terminal = all(stream is not None and stream.isatty() for stream in ends)
    if call.output.as_json or call.no_input or not is_terminal:
        return lambda _: False
    return _ask


def _ask(fault: RequestError) -> bool:
    try:
        click.echo(f"error: {clean(fault.message)}", err=True)
        return confirm("edit it again?", default=True, err=True)
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        raise InterruptedByUserError("interrupted") from None

"""Ask yes or no on the terminal."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_MANY = 4096


def confirm(question: str, *, default: bool, err: bool = False) -> bool:
    """Ask until the answer is yes, no, or empty for the default.

    Raises click.Abort for Ctrl+C and at the end of input.
    """
    prompt = f"{question} [{'Y/n' if default else 'y/N'}]: "
    answers = _ANSWERS | {"": default}
    try:
        while True:
            click.echo(prompt, nl=False, err=err)
            answer = answers.get(_read_line().strip().lower())
            if answer is not None:
                return answer
            click.echo("Error: invalid input", err=err)
    except KeyboardInterrupt:
        raise click.Abort from None


def _read_line() -> str:
    """Read a line once there is one.

    ``input`` misses a signal that comes just before it blocks: its handler would run after the next key. A
    terminal that is readable has a whole line.
    """
    with _signal_pipe() as woken:
        while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
            # The handlers of these signals have run, and raised nothing.
            os.read(woken, _MANY)
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line


@contextmanager
def _signal_pipe() -> Iterator[int]:
    """Yield a descriptor that is readable as soon as a signal has come for which there is a handler."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(former)
        os.close(reader)
        os.close(writer)

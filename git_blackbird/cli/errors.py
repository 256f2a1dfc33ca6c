"""How a call ends that did not simply end: every error becomes words and an exit code here."""

import errno
import os
import platform
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from git_blackbird import __version__, trace
from git_blackbird.cli.output import drop_output, flush_or_drop, print_error
from git_blackbird.cli.stdio import AppState
from git_blackbird.cli.syntax.registry import COMMANDS
from git_blackbird.errors import BlackbirdError, ElsewhereError, ExitCode, UnusableError, UsageError
from git_blackbird.messages.document import block, line, plain
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import NO_MEMORY, NO_THREAD, full_disk_hint, refusal_hint


def report_bug(error: Exception, args: Sequence[str]) -> int:
    """Write the report to a file of its own and say where it is; on standard error where there is no room."""
    try:
        folder = str(Path.cwd())
    except OSError as fault:
        folder = f"unknown: {fault.strerror}"
    report = "\n".join(
        (
            f"git-blackbird {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"arguments: {' '.join(args)}",
            f"folder: {folder}",
            "",
            "".join(traceback.format_exception(error)),
            "what it did last:",
            *trace.latest(),
        )
    )
    click.echo(line(f"fatal: a bug in git-blackbird: {type(error).__name__}: {error}").text, err=True)
    try:
        click.echo(f"hint: a report was written to {_save(report)}", err=True)
    except OSError:
        click.echo("\n".join(plain(block(report))), err=True)
    return int(ExitCode.BUG)


def _save(report: str) -> str:
    """Save the report whole or not at all, and return its path. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix="git-blackbird-bug-", suffix=".txt")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(report)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return name


def exit_code_for(error: BaseException, args: Sequence[str], root: AppState) -> int:
    """Report what happened and return the exit code."""
    code = _report(as_system_fault(error) or error, args, root)
    flush_or_drop()
    return int(code)


def _report(error: BaseException, args: Sequence[str], root: AppState) -> int:
    match error:
        # Before Python 3.12, one that comes while a class is being made is wrapped.
        case click.Abort() | KeyboardInterrupt() | EOFError() | RuntimeError(__cause__=KeyboardInterrupt()):
            click.echo("interrupted", err=True)
            return ExitCode.INTERRUPTED
        case click.ClickException():
            fault = UsageError(_message_of(error), hint=f"{_command_of(error, args)} -h")
            print_error(fault, as_json=root.as_json or "--json" in args)
            return fault.exit_code
        case BrokenPipeError():
            drop_output()
            return ExitCode.OK
        case BlackbirdError():
            if isinstance(error, ElsewhereError) and error.place is not None:
                error.hint = _command_there(error.place, args)
            if isinstance(error, UnusableError) and error.hint is None:
                cause = error.__cause__
                # One without a file is about the output, which may be lost though all was done.
                if isinstance(cause, OSError) and cause.filename is not None:
                    error.hint = refusal_hint(cause)
                error.hint = error.hint or full_disk_hint(".")
            print_error(error, as_json=root.as_json)
            return error.exit_code
        case Exception():
            return report_bug(error, args)
        case _:
            raise error


def _command_there(place: Path, args: Sequence[str]) -> str:
    """Return the command line for another worktree; without its arguments where they take several lines."""
    given = args if all(arg.isprintable() for arg in args) else args[:1]
    return " ".join(("git", "-C", shell_word(str(place)), "blackbird", *map(shell_word, given)))


def _message_of(error: click.ClickException) -> str:
    match error:
        case click.exceptions.NoArgsIsHelpError(ctx=click.Context(command=click.Group() as group) as context):
            # Its own message is the whole help.
            return f"Missing command. Choose from: {', '.join(group.list_commands(context))}"
        case _:
            return error.format_message()


def _command_of(error: click.ClickException, args: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    if context is not None:
        path: str = context.command_path
        return path
    # click's parser does not say whose option lacks its value; the program's own options have none.
    name = next((arg for arg in args if not arg.startswith("-")), None)
    return f"git blackbird {name}" if name in COMMANDS else "git blackbird"


# How Python words that the system gives it no thread, for which it has no error of its own.
_NO_THREAD = "can't start new thread"
# The system's loader of shared objects tells its reasons as text only.
_NOT_LOADED = {os.strerror(number): number for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)}


def as_system_fault(error: BaseException) -> UnusableError | None:
    """Return what to tell of an error that came of the system; None for any other."""
    match error:
        case OSError() if (hint := refusal_hint(error)) is not None:
            text = os.strerror(error.errno or 0)
            if isinstance(error.filename, str | bytes):
                text = f"cannot use {os.fsdecode(error.filename)}: {text}"
            return UnusableError(text, hint=hint)
        case MemoryError():
            return UnusableError("out of memory", hint=NO_MEMORY)
        case RuntimeError() if str(error) == _NO_THREAD:
            return UnusableError(str(error), hint=NO_THREAD)
        case ImportError():
            for text, number in _NOT_LOADED.items():
                if str(error).endswith(text):
                    what = f"cannot load a part of this program: {error}"
                    return UnusableError(what, hint=refusal_hint(OSError(number, "")))
        case _:
            pass
    return None

"""How a call ends that did not simply end: every error becomes words and an exit code here."""

from collections.abc import Sequence

import click

from git_blackbird.cli.bug_report import report_bug
from git_blackbird.cli.output import drop_output, flush_or_drop, print_error
from git_blackbird.cli.registry import COMMANDS
from git_blackbird.cli.root import Root
from git_blackbird.cli.system_faults import as_system_fault
from git_blackbird.errors import BlackbirdError, ExitCode, UsageError


def end(error: BaseException, args: Sequence[str], root: Root) -> int:
    """Say what happened and give the exit code."""
    code = _tell(as_system_fault(error) or error, args, root)
    flush_or_drop()
    return int(code)


def _tell(error: BaseException, args: Sequence[str], root: Root) -> int:
    match error:
        # Before Python 3.12, one that comes while a class is being made is wrapped.
        case click.Abort() | KeyboardInterrupt() | EOFError() | RuntimeError(__cause__=KeyboardInterrupt()):
            click.echo("interrupted", err=True)
            return ExitCode.INTERRUPTED
        case click.ClickException():
            fault = UsageError(error.format_message(), hint=f"{_command_of(error, args)} -h")
            print_error(fault, as_json=root.as_json or "--json" in args)
            return fault.exit_code
        case BrokenPipeError():
            drop_output()
            return ExitCode.OK
        case BlackbirdError():
            print_error(error, as_json=root.as_json)
            return error.exit_code
        case Exception():
            return report_bug(error, args)
        case _:
            raise error


def _command_of(error: click.ClickException, args: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    if context is not None:
        path: str = context.command_path
        return path
    # click's parser does not say whose option lacks its value; the program's own options have none.
    name = next((arg for arg in args if not arg.startswith("-")), None)
    return f"git blackbird {name}" if name in COMMANDS else "git blackbird"

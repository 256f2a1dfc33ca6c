"""The program's edge: how a process becomes this program, and the way every call ends.

Only what takes no time to load is imported at the top: until ``run`` has taken the signals, a Ctrl+C would
end in a traceback.
"""

# What `signal` is made of: to lay out the enums that it adds takes as long as all else before `run`.
import _signal  # type: ignore[import-not-found]
import sys

# The module that has this is slower to load than all that comes before the signals are taken.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from git_blackbird.controller.core.environment import Environment


def run() -> "NoReturn":
    """Run the program: the console script."""
    _interrupts_end_silently()
    try:
        begin = _prepare_process()
        code = main(sys.argv[1:], _real_world, begin)
        _interrupts_end_silently()
    except KeyboardInterrupt:  # while the error was being reported
        _interrupts_end_silently()
        code = 130
    except OSError as error:
        # Not even what reports errors can be loaded.
        sys.stderr.write(f"fatal: {error.strerror}\n")
        code = 128
    import gc  # signals first, here and below

    # Spares the end of the process the search for garbage in what it still holds.
    gc.freeze()
    sys.exit(code)


def _prepare_process() -> "Callable[[], None]":
    """Prepare streams and tracing; return what takes the signals once a command has something to lose."""
    import gc
    import os

    # Looking for garbage in what is loaded, and stays, takes a fifth of a short command's time: the command
    # goes on with it once all is loaded.
    gc.disable()

    from git_blackbird import trace
    from git_blackbird.cli.stdio import debounce_sigint, open_closed_streams, prepare_streams

    open_closed_streams()
    prepare_streams()
    trace.start(os.environ)
    return debounce_sigint


def _interrupts_end_silently() -> None:
    """Let a Ctrl+C end the process without a word: there is nothing to tidy up yet, or no more.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _real_world() -> "Environment":
    from git_blackbird.controller.core.environment import system_environment  # --help must not pay for it

    return system_environment()


def _help_width() -> int:
    """Return the width of help that click would choose: what it asks is slower to load than all else here."""
    import os  # signals first

    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else 0
        width = width or os.get_terminal_size(1).columns or 80
    except OSError:
        width = 80
    return max(min(width, 100) - 2, 50)


def main(
    args: "Sequence[str]", make_world: "Callable[[], Environment]", begin: "Callable[[], None] | None" = None
) -> int:
    """Run one command line and return its exit code; every error ends here.

    ``begin`` is called when the command is loaded, and has something to lose from then on.
    """
    import click  # signals first

    from git_blackbird.cli.stdio import AppState
    from git_blackbird.cli.syntax.registry import cli

    root = AppState(make_world, begin)
    try:
        code = cli.main(
            args=list(args),
            prog_name="git blackbird",
            complete_var="_GIT_BLACKBIRD_COMPLETE",
            terminal_width=_help_width(),
            standalone_mode=False,
            obj=root,
        )
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except SystemExit:  # completion is done
        raise
    except BaseException as error:  # noqa: BLE001  # the edge: however a call ends, it ends with a code
        from git_blackbird.cli.errors import exit_code_for  # only who fails pays for it

        return exit_code_for(error, args, root)
    return int(code or 0)

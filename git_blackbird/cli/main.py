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
        import gc  # signals first, here and below
        import os

        # Looking for garbage in what is loaded, and stays, takes a fifth of a short command's time: the
        # command goes on with it once all is loaded.
        gc.disable()

        from git_blackbird import trace
        from git_blackbird.cli.stdio import debounce_sigint, prepare_streams

        prepare_streams()
        trace.start(os.environ)
        # It takes the signals once a command has something to lose.
        code = main(sys.argv[1:], _real_world, debounce_sigint)
        _interrupts_end_silently()
    except KeyboardInterrupt:  # while the error was being reported
        _interrupts_end_silently()
        code = 130
    except OSError as error:
        # Not even what reports errors can be loaded.
        sys.stderr.write(f"fatal: {error.strerror}\n")
        code = 128
    import gc

    # Spares the end of the process the search for garbage in what it still holds.
    gc.freeze()
    sys.exit(code)


def _interrupts_end_silently() -> None:
    """Let a Ctrl+C end the process without a word: there is nothing to tidy up yet, or no more.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _real_world() -> "Environment":
    from git_blackbird.controller.core.environment import system_environment  # --help must not pay for it

    return system_environment()


def main(
    args: "Sequence[str]", make_world: "Callable[[], Environment]", begin: "Callable[[], None] | None" = None
) -> int:
    """Run one command line and return its exit code; every error ends here.

    ``begin`` is called when the command is loaded, and has something to lose from then on.
    """
    import contextlib
    import os

    import click

    from git_blackbird.cli.stdio import AppState
    from git_blackbird.cli.syntax.registry import cli

    root = AppState(make_world, begin)
    # The width of help is what click would choose: what it asks is slower to load than all else here.
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else 0
    with contextlib.suppress(OSError):
        width = width or os.get_terminal_size(1).columns
    try:
        code = cli.main(
            args=list(args),
            prog_name="git blackbird",
            complete_var="_GIT_BLACKBIRD_COMPLETE",
            terminal_width=max(min(width or 80, 100) - 2, 50),
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

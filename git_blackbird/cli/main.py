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

    from git_blackbird.controller.world import World


def run() -> "NoReturn":
    """Run the program: the console script."""
    _interrupts_end_silently()
    try:
        code = _run()
    except OSError as error:
        # Not even what tells of errors can be loaded.
        sys.stderr.write(f"fatal: {error.strerror}\n")
        code = 128
    sys.exit(code)


def _run() -> int:
    from git_blackbird.cli.presses import interrupt_once_a_press  # noqa: PLC0415  # signals first
    from git_blackbird.cli.streams import open_closed_streams, prepare_streams  # noqa: PLC0415
    from git_blackbird.errors import ExitCode  # noqa: PLC0415

    open_closed_streams()
    prepare_streams()
    try:
        code = main(sys.argv[1:], _real_world, begin=interrupt_once_a_press)
        _interrupts_end_silently()
    except KeyboardInterrupt:  # while the end was being told
        _interrupts_end_silently()
        return ExitCode.INTERRUPTED
    return code


def _interrupts_end_silently() -> None:
    """Let a Ctrl+C end the process without a word: there is nothing to tidy up yet, or no more.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _real_world() -> "World":
    from git_blackbird.controller.world import real_world  # noqa: PLC0415  # --help must not pay for it

    return real_world()


def _begin() -> None:
    """Leave the signals as they are."""


def main(
    args: "Sequence[str]", make_world: "Callable[[], World]", begin: "Callable[[], None]" = _begin
) -> int:
    """Run one command line and give its exit code; every error ends here.

    ``begin`` is called when the command is loaded, and has something to lose from then on.
    """
    import click  # noqa: PLC0415  # signals first

    from git_blackbird.cli.registry import cli  # noqa: PLC0415
    from git_blackbird.cli.root import Root  # noqa: PLC0415

    root = Root(make_world, begin)
    try:
        code = cli.main(args=list(args), prog_name="git blackbird", standalone_mode=False, obj=root)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except BaseException as error:  # noqa: BLE001  # the edge: however a call ends, it ends with a code
        from git_blackbird.cli.endings import end  # noqa: PLC0415  # only who fails pays for it

        return end(error, args, root)
    return int(code or 0)

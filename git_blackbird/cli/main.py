"""The program's edge: how a process becomes this program, and the way every call ends.

Only what takes no time to load is imported at the top: until ``run`` has taken the signals, a Ctrl+C would
end in a traceback.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from git_blackbird.cli.presses import interrupt_once_a_press, interrupts_end_silently

if TYPE_CHECKING:
    from git_blackbird.controller.world import World


def run() -> NoReturn:
    """Run the program: the console script."""
    interrupts_end_silently()
    from git_blackbird.cli.streams import open_closed_streams, prepare_streams  # noqa: PLC0415  # signals first
    from git_blackbird.errors import ExitCode  # noqa: PLC0415

    open_closed_streams()
    prepare_streams()
    try:
        interrupt_once_a_press()
        code = main(sys.argv[1:], _real_world)
        interrupts_end_silently()
    except KeyboardInterrupt:  # while the end was being told
        interrupts_end_silently()
        code = ExitCode.INTERRUPTED
    sys.exit(code)


def _real_world() -> "World":
    from git_blackbird.controller.world import real_world  # noqa: PLC0415  # --help must not pay for it

    return real_world()


def main(args: Sequence[str], make_world: "Callable[[], World]") -> int:
    """Run one command line and give its exit code; every error ends here."""
    import click  # noqa: PLC0415  # signals first

    from git_blackbird.cli.registry import cli  # noqa: PLC0415
    from git_blackbird.cli.root import Root  # noqa: PLC0415

    root = Root(make_world)
    try:
        code = cli.main(args=list(args), prog_name="git blackbird", standalone_mode=False, obj=root)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except BaseException as error:  # noqa: BLE001  # the edge: however a call ends, it ends with a code
        from git_blackbird.cli.endings import end  # noqa: PLC0415  # only who fails pays for it

        return end(error, args, root)
    return int(code or 0)

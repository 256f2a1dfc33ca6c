"""``tui``: the application, where there is a terminal for it; elsewhere what ``status`` prints."""

import gc

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.streams import is_capable_terminal
from git_blackbird.controller.watching import Watch
from git_blackbird.errors import ExitCode
from git_blackbird.model.collector import collector_paused


@click.command()
@command_options
def tui(call: Invocation) -> ExitCode:
    """Open the plan in a full-screen application.

    It shows where things stand and what agents do, runs them, and asks for every decision; `?` lists its
    keys. Without a terminal, with --json and with --no-input, what `status` prints is printed instead.
    """
    if call.output.as_json or call.no_input or not is_capable_terminal(call.world.environ):
        from git_blackbird.cli.read_commands import show_status  # noqa: PLC0415  # else not needed

        return show_status(call)
    with collector_paused():
        # What is wrong with the repository or the plan is said before the screen is taken.
        watch = Watch(call.world)
        watch.plan()
        from git_blackbird.tui.app import BlackbirdApp  # noqa: PLC0415  # only who opens it pays for it

        # All of that stays: the search for garbage need not halt the screen for it.
        gc.freeze()
    app = BlackbirdApp(call.world, watch)
    app.run()
    if app.fault is not None:
        raise app.fault
    return ExitCode(app.return_code or 0)

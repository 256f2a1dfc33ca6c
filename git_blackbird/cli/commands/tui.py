"""``tui``: the application, where there is a terminal for it; elsewhere what ``status`` prints."""

import gc

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.gc import gc_paused


def tui(call: CommandContext) -> ExitCode:
    if call.output.as_json or call.no_input or not is_capable_terminal(call.environment.environ):
        from git_blackbird.cli.commands.status_list import show_status  # noqa: PLC0415  # else not needed

        return show_status(call)
    with gc_paused():
        # What is wrong with the repository or the plan is said before the screen is taken.
        watch = WorktreeWatcher(call.environment)
        watch.plan()
        from git_blackbird.tui.app import BlackbirdApp  # noqa: PLC0415  # only who opens it pays for it

        # All of that stays: the search for garbage need not halt the screen for it.
        gc.freeze()
    app = BlackbirdApp(call.environment, watch)
    app.run()
    if app.fault is not None:
        raise app.fault
    return ExitCode(app.return_code or 0)

"""``status`` and ``tui``. The first loads no asyncio or pygit2."""

import gc
import sys

from git_blackbird.cli.output import CommandContext, confirm, ignore_broken_pipe
from git_blackbird.cli.render.status import conflict_section, status_document
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.controller.core.guards import runs_elsewhere
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.system import gc_paused


def status(call: CommandContext, *, conflicts: bool = False) -> ExitCode:
    workspace = call.workspace
    # All that was read is in use until the command ends: nor is it searched for garbage once.
    with gc_paused():
        state = workspace.plan_state()
        overview = build_overview(workspace, state)
        gc.freeze()
    elsewhere = list(runs_elsewhere(workspace))
    call.show(status_document(overview, elsewhere, call))
    found = None
    if conflicts:
        from git_blackbird.controller.queries.conflicts import find_conflicts  # loads pygit2

        found = list(find_conflicts(workspace, state))
        call.show([conflict_section(found)])
    if call.as_json:
        from git_blackbird.cli.printed.status import StatusOutput

        call.data(StatusOutput(overview, elsewhere, found))
    call.warn_records(overview.unreadable)
    call.warn_problems(workspace)
    call.warn_uncounted(workspace)
    return ExitCode.OK


def tui(call: CommandContext) -> ExitCode:
    if call.as_json or call.no_input or not is_capable_terminal(call.environment.environ):
        return status(call)
    with gc_paused():
        from git_blackbird.controller.queries.watcher import WorktreeWatcher  # readers need it not

        # What is wrong with the repository or the plan is said before the screen is taken.
        _offer_plan(call)
        watch = WorktreeWatcher(call.environment)
        watch.plan()
        from git_blackbird.tui.app import BlackbirdApp  # only who opens it pays for it

        # All of that stays: the search for garbage need not halt the screen for it.
        gc.freeze()
    app = BlackbirdApp(call.environment, watch)
    app.run_with_priority()
    if app.paused_text:
        with ignore_broken_pipe():
            call.print(app.paused_text)
    if app.fault is not None:
        raise app.fault
    return ExitCode(app.return_code or 0)


def _offer_plan(call: CommandContext) -> None:
    """Offer to make a plan where there is none."""
    workspace = call.workspace
    if workspace.store.plan_bytes() is not None or not call.can_confirm(sys.stdout):
        return
    from git_blackbird.cli.commands.plan import init  # only who has no plan needs it

    if confirm("there is no plan here yet: make one, as `git blackbird init` does?", default=True):
        init(call, hooks=None, statuses=None)

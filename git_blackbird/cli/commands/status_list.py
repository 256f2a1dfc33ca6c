"""The commands status, list and tui. The first two load no asyncio or pygit2."""

import gc
import sys

from git_blackbird.cli.output import CommandContext, confirm, ignore_broken_pipe
from git_blackbird.cli.render.status import conflict_lines, status_lines
from git_blackbird.cli.render.tables import label_cell, render_table
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.controller.core.guards import runs_elsewhere
from git_blackbird.controller.queries.status import (
    Filter,
    build_overview,
    stopped_tasks,
    tree_of_tasks,
)
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.format import agent_words
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.plan.graph import state_label
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status


def status(call: CommandContext, *, conflicts: bool = False) -> ExitCode:
    workspace = call.workspace
    # All that was read is in use until the command ends: nor is it searched for garbage once.
    with gc_paused():
        state = workspace.plan_state()
        overview = build_overview(workspace, state)
        gc.freeze()
    elsewhere = list(runs_elsewhere(workspace))
    call.lines(status_lines(overview, elsewhere, call))
    found = None
    if conflicts:
        from git_blackbird.controller.queries.conflicts import find_conflicts  # loads pygit2

        found = list(find_conflicts(workspace, state))
        call.lines(conflict_lines(found))
    call.data("status:StatusOutput", overview, other_worktrees=elsewhere, conflicts=found)
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


def list_command(
    call: CommandContext,
    *,
    which: str | None,
    status_name: str | None,
    tree: bool,
) -> ExitCode:
    if status_name is not None and which in {"ready", "blocked"}:
        raise UsageError(f"--status and --{which} do not go together")
    workspace = call.workspace
    with gc_paused():
        state = workspace.plan_state()
        gc.freeze()
    plan = state.plan
    wanted = Filter(
        everything=which == "all",
        only_ready=which == "ready",
        only_blocked=which == "blocked",
        status=None if status_name is None else Status(status_name),
        stopped=stopped_tasks(state),
    )
    rows = (
        tree_of_tasks(plan, wanted)
        if tree
        else [(0, task) for _, task in plan.walk() if wanted.admits(plan, task)]
    )
    listed = [(depth, task, state_label(plan, task, wanted.stopped)) for depth, task in rows]
    fields = [("  " * depth + task.id, label_cell(word), _title(task)) for depth, task, word in listed]
    empty = "no tasks" if which in {None, "all"} else f"no {which} tasks"
    if plan.tasks and which is None and status_name is None:
        empty = "no task is open: all are done or skipped; --all lists them"
    call.lines(render_table(fields, call.columns) or [empty])
    call.data("plan:ListOutput", listed)
    call.warn_problems(workspace)
    call.warn_uncounted(workspace)
    return ExitCode.OK


def _title(task: Task) -> str:
    named = agent_words(task)
    return clean_line(task.title) + (f"  [{named}]" if named else "")

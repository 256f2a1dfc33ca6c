"""``list``. It loads no asyncio or pygit2."""

import gc

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.queries.listing import Filter, labels_by_records, tree_of_tasks
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.format import agent_words, label_span
from git_blackbird.messages.document import line, table
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.plan.graph import state_label
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status


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
        labels=labels_by_records(state),
    )
    rows = (
        tree_of_tasks(plan, wanted)
        if tree
        else [(0, task) for _, task in plan.walk() if wanted.admits(plan, task)]
    )
    listed = [(depth, task, state_label(plan, task, wanted.labels)) for depth, task in rows]
    fields = [("  " * depth + task.id, label_span(word), _title(task)) for depth, task, word in listed]
    empty = "no tasks" if which in {None, "all"} else f"no {which} tasks"
    if plan.tasks and which is None and status_name is None:
        empty = "no task is open: all are done or skipped; --all lists them"
    call.show([table(fields) if fields else line(empty)])
    if call.as_json:
        from git_blackbird.cli.printed.tasks import ListOutput

        call.data(ListOutput(listed))
    call.warn_problems(workspace)
    call.warn_uncounted(workspace)
    return ExitCode.OK


def _title(task: Task) -> str:
    named = agent_words(task)
    return task.title + (f"  [{named}]" if named else "")

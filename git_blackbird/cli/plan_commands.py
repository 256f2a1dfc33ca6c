"""Commands that make, check and change the plan."""

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.resets import show_reset
from git_blackbird.cli.text_option import text
from git_blackbird.controller.plan_edits import NewTask, add_task, init_config, init_plan, plan_file_faults
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.errors import ExitCode
from git_blackbird.model.plan import Status
from git_blackbird.model.text import clean


@click.command()
@click.option(
    "--hooks/--no-hooks", default=None, help="Install the post-commit hook, or do not offer to; see `hooks`."
)
@command_options
def init(call: Invocation, *, hooks: bool | None) -> ExitCode:
    """Make a plan to start from."""
    workspace = open_workspace(call.world)
    if hooks:
        call.world.require_person("change the hooks")
    made = init_plan(workspace)
    place = workspace.layout.plan
    call.output.say(f"{'created plan' if made else 'plan already exists'}: {clean(str(place))}")
    config = init_config(workspace) if made else None
    if config is not None:
        call.output.say(f"stops after each task: {clean(str(config))} (execution.stopAfterEachTask)")
    if made:
        call.output.say("next: git blackbird add --title TEXT --prompt TEXT")
    hook = _install_hook(call, wanted=hooks)
    made_config = None if config is None else str(config)
    call.output.data({"plan": str(place), "created": made, "config": made_config, "hook": hook})
    return ExitCode.OK


def _install_hook(call: Invocation, *, wanted: bool | None) -> str | None:
    """Install the hook where that is wanted, or agreed to when it is offered; gives what was done."""
    if wanted is False:
        return None
    from git_blackbird.cli.hooks_command import install_aloud, offer_hook  # noqa: PLC0415  # often not wanted

    done = install_aloud(call) if wanted else offer_hook(call)
    return None if done is None else done.outcome.value


@click.command()
@command_options
def validate(call: Invocation) -> ExitCode:
    """Check the plan file; every fault in one go."""
    workspace = open_workspace(call.world)
    faults = plan_file_faults(workspace)
    if faults:
        call.output.say(f"invalid plan: {clean(str(workspace.layout.plan))}")
        for fault in faults:
            call.output.say(clean(f"- {fault}"))
        call.output.say(f"validation failed: {len(faults)} fault{'s' if len(faults) > 1 else ''}")
    else:
        call.output.say("OK")
    call.output.data({"valid": not faults, "faults": [fault._asdict() for fault in faults]})
    return ExitCode.UNUSABLE if faults else ExitCode.OK


@click.command()
@click.option("--id", "task_id", metavar="ID", help="The id; made when not given.")
@click.option("--title", type=text, required=True, help="What the task is, in a line.")
@click.option("--description", type=text, default="", help="What it is about.")
@click.option("--prompt", type=text, default="", help="What its agent is to do.")
@click.option("--notes", type=text, default=None, help="Notes for people.")
@click.option(
    "--ac", "criteria", type=text, multiple=True, metavar="TEXT", help="An acceptance criterion; repeatable."
)
@click.option(
    "--dep", "deps", multiple=True, metavar="ID", help="A task that must be done before; repeatable."
)
@click.option("--parent", metavar="ID", help="The parent task.")
@click.option("--index", type=int, help="The place among the parent's children, from 0.")
@command_options
def add(
    call: Invocation,
    /,
    task_id: str | None,
    criteria: tuple[str, ...],
    **told: "str | int | tuple[str, ...] | None",
) -> ExitCode:
    """Add a task to the plan."""
    new = NewTask(id=task_id, acceptance_criteria=criteria, **told)  # type: ignore[arg-type]  # click's own types
    task = add_task(open_workspace(call.world), new)
    call.output.say(f"added {task.id}")
    call.output.data({"id": task.id})
    return ExitCode.OK


@click.command("set-status")
@click.argument("task_id", metavar="TASK")
@click.argument("status", type=click.Choice([status.value for status in Status]), metavar="STATUS")
@command_options
def set_status_command(call: Invocation, task_id: str, status: str) -> ExitCode:
    """Set a task's status by hand.

    STATUS is one of todo, queued, in_progress, waiting_user, blocked, done, failed, skipped. The task's
    runs are overtaken by it: they stay in history and count for nothing else.
    """
    from git_blackbird.controller.status_changes import set_status  # noqa: PLC0415  # loads what runs agents

    workspace = open_workspace(call.world)
    workspace.require_settings()
    show_reset(
        call.output, set_status(workspace, task_id, Status(status)), f"updated {task_id} status to {status}"
    )
    return ExitCode.OK

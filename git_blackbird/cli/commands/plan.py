"""Commands that make, check and change the plan."""

from typing import TYPE_CHECKING

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.stops import show_status_change
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.plan.edit import NewTask, add_task, init_config, init_plan, plan_file_faults
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.status import Status

if TYPE_CHECKING:
    from git_blackbird.controller.setup.install import HookAction


def init(call: CommandContext, *, hooks: bool | None) -> ExitCode:
    workspace = open_workspace(call.environment)
    if hooks:
        call.environment.forbid_agents("change the hooks")
    made = init_plan(workspace)
    place = workspace.paths.plan
    call.output.print(f"{'created plan' if made else 'plan already exists'}: {strip_controls(str(place))}")
    config = init_config(workspace) if made else None
    if config is not None:
        call.output.print(
            f"stops after each task: {strip_controls(str(config))} (execution.stopAfterEachTask)"
        )
    if made:
        call.output.print("next: git blackbird add --title TEXT --prompt TEXT")
    hook = _install_hook(call, wanted=hooks)
    call.output.data("plan:InitOutput", plan=place, created=made, config=config, hook=hook)
    return ExitCode.OK


def _install_hook(call: CommandContext, *, wanted: bool | None) -> "HookAction | None":
    """Install the hook if that is wanted, or accepted when offered; return what was done."""
    if wanted is False:
        return None
    from git_blackbird.cli.commands.hooks import install_hook_and_report, offer_hook  # noqa: PLC0415  # often not wanted

    done = install_hook_and_report(call) if wanted else offer_hook(call)
    return None if done is None else done.outcome


def validate(call: CommandContext) -> ExitCode:
    workspace = open_workspace(call.environment)
    faults = plan_file_faults(workspace)
    if faults:
        call.output.print(f"invalid plan: {strip_controls(str(workspace.paths.plan))}")
        for fault in faults:
            call.output.print(strip_controls(f"- {fault}"))
        call.output.print(f"validation failed: {len(faults)} fault{'s' if len(faults) > 1 else ''}")
    else:
        call.output.print("OK")
    call.output.data("plan:ValidateOutput", valid=not faults, faults=faults)
    return ExitCode.UNUSABLE if faults else ExitCode.OK


def add(
    call: CommandContext,
    /,
    task_id: str | None,
    criteria: tuple[str, ...],
    **told: "str | int | tuple[str, ...] | None",
) -> ExitCode:
    new = NewTask(id=task_id, acceptance_criteria=criteria, **told)  # type: ignore[arg-type]  # click's own types
    task = add_task(open_workspace(call.environment), new)
    call.output.print(f"added {task.id}")
    call.output.data("plan:AddOutput", id=task.id)
    return ExitCode.OK


def set_status_command(call: CommandContext, task_id: str, status: str) -> ExitCode:
    from git_blackbird.controller.plan.status_changes import set_status  # noqa: PLC0415  # loads what runs agents

    workspace = open_workspace(call.environment)
    workspace.require_settings()
    show_status_change(
        call.output, set_status(workspace, task_id, Status(status)), f"updated {task_id} status to {status}"
    )
    return ExitCode.OK

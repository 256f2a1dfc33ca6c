"""The command ``demo``: the whole flow in a repository made for it."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.cli.commands.run import run_loop
from git_blackbird.cli.commands.status_list import show_status
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.stops import show_status_change, show_stop
from git_blackbird.cli.syntax.setup import DEMO_FOLDER
from git_blackbird.cli.ui.json import JsonUI
from git_blackbird.cli.ui.plain import PlainUI
from git_blackbird.cli.ui.scripted import ScriptedUI
from git_blackbird.cli.ui.select import build_ui
from git_blackbird.cli.ui.writer import running_writer
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.engine.commands import ResumeRequest, execute_loop, resume_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.plan.status_changes import reset_task
from git_blackbird.controller.setup.demo import make_demo
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.model.entities.status import Status
from git_blackbird.model.views.stop import Stop, StopReason

_MAX_ROUNDS = 5


def demo(call: CommandContext, *, folder: str | None, auto: bool) -> ExitCode:
    shown = Path(folder or DEMO_FOLDER)
    place = call.environment.cwd / shown
    inside = call._replace(environment=make_demo(call.environment, place))
    workspace = open_workspace(inside.environment)
    call.output.print(
        f"made a repository with a plan of {len(workspace.store.plan().tasks)} tasks: {_path(shown)}"
    )
    code = _rehearse(inside, workspace) if auto else _execute(inside, workspace)
    _show_status(inside)
    _point_on(call, shown, workspace)
    return code


def _execute(call: CommandContext, workspace: Workspace) -> ExitCode:
    """Do what ``execute`` does."""
    with build_ui(call, workspace, stream=False) as ui:
        stop = run_loop(workspace, "demo", execute_loop(workspace, ui, (), None))
    return show_stop(call.output, stop, ui.shown_reviews)


def _rehearse(call: CommandContext, workspace: Workspace) -> ExitCode:
    """Execute until nothing is due, going on with what stopped it."""
    step = _EXECUTE
    for _ in range(_MAX_ROUNDS):
        stop = _perform(call, workspace, step)
        code, following = stop.exit_code, _next_step(call, workspace, stop)
        if following is None:
            break
        step = following
    return code


class _DemoStep(NamedTuple):
    """A command of the rehearsal, and what it does."""

    command: str
    prepare: Callable[[Workspace, UserInterface], Loop]


_EXECUTE = _DemoStep(EXECUTE, lambda workspace, ui: execute_loop(workspace, ui, (), None))


def _resume(task_id: TaskId) -> _DemoStep:
    request = ResumeRequest(task_id)
    command = task_command("resume", task_id)
    return _DemoStep(command, lambda workspace, ui: resume_loop(workspace, ui, request))


def _perform(call: CommandContext, workspace: Workspace, step: _DemoStep) -> Stop:
    """Do what a command does, with answers from the script."""
    call.output.print(f"$ {step.command}")
    with _rehearsed(call, workspace) as ui:
        stop = run_loop(workspace, "demo", step.prepare(workspace, ui))
    show_stop(call.output, stop, ui.shown_reviews)
    return stop


def _next_step(call: CommandContext, workspace: Workspace, stop: Stop) -> _DemoStep | None:
    """Return the next step; a task whose failure ended the call is reset."""
    if stop.held and stop.held[0].resume:
        return _resume(stop.held[0].resume[0])
    if stop.reason is StopReason.FAILED and stop.task_id is not None:
        call.output.print(f"$ git blackbird retry {stop.task_id}")
        show_status_change(call.output, reset_task(workspace, stop.task_id), f"reset {stop.task_id} to todo")
        return _EXECUTE
    return _EXECUTE if _EXECUTE.command in stop.next_steps else None


@contextmanager
def _rehearsed(call: CommandContext, workspace: Workspace) -> Iterator[ScriptedUI]:
    as_json = call.output.as_json
    with running_writer() as writer:
        shown: UserInterface = (
            JsonUI(writer, wants_output=False)
            if as_json
            else PlainUI(workspace, writer, asks=False, wants_output=False)
        )
        yield ScriptedUI(shown, writer, as_json=as_json)


def _show_status(call: CommandContext) -> None:
    call.output.print("\n$ git blackbird status")
    output = replace(call.output, command="status", environment=call.environment)
    show_status(call._replace(output=output))


def _point_on(call: CommandContext, shown: Path, workspace: Workspace) -> None:
    """Name the commands that look further."""
    histories = workspace.plan_state().histories
    runs = [run for history in histories.values() for run in history.own]
    call.output.print("\nlook further:")
    call.output.print(f"  cd {shlex.quote(_path(shown))}")
    call.output.print("  git blackbird list --all --tree")
    if runs:
        first = min(runs, key=lambda run: run.sort_key)
        call.output.print(f"  git blackbird runs {first.task_id}")
        call.output.print(f"  git blackbird runs {first.task_id} {first.id}")
        call.output.print(
            f"  git diff refs/blackbird/runs/{first.id}:base refs/blackbird/runs/{first.id}:head"
        )
    for task_id in (task_id for task_id in sorted(histories) if histories[task_id].reviews):
        call.output.print(f"  {task_command('review show', task_id)}")
    if any(task.status is not Status.DONE for task in workspace.store.plan().leaves()):
        call.output.print("  git blackbird execute    # goes on with whatever is due")


def _path(path: Path) -> str:
    return strip_controls(str(path))

"""The command ``demo``: the whole flow in a repository made for it."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.demo_face import RehearsedFace
from git_blackbird.cli.faces import ToldReviews, build_face
from git_blackbird.cli.json_face import JsonFace
from git_blackbird.cli.line_face import LineFace
from git_blackbird.cli.registry import cli
from git_blackbird.cli.resets import show_reset
from git_blackbird.cli.root import Root
from git_blackbird.cli.running import run_loop
from git_blackbird.cli.stops import show_stop
from git_blackbird.cli.writer import running_writer
from git_blackbird.controller.demo import DEMO_FOLDER, make_demo, read_findings
from git_blackbird.controller.face import Face
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.requests import ResumeRequest, execute_loop, resume_loop
from git_blackbird.controller.status_changes import reset_task
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode
from git_blackbird.model.commands import EXECUTE, task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.text import clean

_MAX_ROUNDS = 5


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    metavar="D",
    help=f"Where to make the repository; {DEMO_FOLDER} here when not given.",
)
@click.option("--auto", is_flag=True, help="Answer everything by itself, and show the commands for it.")
@command_options
def demo(call: Invocation, *, folder: Path | None, auto: bool) -> ExitCode:
    """Try everything in a repository made for it, with an agent that needs no account.

    Nothing outside that repository is touched.
    """
    shown = folder or Path(DEMO_FOLDER)
    place = call.world.cwd / shown
    inside = call._replace(world=make_demo(call.world, place))
    workspace = open_workspace(inside.world)
    call.output.say(
        f"made a repository with a plan of {len(workspace.store.plan().tasks)} tasks: {_path(shown)}"
    )
    code = _rehearse(inside, workspace) if auto else _execute(inside, workspace)
    _show_status(inside)
    _point_on(call, shown, workspace)
    return code


def _execute(call: Invocation, workspace: Workspace) -> ExitCode:
    """Do what ``execute`` does."""
    with build_face(call, workspace, stream=False) as face:
        told = ToldReviews(face)
        stop = run_loop(workspace, "demo", *execute_loop(workspace, told, (), None))
    return show_stop(call.output, stop, told.runs)


def _rehearse(call: Invocation, workspace: Workspace) -> ExitCode:
    """Execute until nothing is due, going on with what stopped it; then see what the records say of it."""
    step = _EXECUTE
    for _ in range(_MAX_ROUNDS):
        stop = _perform(call, workspace, step)
        code, following = stop.exit_code, _next_step(call, workspace, stop)
        if following is None:
            break
        step = following
    findings = read_findings(workspace)
    call.output.say("\nthe records say:")
    for finding in findings:
        call.output.say(f"  {'ok' if finding.holds else 'NOT SO'}: {clean(finding.text)}")
    call.output.event("findings", {"findings": [{"text": one.text, "holds": one.holds} for one in findings]})
    return code if all(one.holds for one in findings) else code or ExitCode.FAILED


class _Step(NamedTuple):
    """A command of the rehearsal, and what it does."""

    command: str
    prepare: Callable[[Workspace, Face], tuple[Loop, Opening]]


_EXECUTE = _Step(EXECUTE, lambda workspace, face: execute_loop(workspace, face, (), None))


def _resume(task_id: TaskId) -> _Step:
    request = ResumeRequest(task_id)
    command = task_command("resume", task_id)
    return _Step(command, lambda workspace, face: resume_loop(workspace, face, request))


def _perform(call: Invocation, workspace: Workspace, step: _Step) -> Stop:
    """Do what a command does, before a face that answers by itself."""
    call.output.say(f"$ {step.command}")
    with _rehearsed(call, workspace) as face:
        told = ToldReviews(face)
        stop = run_loop(workspace, "demo", *step.prepare(workspace, told))
    show_stop(call.output, stop, told.runs)
    return stop


def _next_step(call: Invocation, workspace: Workspace, stop: Stop) -> _Step | None:
    """Give what gets on from here; a task whose failure ended the call is reset."""
    if stop.held and stop.held[0].resume:
        return _resume(stop.held[0].resume[0])
    if stop.reason is StopReason.FAILED and stop.task_id is not None:
        call.output.say(f"$ git blackbird retry {stop.task_id}")
        show_reset(call.output, reset_task(workspace, stop.task_id), f"reset {stop.task_id} to todo")
        return _EXECUTE
    return _EXECUTE if _EXECUTE.command in stop.next_steps else None


@contextmanager
def _rehearsed(call: Invocation, workspace: Workspace) -> Iterator[Face]:
    as_json = call.output.as_json
    with running_writer() as writer:
        shown: Face = (
            JsonFace(call.output, writer, wants_output=False)
            if as_json
            else LineFace(workspace, writer, asks=False, wants_output=False)
        )
        yield RehearsedFace(shown, writer, as_json=as_json)


def _show_status(call: Invocation) -> None:
    call.output.say("\n$ git blackbird status")
    args = ["status", *(["--json"] if call.output.as_json else [])]
    cli.main(
        args=args,
        prog_name="git blackbird",
        standalone_mode=False,
        obj=Root(lambda: call.world, lambda: None),
    )


def _point_on(call: Invocation, shown: Path, workspace: Workspace) -> None:
    """Name the commands that look further."""
    histories = workspace.store.image().histories
    runs = [run for history in histories.values() for run in history.own]
    call.output.say("\nlook further:")
    call.output.say(f"  cd {shlex.quote(_path(shown))}")
    call.output.say("  git blackbird list --all --tree")
    if runs:
        first = min(runs, key=lambda run: run.sort_key)
        call.output.say(f"  git blackbird runs {first.task_id}")
        call.output.say(f"  git blackbird runs {first.task_id} {first.id}")
        call.output.say(f"  git diff refs/blackbird/runs/{first.id}:base refs/blackbird/runs/{first.id}:head")
    for task_id in (task_id for task_id in sorted(histories) if histories[task_id].reviews):
        call.output.say(f"  {task_command('review show', task_id)}")
    if any(task.status is not Status.DONE for task in workspace.store.plan().leaves()):
        call.output.say("  git blackbird execute    # goes on with whatever is due")


def _path(path: Path) -> str:
    return clean(str(path))

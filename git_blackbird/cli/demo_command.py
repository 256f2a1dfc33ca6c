"""The command ``demo``: the whole flow in a repository made for it."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.demo_face import RehearsedFace
from git_blackbird.cli.faces import build_face
from git_blackbird.cli.json_face import JsonFace
from git_blackbird.cli.line_face import LineFace
from git_blackbird.cli.main import cli
from git_blackbird.cli.resets import show_reset
from git_blackbird.cli.root import Root
from git_blackbird.cli.running import run_loop
from git_blackbird.cli.stops import show_stop
from git_blackbird.cli.writer import running_writer
from git_blackbird.controller.demo import DEMO_FOLDER, make_demo, read_findings
from git_blackbird.controller.face import Face
from git_blackbird.controller.requests import execute_loop, reset_task
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode
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
        stop = run_loop(workspace, "demo", *execute_loop(workspace, face, (), None))
    return show_stop(call.output, stop)


def _rehearse(call: Invocation, workspace: Workspace) -> ExitCode:
    """Execute until nothing is due, retrying what failed; then see what the records say of it."""
    for _ in range(_MAX_ROUNDS):
        call.output.say("$ git blackbird execute")
        with _rehearsed(call, workspace) as face:
            stop = run_loop(workspace, "demo", *execute_loop(workspace, face, (), None))
        code = show_stop(call.output, stop)
        if not _retry(call, workspace, stop):
            break
    findings = read_findings(workspace)
    call.output.say("\nthe records say:")
    for finding in findings:
        call.output.say(f"  {'ok' if finding.holds else 'NOT SO'}: {clean(finding.text)}")
    call.output.event("findings", {"findings": [{"text": one.text, "holds": one.holds} for one in findings]})
    return code if all(one.holds for one in findings) else code or ExitCode.FAILED


def _retry(call: Invocation, workspace: Workspace, stop: Stop) -> bool:
    """Reset the task whose failure ended the call; says whether there is one."""
    if stop.reason is not StopReason.FAILED or stop.task_id is None:
        return False
    call.output.say(f"$ git blackbird retry {stop.task_id}")
    show_reset(call.output, reset_task(workspace, stop.task_id), f"reset {stop.task_id} to todo")
    return True


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
    cli.main(args=args, prog_name="git blackbird", standalone_mode=False, obj=Root(lambda: call.world))


def _point_on(call: Invocation, shown: Path, workspace: Workspace) -> None:
    """Name the commands that look further."""
    runs = [run for history in workspace.store.image().histories.values() for run in history.own]
    call.output.say("\nlook further:")
    call.output.say(f"  cd {shlex.quote(_path(shown))}")
    call.output.say("  git blackbird list --all --tree")
    if runs:
        first = min(runs, key=lambda run: run.sort_key)
        call.output.say(f"  git blackbird runs {first.task_id}")
        call.output.say(f"  git blackbird runs {first.task_id} {first.id}")
        call.output.say(f"  git diff refs/blackbird/runs/{first.id}:base refs/blackbird/runs/{first.id}:head")
    if any(task.status is not Status.DONE for task in workspace.store.plan().leaves()):
        call.output.say("  git blackbird execute    # goes on with whatever is due")


def _path(path: Path) -> str:
    return clean(str(path))

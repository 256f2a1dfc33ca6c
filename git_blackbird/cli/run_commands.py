"""Commands that run agents or decide what becomes of what they did."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.faces import ToldReviews, build_face
from git_blackbird.cli.resets import show_reset
from git_blackbird.cli.running import run_loop
from git_blackbird.cli.stops import show_forecast, show_recorded, show_stop
from git_blackbird.cli.text_option import text
from git_blackbird.controller.decide import record_decision
from git_blackbird.controller.face import Face
from git_blackbird.controller.forecast import forecast
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.requests import (
    ResumeRequest,
    execute_loop,
    reset_task,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.answers import parse_answer_options
from git_blackbird.model.choices import Decision
from git_blackbird.model.ids import RunId
from git_blackbird.model.run import DecisionState
from git_blackbird.model.settings import AGENT_NAMES, KEYS, Given, Layer

Prepare = Callable[[Workspace, Face], tuple[Loop, Opening]]

_DECISIONS = {
    "approve": DecisionState.APPROVED_CONTINUE,
    "request_changes": DecisionState.CHANGES_REQUESTED,
    "reject": DecisionState.REJECTED,
}
agent_option = click.option("--agent", type=click.Choice(AGENT_NAMES), help="The agent for new runs.")
stop_option = click.option(
    "--stop-after-each/--no-stop", "stop", default=None, help="Stop for a decision after each task, or not."
)
reviews_option = click.option(
    "--reviews",
    metavar="MODE",
    type=click.Choice(KEYS["reviews.mode"].choices),
    help="Have each change reviewed, spec and code side by side, or not: parallel, off.",
)
stream_option = click.option("--stream", is_flag=True, help="Show what the agent does and says as it comes.")
message_options = (
    click.option("-m", "--message", type=text, help="What to tell the agent."),
    click.option(
        "-F",
        "--file",
        "message_file",
        type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
        help="Read that from a file; - is standard input.",
    ),
)


def with_message(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``-m`` and ``-F``."""
    for option in reversed(message_options):
        command = option(command)
    return command


@click.command()
@click.argument("task_ids", nargs=-1, metavar="[TASK]...")
@click.option("--dry-run", is_flag=True, help="Only say what would be started, in order.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N starts.")
@stop_option
@reviews_option
@agent_option
@stream_option
@command_options
def execute(
    call: Invocation,
    task_ids: tuple[str, ...],
    *,
    dry_run: bool,
    limit: int | None,
    stop: bool | None,
    reviews: str | None,
    agent: str | None,
    stream: bool,
) -> ExitCode:
    """Run what is ready; stop where someone must decide.

    With TASKs only these leaves are run.
    """
    workspace = open_workspace(call.world, given_flags(agent=agent, stop=stop, reviews=reviews))
    if dry_run:
        return show_forecast(call.output, forecast(workspace, task_ids, limit))
    return run_prepared(
        call, workspace, lambda face: execute_loop(workspace, face, task_ids, limit), stream=stream
    )


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--all", "below", is_flag=True, help="TASK is a parent: all below it that its review flagged.")
@with_message
@click.option(
    "--answer",
    "answers",
    type=text,
    multiple=True,
    metavar="ID=VALUE",
    help="Answer one question; repeatable.",
)
@stop_option
@reviews_option
@stream_option
@command_options
def resume(
    call: Invocation,
    task_id: str,
    *,
    below: bool,
    message: str | None,
    message_file: Path | None,
    answers: tuple[str, ...],
    stop: bool | None,
    reviews: str | None,
    stream: bool,
) -> ExitCode:
    """Go on in the same agent session: answers, feedback, or just continue.

    With --all, TASK is a parent: every leaf below it that a review flagged hears what it found.
    """
    told = read_message(message, message_file)
    if below and (told is not None or answers):
        raise UsageError("--all tells each task what its review found; -m and --answer go with one task")
    request = ResumeRequest(task_id, told, parse_answer_options(answers))
    workspace = open_workspace(call.world, given_flags(stop=stop, reviews=reviews))
    if below:
        return run_prepared(
            call, workspace, lambda face: resume_all_loop(workspace, face, task_id), stream=stream
        )
    return run_prepared(call, workspace, lambda face: resume_loop(workspace, face, request), stream=stream)


@click.command()
@click.argument("task_id", metavar="TASK")
@with_message
@stop_option
@reviews_option
@agent_option
@stream_option
@command_options
def restart(
    call: Invocation,
    task_id: str,
    *,
    message: str | None,
    message_file: Path | None,
    stop: bool | None,
    reviews: str | None,
    agent: str | None,
    stream: bool,
) -> ExitCode:
    """Start a task again in a new session, told everything it is owed."""
    told = read_message(message, message_file)
    workspace = open_workspace(call.world, given_flags(agent=agent, stop=stop, reviews=reviews))
    return run_prepared(
        call, workspace, lambda face: restart_loop(workspace, face, task_id, told), stream=stream
    )


@click.command()
@click.argument("task_id", metavar="TASK")
@command_options
def retry(call: Invocation, task_id: str) -> ExitCode:
    """Make a task todo again; start nothing.

    For tasks that failed, were rejected, are paused, waiting or blocked.
    """
    workspace = open_workspace(call.world)
    workspace.require_settings()
    show_reset(call.output, reset_task(workspace, task_id), f"reset {task_id} to todo")
    return ExitCode.OK


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--approve", is_flag=True, help="Take the change.")
@click.option("--request-changes", is_flag=True, help="Send -m TEXT to the session.")
@click.option("--reject", is_flag=True, help="Fail the task; no file is changed.")
@click.option("--run", "run_id", metavar="RUN", help="Decide only if this is still the run in question.")
@with_message
@command_options
def decide(
    call: Invocation,
    /,
    task_id: str,
    *,
    run_id: str | None,
    message: str | None,
    message_file: Path | None,
    **wanted: bool,
) -> ExitCode:
    """Record a decision on a task's run, from anywhere.

    An execute that waits at its question goes on with it at once, else the next one does.
    """
    told = read_message(message, message_file)
    states = [_DECISIONS[name] for name, is_wanted in wanted.items() if is_wanted]
    if len(states) != 1:
        what = "say what is decided" if not states else "a decision is one thing"
        raise UsageError(what, hint="one of --approve, --request-changes -m TEXT, --reject")
    if told is not None and states[0] is not DecisionState.CHANGES_REQUESTED:
        raise UsageError("-m goes with --request-changes")
    workspace = open_workspace(call.world)
    workspace.require_settings()
    decision = Decision(states[0], told)
    return show_recorded(
        call.output, record_decision(workspace, task_id, decision, None if run_id is None else RunId(run_id))
    )


def read_message(message: str | None, file: Path | None) -> str | None:
    """Give the words of ``-m`` or ``-F``, unchanged.

    Raises UsageError when both are given, the file cannot be read, or there are none in it.
    """
    if file is None:
        if message is not None and not message.strip():
            raise UsageError("-m is empty")
        return message
    if message is not None:
        raise UsageError("-m and -F say two things; give one")
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be read as text: {why}") from error
    if not text.strip():
        raise UsageError(f"{file} is empty")
    return text


def given_flags(
    *, agent: str | None = None, stop: bool | None = None, reviews: str | None = None
) -> list[Given]:
    """Give the options that overrule the configuration."""
    given = {"agent": agent, "execution.stopAfterEachTask": stop, "reviews.mode": reviews}
    return [
        Given(key, value, Layer.FLAG, "command line") for key, value in given.items() if value is not None
    ]


def run_prepared(
    call: Invocation,
    workspace: Workspace,
    prepare: Callable[[Face], tuple[Loop, Opening]],
    *,
    stream: bool,
) -> ExitCode:
    """Run a loop before the face that fits the call, and say how it ended."""
    for problem in workspace.problems:
        if not problem.fatal:
            call.output.warn(str(problem), problem.hint)
    wants_stream = stream or call.world.environ.get("BLACKBIRD_AGENT_STREAM") == "1"
    with build_face(call, workspace, stream=wants_stream) as face:
        told = ToldReviews(face)
        stop = run_loop(workspace, call.output.command, *prepare(told))
    return show_stop(call.output, stop, told.runs)

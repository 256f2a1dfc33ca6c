"""Commands that run agents or decide what becomes of what they did."""

from collections.abc import Callable
from pathlib import Path

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.faces import ToldReviews, build_face
from git_blackbird.cli.message_options import Message, with_message
from git_blackbird.cli.resets import show_reset
from git_blackbird.cli.running import run_loop
from git_blackbird.cli.stops import show_forecast, show_recorded, show_stop
from git_blackbird.cli.text_option import text
from git_blackbird.controller.decide import record_decision
from git_blackbird.controller.face import Face
from git_blackbird.controller.forecast import forecast
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.pending import find_pending
from git_blackbird.controller.requests import (
    ResumeRequest,
    execute_loop,
    require_tellable,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.status_changes import reset_task
from git_blackbird.controller.workspace import Workspace, find_task, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.answers import parse_answer_options
from git_blackbird.model.choices import Decision
from git_blackbird.model.ids import RunId
from git_blackbird.model.keys import AGENT_NAMES, KEYS
from git_blackbird.model.run import DecisionState
from git_blackbird.model.settings import Given, Layer

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
    workspace = _open(call, given_flags(agent=agent, stop=stop, reviews=reviews))
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
    in_editor: bool,
    answers: tuple[str, ...],
    stop: bool | None,
    reviews: str | None,
    stream: bool,
) -> ExitCode:
    """Go on in the same agent session: answers, feedback, or just continue.

    With --all, TASK is a parent: every leaf below it that a review flagged hears what it found.
    """
    told = Message.given(call, message, message_file, in_editor=in_editor)
    if below and (told.is_given or answers):
        raise UsageError("--all tells each task what its review found; -m and --answer go with one task")
    answered = parse_answer_options(answers)
    workspace = _open(call, given_flags(stop=stop, reviews=reviews))
    if below:
        return run_prepared(
            call, workspace, lambda face: resume_all_loop(workspace, face, task_id), stream=stream
        )
    if in_editor:
        require_tellable(workspace, task_id, is_answered=bool(answered))
    request = ResumeRequest(task_id, told.read(workspace, task_id), answered)
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
    in_editor: bool,
    stop: bool | None,
    reviews: str | None,
    agent: str | None,
    stream: bool,
) -> ExitCode:
    """Start a task again in a new session, with everything pending."""
    told = Message.given(call, message, message_file, in_editor=in_editor)
    workspace = _open(call, given_flags(agent=agent, stop=stop, reviews=reviews))
    words = told.read(workspace, task_id)
    return run_prepared(
        call, workspace, lambda face: restart_loop(workspace, face, task_id, words), stream=stream
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
@click.option("--reject", is_flag=True, help="Fail the task; files stay as they are.")
@click.option("--any-branch", is_flag=True, help="Approve though HEAD has left the branch of the run.")
@click.option("--run", "run_id", metavar="RUN", help="Decide only if this is still the run in question.")
@with_message
@command_options
def decide(
    call: Invocation,
    /,
    task_id: str,
    *,
    any_branch: bool,
    run_id: str | None,
    message: str | None,
    message_file: Path | None,
    in_editor: bool,
    **wanted: bool,
) -> ExitCode:
    """Record a decision on a task's run, from anywhere.

    An execute that waits at its question goes on with it at once, else the next one does.
    """
    told = Message.given(call, message, message_file, in_editor=in_editor)
    states = [_DECISIONS[name] for name, is_wanted in wanted.items() if is_wanted]
    if len(states) != 1:
        what = "name a decision" if not states else "choose one decision"
        raise UsageError(what, hint="one of --approve, --request-changes -m TEXT, --reject")
    if told.is_given and states[0] is not DecisionState.CHANGES_REQUESTED:
        raise UsageError(f"{told.option} goes with --request-changes")
    if any_branch and states[0] is not DecisionState.APPROVED_CONTINUE:
        raise UsageError("--any-branch goes with --approve")
    workspace = open_workspace(call.world)
    workspace.require_settings()
    run = None if run_id is None else RunId(run_id)
    if in_editor:
        image = workspace.store.image()
        require_tellable(workspace, find_pending(image, find_task(image.plan, task_id).id, run).task_id)
    decision = Decision(states[0], told.read(workspace, task_id), branch_confirmed=any_branch)
    return show_recorded(call.output, record_decision(workspace, task_id, decision, run))


def given_flags(
    *, agent: str | None = None, stop: bool | None = None, reviews: str | None = None
) -> list[Given]:
    """Give the options that overrule the configuration."""
    given = {"agent": agent, "execution.stopAfterEachTask": stop, "reviews.mode": reviews}
    return [
        Given(key, value, Layer.FLAG, "command line") for key, value in given.items() if value is not None
    ]


def _open(call: Invocation, flags: list[Given]) -> Workspace:
    return open_workspace(call.world, flags, no_input=call.no_input)


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

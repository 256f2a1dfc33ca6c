"""``review``: how the reviews of a parent or a change stand; have it reviewed now; let it go without."""

from collections.abc import Callable
from typing import NamedTuple

import click

from git_blackbird.cli.change_review_view import change_review_lines, change_review_view_data
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.review_view import review_lines, review_view_data
from git_blackbird.cli.text_option import text
from git_blackbird.cli.troubles import warn_faults, warn_problems
from git_blackbird.controller.review_views import view_change_review, view_review
from git_blackbird.controller.workspace import Workspace, find_task, open_workspace
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.model.commands import task_command
from git_blackbird.model.keys import AGENT_NAMES
from git_blackbird.model.plan import Task
from git_blackbird.model.settings import Given, Layer

_XML = "xml"


class _Asked(NamedTuple):
    """What one call asks for: the task, and the options, each of one action."""

    task: str
    agent: str | None
    stream: bool
    reason: str | None
    form: str | None


def _show(call: Invocation, asked: _Asked) -> ExitCode:
    workspace = open_workspace(call.world)
    task = find_task(workspace.store.plan(), asked.task)
    if task.is_leaf:
        _show_change(call, workspace, task, asked.form)
    elif asked.form == _XML:
        raise UsageError("the review of a parent has no XML", hint=f"git blackbird review show {task.id}")
    else:
        view = view_review(workspace, asked.task)
        for line in review_lines(view):
            call.output.say(line)
        call.output.data(review_view_data(view, call.world.timestamp()))
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _show_change(call: Invocation, workspace: Workspace, task: Task, form: str | None) -> None:
    view = view_change_review(workspace, task)
    if form == _XML:
        from git_blackbird.messages.merged_review import render_merged_xml  # noqa: PLC0415  # only XML pays

        if view.merged is None:
            raise RequestError(
                f"no change of {task.id} was reviewed", hint=task_command("review run", task.id)
            )
        call.output.say(render_merged_xml(view.merged).rstrip("\n"))
        return
    for line in change_review_lines(view, call.output):
        call.output.say(line)
    call.output.data(change_review_view_data(view, call.world.timestamp()))
    warn_faults(call.output, view.faults)


def _run(call: Invocation, asked: _Asked) -> ExitCode:
    # Loaded here: who shows a review needs nothing of what makes one.
    from git_blackbird.cli.run_commands import given_flags, run_prepared  # noqa: PLC0415  # as said
    from git_blackbird.controller.reviews import review_loop  # noqa: PLC0415  # as said

    flags = [*given_flags(agent=asked.agent), *_reviewers(asked.agent)]
    workspace = open_workspace(call.world, flags, no_input=call.no_input)
    return run_prepared(
        call, workspace, lambda face: review_loop(workspace, face, asked.task), stream=asked.stream
    )


def _reviewers(agent: str | None) -> list[Given]:
    """Give the flags that let an agent make both reviews of a change, whatever the configuration says."""
    keys = () if agent is None else ("reviews.spec.agent", "reviews.code.agent")
    return [Given(key, agent, Layer.FLAG, "command line") for key in keys]


def _dismiss(call: Invocation, asked: _Asked) -> ExitCode:
    from git_blackbird.controller.reviews import dismiss_review  # noqa: PLC0415  # as above

    if asked.reason is None:
        raise UsageError("say why: the reason is kept with the review", hint="--reason TEXT")
    workspace = open_workspace(call.world)
    workspace.require_settings()
    done = dismiss_review(workspace, asked.task, asked.reason)
    call.output.say(f"dismissed the review of {done.parent.id}; it is {done.parent.status.value}")
    if done.dropped:
        call.output.say(f"  its feedback is no longer pending for: {', '.join(done.dropped)}")
    call.output.data(
        {
            "task": done.parent.id,
            "status": done.parent.status.value,
            "run": done.run.id,
            "reason": asked.reason.strip(),
            "dropped": list(done.dropped),
        }
    )
    return ExitCode.OK


_ACTIONS: dict[str, Callable[[Invocation, _Asked], ExitCode]] = {
    "show": _show,
    "run": _run,
    "dismiss": _dismiss,
}


@click.command()
@click.argument("action", type=click.Choice(list(_ACTIONS)), metavar="show|run|dismiss")
@click.argument("task", metavar="TASK")
@click.option("--agent", type=click.Choice(AGENT_NAMES), help="With run: the agent that reviews.")
@click.option("--stream", is_flag=True, help="With run: show what the reviewer does and says as it comes.")
@click.option("--format", "form", type=click.Choice(["text", _XML]), help="With show of a leaf: the form.")
@click.option("--reason", type=text, metavar="TEXT", help="With dismiss: why it may be done all the same.")
@command_options
def review(
    call: Invocation,
    action: str,
    task: str,
    *,
    agent: str | None,
    stream: bool,
    form: str | None,
    reason: str | None,
) -> ExitCode:
    """Show how the reviews of TASK stand, have it reviewed, or let it go.

    Where reviews.mode is parallel, `execute` has the change of each leaf reviewed, against the task and as
    code. When all children of a parent are done, it has the parent reviewed against its acceptance
    criteria. show tells what was found. run has TASK reviewed now, also again. dismiss lets a parent be done
    without a passing review of its children as they are, and keeps the reason.
    """
    if action != "run" and (agent is not None or stream):
        raise UsageError("--agent and --stream go with `review run`")
    if action != "dismiss" and reason is not None:
        raise UsageError("--reason goes with `review dismiss`")
    if form is not None and (action != "show" or call.output.as_json):
        raise UsageError("--format goes with `review show`, without --json")
    return _ACTIONS[action](call, _Asked(task, agent, stream, reason, form))

"""``review``: how the review of a parent stands; have it reviewed now; let it go without."""

from collections.abc import Callable
from typing import NamedTuple

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.review_view import review_lines, review_view_data
from git_blackbird.cli.troubles import warn_problems
from git_blackbird.controller.review_views import view_review
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.settings import AGENT_NAMES


class _Asked(NamedTuple):
    """What one call asks for: the parent, and the options, each of one action."""

    parent: str
    agent: str | None
    stream: bool
    reason: str | None


def _show(call: Invocation, asked: _Asked) -> ExitCode:
    workspace = open_workspace(call.world)
    view = view_review(workspace, asked.parent)
    for line in review_lines(view):
        call.output.say(line)
    call.output.data(review_view_data(view, call.world.timestamp()))
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _run(call: Invocation, asked: _Asked) -> ExitCode:
    # Loaded here: who shows a review needs nothing of what makes one.
    from git_blackbird.cli.run_commands import given_flags, run_prepared  # noqa: PLC0415
    from git_blackbird.controller.reviews import review_loop  # noqa: PLC0415

    workspace = open_workspace(call.world, given_flags(agent=asked.agent, stop=None))
    return run_prepared(
        call, workspace, lambda face: review_loop(workspace, face, asked.parent), stream=asked.stream
    )


def _dismiss(call: Invocation, asked: _Asked) -> ExitCode:
    from git_blackbird.controller.reviews import dismiss_review  # noqa: PLC0415  # as above

    if asked.reason is None:
        raise UsageError("say why: the reason is kept with the review", hint="--reason TEXT")
    workspace = open_workspace(call.world)
    workspace.require_settings()
    done = dismiss_review(workspace, asked.parent, asked.reason)
    call.output.say(f"dismissed the review of {done.parent.id}; it is {done.parent.status.value}")
    if done.dropped:
        call.output.say(f"  what it found is no longer owed to: {', '.join(done.dropped)}")
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
@click.argument("parent", metavar="PARENT")
@click.option("--agent", type=click.Choice(AGENT_NAMES), help="With run: the agent that reviews.")
@click.option("--stream", is_flag=True, help="With run: show what the reviewer does and says as it comes.")
@click.option("--reason", metavar="TEXT", help="With dismiss: why it may be done all the same.")
@command_options
def review(
    call: Invocation, action: str, parent: str, *, agent: str | None, stream: bool, reason: str | None
) -> ExitCode:
    """Show how the review of PARENT stands, have it reviewed, or let it go.

    When all children of a parent are done, `execute` has it reviewed against its acceptance criteria. show
    tells the verdict and what it left owed. run has it reviewed now, also again. dismiss lets it be done
    without a passing review of its children as they are, and keeps the reason.
    """
    if action != "run" and (agent is not None or stream):
        raise UsageError("--agent and --stream go with `review run`")
    if action != "dismiss" and reason is not None:
        raise UsageError("--reason goes with `review dismiss`")
    return _ACTIONS[action](call, _Asked(parent, agent, stream, reason))

"""``review``: show the reviews of a parent or a change, run them, or dismiss them."""

from collections.abc import Callable
from typing import NamedTuple

from git_blackbird.cli.output import CommandContext, warn_faults, warn_problems
from git_blackbird.cli.render.reviews import change_review_lines, review_lines
from git_blackbird.controller.core.workspace import Workspace, find_task, open_workspace
from git_blackbird.controller.queries.reviews import view_change_review, view_review
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.plan import Task

_XML = "xml"


class ReviewArgs(NamedTuple):
    """What one call asks for: the task, and the options, each of one action."""

    task: str
    agent: str | None
    stream: bool
    reason: str | None
    form: str | None


def _show(call: CommandContext, asked: ReviewArgs) -> ExitCode:
    workspace = open_workspace(call.environment)
    task = find_task(workspace.store.plan(), asked.task)
    if task.is_leaf:
        _show_change(call, workspace, task, asked.form)
    elif asked.form == _XML:
        raise UsageError("the review of a parent has no XML", hint=f"git blackbird review show {task.id}")
    else:
        view = view_review(workspace, asked.task)
        call.output.lines(review_lines(view))
        call.output.data("runs:ParentReviewOutput", view)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _show_change(call: CommandContext, workspace: Workspace, task: Task, form: str | None) -> None:
    view = view_change_review(workspace, task)
    if form == _XML:
        from git_blackbird.messages.display.merged_review import render_merged_xml  # noqa: PLC0415  # only XML pays

        if view.merged is None:
            raise RequestError(
                f"no change of {task.id} was reviewed", hint=task_command("review run", task.id)
            )
        call.output.print(render_merged_xml(view.merged).rstrip("\n"))
        return
    call.output.lines(change_review_lines(view, call.output))
    call.output.data("runs:ChangeReviewOutput", view)
    warn_faults(call.output, view.faults)


def _run(call: CommandContext, asked: ReviewArgs) -> ExitCode:
    # Loaded here: who shows a review needs nothing of what makes one.
    from git_blackbird.cli.commands.run import flag_overrides, run_loop_command  # noqa: PLC0415  # as said
    from git_blackbird.controller.engine.commands import review_loop  # noqa: PLC0415  # as said

    flags = [*flag_overrides(agent=asked.agent), *_reviewers(asked.agent)]
    workspace = open_workspace(call.environment, flags, no_input=call.no_input)
    return run_loop_command(
        call, workspace, lambda ui: review_loop(workspace, ui, asked.task), stream=asked.stream
    )


def _reviewers(agent: str | None) -> list[RawSetting]:
    """Return the flags that let an agent make both reviews of a change, whatever the configuration says."""
    keys = () if agent is None else ("reviews.spec.agent", "reviews.code.agent")
    return [RawSetting(key, agent, Layer.FLAG, "command line") for key in keys]


def _dismiss(call: CommandContext, asked: ReviewArgs) -> ExitCode:
    from git_blackbird.controller.engine.commands import dismiss_review  # noqa: PLC0415  # as above

    if asked.reason is None:
        raise UsageError("say why: the reason is kept with the review", hint="--reason TEXT")
    workspace = open_workspace(call.environment)
    workspace.require_settings()
    done = dismiss_review(workspace, asked.task, asked.reason)
    call.output.print(f"dismissed the review of {done.parent.id}; it is {done.parent.status.value}")
    if done.dropped:
        call.output.print(f"  its feedback is no longer pending for: {', '.join(done.dropped)}")
    call.output.data("runs:DismissOutput", done, reason=asked.reason.strip())
    return ExitCode.OK


_ACTIONS: dict[str, Callable[[CommandContext, ReviewArgs], ExitCode]] = {
    "show": _show,
    "run": _run,
    "dismiss": _dismiss,
}


def review(
    call: CommandContext,
    action: str,
    task: str,
    *,
    agent: str | None,
    stream: bool,
    form: str | None,
    reason: str | None,
) -> ExitCode:
    if action != "run" and (agent is not None or stream):
        raise UsageError("--agent and --stream go with `review run`")
    if action != "dismiss" and reason is not None:
        raise UsageError("--reason goes with `review dismiss`")
    if form is not None and (action != "show" or call.output.as_json):
        raise UsageError("--format goes with `review show`, without --json")
    return _ACTIONS[action](call, ReviewArgs(task, agent, stream, reason, form))

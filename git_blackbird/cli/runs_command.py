"""``runs``: what happened, what it cost, what it changed; the saved streams; the diff."""

import json
import sys

import click

from git_blackbird.cli.clean_stream import colored_pieces
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.porcelain import print_records, record_options, run_records
from git_blackbird.cli.runs_view import run_lines, run_row, runs_of_all_table, runs_table
from git_blackbird.cli.troubles import (
    unconfirmed_data,
    warn_faults,
    warn_problems,
    warn_strays,
    warn_unconfirmed,
)
from git_blackbird.controller import run_views
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.history import History
from git_blackbird.model.recorded import plain
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean

NEWEST = 20
_RAW_MODES = {"log": "raw log", "follow": "raw follow"}


@click.command()
@click.argument("task_id", metavar="[TASK", required=False)
@click.argument("run_id", metavar="[RUN]]", required=False)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help=f"At most N runs; {NEWEST} over all tasks."
)
@click.option("--log", "mode", flag_value="log", help="Show what its agent did and said, in the pager.")
@click.option("--follow", "mode", flag_value="follow", help="Show what a live run does, until it ends.")
@click.option(
    "--diff", "mode", flag_value="diff", help="Show the full diff: of RUN, or of the task's change."
)
@click.option(
    "--since-request", is_flag=True, help="With --diff: what changed since you last requested changes."
)
@click.option("--accept", "mode", flag_value="accept", help="Let the record of RUN count, whoever wrote it.")
@click.option("--raw", is_flag=True, help="With --log and --follow: both streams as they were printed.")
@record_options
@command_options
def runs(
    call: Invocation,
    *,
    task_id: str | None,
    run_id: str | None,
    limit: int | None,
    mode: str | None,
    raw: bool,
    since_request: bool,
    record_end: str | None,
) -> ExitCode:
    """Show what happened, what it cost, what it changed; newest first.

    Without TASK the newest runs over all tasks; with RUN, or the first characters of its id, that run
    whole. --log and --follow take the newest run when RUN is not given; --diff then shows everything
    since the task was last approved, which is what a decision is about.
    """
    if raw and mode not in _RAW_MODES:
        raise UsageError("--raw goes with --log or --follow")
    if since_request and (mode != "diff" or run_id is not None):
        raise UsageError("--since-request goes with --diff of a task", hint="git blackbird runs TASK --diff")
    _check_usage(call, task_id, run_id, limit, mode)
    if record_end is not None and (run_id is not None or mode is not None):
        raise UsageError("--porcelain goes with a list of runs, not with one run")
    workspace = open_workspace(call.world)
    if record_end is not None:
        _print_records(call, workspace, task_id, limit, record_end)
    elif task_id is None:
        _list_all(call, workspace, limit or NEWEST)
    elif mode is not None:
        if since_request:
            mode = "since request"
        return _show_mode(call, workspace, task_id, run_id, _RAW_MODES[mode] if raw else mode)
    elif run_id is not None:
        _show_one(call, workspace, task_id, run_id)
    else:
        _list_task(call, workspace, task_id, limit)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _check_usage(
    call: Invocation, task_id: str | None, run_id: str | None, limit: int | None, mode: str | None
) -> None:
    if mode is not None and task_id is None:
        raise UsageError(f"--{mode} needs a TASK", hint=f"git blackbird runs TASK --{mode}")
    if mode is not None and call.output.as_json:
        raise UsageError(f"--{mode} is text; it does not go with --json")
    if limit is not None and (run_id is not None or mode is not None):
        raise UsageError("--limit goes with a list of runs, not with one run")


def _print_records(
    call: Invocation, workspace: Workspace, task_id: str | None, limit: int | None, record_end: str
) -> None:
    if task_id is None:
        found = run_views.newest_runs(workspace, limit or NEWEST)
    else:
        found = run_views.runs_of_task(workspace, task_id, limit)
    print_records(call.output, run_records(found.runs), record_end)
    _warn(call, found)


def _list_all(call: Invocation, workspace: Workspace, limit: int) -> None:
    found = run_views.newest_runs(workspace, limit)
    now = call.world.timestamp()
    for line in runs_of_all_table(found.runs, now, call.output.columns) or ["no runs yet"]:
        call.output.say(line)
    _say_rows(call, found, now)


def _list_task(call: Invocation, workspace: Workspace, task_id: str, limit: int | None) -> None:
    found = run_views.runs_of_task(workspace, task_id, limit)
    now = call.world.timestamp()
    for line in runs_table(found.runs, now, call.output.columns) or [f"no runs found for {clean(task_id)}"]:
        call.output.say(line)
    if found.more:
        call.output.say(f"and {found.more} older")
    _say_rows(call, found, now)


def _say_rows(call: Invocation, found: run_views.RunList, now: str) -> None:
    unreadable = [{"path": fault.path, "what": fault.what} for fault in found.faults]
    call.output.data(
        {
            "runs": [run_row(run, now) for run in found.runs],
            "older": found.more,
            "unreadable": unreadable,
            "unconfirmed": unconfirmed_data(found.unconfirmed),
            "strays": list(found.strays),
        }
    )
    _warn(call, found)


def _warn(call: Invocation, found: run_views.RunList) -> None:
    warn_faults(call.output, found.faults)
    warn_unconfirmed(call.output, found.unconfirmed)
    warn_strays(call.output, found.strays)


def _show_one(call: Invocation, workspace: Workspace, task_id: str, run_id: str) -> None:
    from git_blackbird.cli.commits_view import commit_lines, commits_data  # noqa: PLC0415  # no list shows commits
    from git_blackbird.controller.commit_views import commits_of, with_noted  # noqa: PLC0415

    run = run_views.find_run(workspace, run_views.task_history(workspace, task_id), task_id, run_id)
    logs = run_views.log_places(workspace, run)
    shown = with_noted(workspace, run)
    commits = commits_of(workspace, [shown])
    for line in run_lines(run, call.output, told_text(run), logs, list(commit_lines(commits))):
        call.output.say(line)
    row = run_row(shown, call.world.timestamp())
    record = plain(run)
    told = {"told": told_text(run), "logs": logs, "commits": commits_data(commits), "record": record}
    call.output.data({"run": row, **told})


def told_text(run: Run) -> str:
    """Give what a run's agent was told, less what every agent is told, and the project snapshot."""
    if run.prompt is not None:
        return run.prompt
    if isinstance(told := run.context.get("review"), dict):
        return str(told.get("prompt") or "")
    if "task" not in run.context:
        return ""
    # A list of runs shows nothing of it.
    from git_blackbird.messages.prompts import render_prompt  # noqa: PLC0415
    from git_blackbird.messages.review_context import render_review_prompt  # noqa: PLC0415

    quiet = {"systemPrompt", "projectSnapshot"}
    told = {name: value for name, value in run.context.items() if name not in quiet}
    try:
        return render_review_prompt(told) if "parentReview" in told else render_prompt(told)
    except (AttributeError, KeyError, TypeError):
        # A record of another program, or one that a hand edited.
        return json.dumps(told, ensure_ascii=False, indent=2)


def _show_mode(
    call: Invocation, workspace: Workspace, task_id: str, run_id: str | None, mode: str
) -> ExitCode:
    if mode == "accept":
        return _accept(call, workspace, task_id, run_id)
    history = run_views.task_history(workspace, task_id)
    sys.stdout.flush()
    if mode == "since request":
        return _ended(run_views.show_since_request(workspace, history, task_id, colored_pieces))
    if mode == "diff":
        return _show_diff(workspace, history, task_id, run_id)
    from git_blackbird.cli.log_view import SHOWS  # noqa: PLC0415  # only this pays for loading the agents

    SHOWS[mode](call, workspace, run_views.find_run(workspace, history, task_id, run_id))
    return ExitCode.OK


def _accept(call: Invocation, workspace: Workspace, task_id: str, run_id: str | None) -> ExitCode:
    from git_blackbird.controller.accepting import accept_record  # noqa: PLC0415  # readers write nothing

    if run_id is None:
        raise UsageError("--accept needs a RUN", hint=f"git blackbird runs {task_id}")
    accepted = accept_record(workspace, task_id, run_id)
    state = "" if accepted.status is None else f"; {task_id} is {accepted.status}"
    call.output.say(clean(f"it counts now: {accepted.path}{state}"))
    return ExitCode.OK


def _show_diff(workspace: Workspace, history: History, task_id: str, run_id: str | None) -> ExitCode:
    if run_id is None:
        code = run_views.show_change(workspace, history, task_id, colored_pieces)
    else:
        code = run_views.show_run_diff(
            workspace, run_views.find_run(workspace, history, task_id, run_id), colored_pieces
        )
    return _ended(code)


def _ended(code: int) -> ExitCode:
    return ExitCode.OK if code == 0 else ExitCode.UNUSABLE

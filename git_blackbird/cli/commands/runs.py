"""``runs``: what happened, what it cost, what it changed; the saved streams; the diff."""

import json
import sys

from git_blackbird.cli.output import (
    CommandContext,
    warn_faults,
    warn_problems,
    warn_strays,
    warn_unconfirmed,
)
from git_blackbird.cli.render.porcelain import print_records, record_end_of, run_records
from git_blackbird.cli.render.runs import run_lines, runs_table
from git_blackbird.cli.syntax.show import NEWEST
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries import runs as run_queries
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.run import Run

_RAW_MODES = {"log": "raw log", "follow": "raw follow"}


def runs(
    call: CommandContext,
    *,
    task_id: str | None,
    run_id: str | None,
    limit: int | None,
    mode: str | None,
    raw: bool,
    since_request: bool,
    porcelain: bool,
    nul: bool,
) -> ExitCode:
    record_end = record_end_of(call.output, porcelain=porcelain, nul=nul)
    if raw and mode not in _RAW_MODES:
        raise UsageError("--raw goes with --log or --follow")
    if since_request and (mode != "diff" or run_id is not None):
        raise UsageError("--since-request goes with --diff of a task", hint="git blackbird runs TASK --diff")
    _check_usage(call, task_id, run_id, limit, mode)
    if record_end is not None and (run_id is not None or mode is not None):
        raise UsageError("--porcelain goes with a list of runs, not with one run")
    workspace = open_workspace(call.environment)
    if task_id is not None and mode is not None:
        wanted = "since request" if since_request else _RAW_MODES[mode] if raw else mode
        return _show_mode(call, workspace, task_id, run_id, wanted)
    if task_id is not None and run_id is not None:
        _show_one(call, workspace, task_id, run_id)
    else:
        _list(call, workspace, task_id, limit, record_end)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _check_usage(
    call: CommandContext, task_id: str | None, run_id: str | None, limit: int | None, mode: str | None
) -> None:
    if mode is not None and task_id is None:
        raise UsageError(f"--{mode} needs a TASK", hint=f"git blackbird runs TASK --{mode}")
    if mode is not None and call.output.as_json:
        raise UsageError(f"--{mode} is text; it does not go with --json")
    if limit is not None and (run_id is not None or mode is not None):
        raise UsageError("--limit goes with a list of runs, not with one run")


def _list(
    call: CommandContext, workspace: Workspace, task_id: str | None, limit: int | None, record_end: str | None
) -> None:
    if task_id is None:
        found, none = run_queries.newest_runs(workspace, limit or NEWEST), "no runs yet"
    else:
        found = run_queries.runs_of_task(workspace, task_id, limit)
        none = f"no runs found for {strip_controls(task_id)}"
    if record_end is None:
        now, columns = call.environment.timestamp(), call.output.columns
        table = runs_table(found.runs, now, columns, of_all_tasks=task_id is None)
        call.output.lines(table or [none])
        if found.more:
            call.output.print(f"and {found.more} older")
        call.output.data("runs:RunsOutput", found)
    else:
        print_records(call.output, run_records(found.runs), record_end)
    warn_faults(call.output, found.faults)
    warn_unconfirmed(call.output, found.unconfirmed)
    warn_strays(call.output, found.strays)


def _show_one(call: CommandContext, workspace: Workspace, task_id: str, run_id: str) -> None:
    from git_blackbird.cli.render.commits import commit_lines  # noqa: PLC0415  # no list shows commits
    from git_blackbird.controller.queries.commits import commits_of, with_noted  # noqa: PLC0415

    run = run_queries.find_run(workspace, run_queries.task_history(workspace, task_id), task_id, run_id)
    logs = run_queries.log_places(workspace, run)
    shown = with_noted(workspace, run)
    commits = commits_of(workspace, [shown])
    call.output.lines(run_lines(run, call.output, told_text(run), logs, list(commit_lines(commits))))
    call.output.data(
        "runs:OneRunOutput", run=shown, prompt=told_text(run), logs=logs, commits=commits, record=run
    )


def told_text(run: Run) -> str:
    """Return a run's prompt, less the system prompt and the project snapshot."""
    if run.prompt is not None:
        return run.prompt
    if isinstance(told := run.context.get("review"), dict):
        return str(told.get("prompt") or "")
    if "task" not in run.context:
        return ""
    # A list of runs shows nothing of it.
    from git_blackbird.messages.outgoing.prompts import render_prompt  # noqa: PLC0415
    from git_blackbird.messages.outgoing.review_context import render_review_prompt  # noqa: PLC0415

    quiet = {"systemPrompt", "projectSnapshot"}
    told = {name: value for name, value in run.context.items() if name not in quiet}
    try:
        return render_review_prompt(told) if "parentReview" in told else render_prompt(told)
    except (AttributeError, KeyError, TypeError):
        # A record of another program, or one that a hand edited.
        return json.dumps(told, ensure_ascii=False, indent=2)


def _show_mode(
    call: CommandContext, workspace: Workspace, task_id: str, run_id: str | None, mode: str
) -> ExitCode:
    if mode == "accept":
        return _accept(call, workspace, task_id, run_id)
    history = run_queries.task_history(workspace, task_id)
    sys.stdout.flush()
    if mode in {"diff", "since request"}:
        return _show_diff(workspace, history, task_id, run_id, since_request=mode == "since request")
    from git_blackbird.cli.commands.logs import SHOWS  # noqa: PLC0415  # only this pays for loading the agents

    SHOWS[mode](call, workspace, run_queries.find_run(workspace, history, task_id, run_id))
    return ExitCode.OK


def _accept(call: CommandContext, workspace: Workspace, task_id: str, run_id: str | None) -> ExitCode:
    from git_blackbird.controller.decisions.record import accept_record  # noqa: PLC0415  # readers write nothing

    if run_id is None:
        raise UsageError("--accept needs a RUN", hint=f"git blackbird runs {task_id}")
    accepted = accept_record(workspace, task_id, run_id)
    state = "" if accepted.status is None else f"; {task_id} is {accepted.status}"
    call.output.print(strip_controls(f"accepted: {accepted.path}{state}"))
    return ExitCode.OK


def _show_diff(
    workspace: Workspace, history: History, task_id: str, run_id: str | None, *, since_request: bool
) -> ExitCode:
    from git_blackbird.cli.render.transcript import colored_pieces  # noqa: PLC0415  # no list needs either
    from git_blackbird.controller.queries import diff  # noqa: PLC0415

    if since_request or run_id is None:
        pair = diff.change_pair(workspace, history, task_id, since_request=since_request)
    else:
        run = run_queries.find_run(workspace, history, task_id, run_id)
        if run.tree_pair is None:
            raise RequestError(f"run {run.id} has no pair of snapshots to compare")
        pair = run.tree_pair
    code = diff.page_diff(workspace, pair, colored_pieces)
    return ExitCode.OK if code == 0 else ExitCode.UNUSABLE

"""``runs``: what happened, its logs and diffs."""

import json
import sys
from functools import partial

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.syntax.look import NEWEST
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries import runs as run_queries
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.messages.display.runs import (
    OF_ALL_TASKS,
    OF_TASK,
    by_hand_lines,
    commit_lines,
    runs_table,
)
from git_blackbird.messages.document import line, section
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.run import Run


def runs(
    call: CommandContext,
    *,
    task_id: str | None,
    run_id: str | None,
    limit: int | None,
    mode: str | None,
    raw: bool,
    since_request: bool,
    unproven: bool,
) -> ExitCode:
    if raw and mode not in {"log", "follow"}:
        raise UsageError("--raw goes with --log or --follow")
    if since_request and (mode != "diff" or run_id is not None):
        raise UsageError("--since-request goes with --diff of a task", hint="git blackbird runs -h")
    if unproven and (mode != "diff" or since_request):
        raise UsageError("--unproven goes with --diff", hint="git blackbird runs -h")
    _check_usage(call, task_id, run_id, limit, mode)
    workspace = call.workspace
    if task_id is not None and mode is not None:
        if mode == "diff":
            return _show_diff(workspace, task_id, run_id, since_request=since_request, unproven=unproven)
        return _show_part(call, workspace, task_id, run_id, mode, raw=raw)
    if task_id is not None and run_id is not None:
        _show_one(call, workspace, task_id, run_id)
    else:
        _list(call, workspace, task_id, limit)
    call.warn_problems(workspace)
    return ExitCode.OK


def _check_usage(
    call: CommandContext, task_id: str | None, run_id: str | None, limit: int | None, mode: str | None
) -> None:
    if mode is not None and task_id is None:
        raise UsageError(f"--{mode} needs a TASK", hint="git blackbird list --all    # has the tasks")
    if mode is not None and call.as_json:
        raise UsageError(f"--{mode} is text; it does not go with --json")
    if limit is not None and (run_id is not None or mode is not None):
        raise UsageError("--limit goes with a list of runs, not with one run")


def _list(call: CommandContext, workspace: Workspace, task_id: str | None, limit: int | None) -> None:
    if task_id is None:
        limit = limit or NEWEST
        listed, none = run_queries.newest_runs(workspace, limit), "no runs yet"
    else:
        listed = run_queries.runs_of_task(workspace, task_id, limit)
        none = f"no runs found for {task_id}"
    now = call.environment.timestamp()
    table = runs_table(listed.runs, now, OF_ALL_TASKS if task_id is None else OF_TASK)
    call.show([table if listed.runs else line(none)])
    if listed.more:
        call.print(f"and {listed.more} older: {TaskCommand('runs', task_id)}")
    elif listed.more is None:
        call.print(f"and older ones: git blackbird runs --limit {10 * (limit or NEWEST)}")
    work = [run for run in listed.runs if not run.is_review]
    if task_id is not None and work:
        attach = run_queries.attach_command(workspace, work[0])
        opens = by_hand_lines(work[0], attach, has_terminal=sys.stdin.isatty())
        call.show([section("open the session yourself", opens)])
    if call.as_json:
        from git_blackbird.cli.printed.runs import RunsOutput

        call.data(RunsOutput(listed))
    call.warn_records(listed.faults)


def _show_one(call: CommandContext, workspace: Workspace, task_id: str, run_id: str) -> None:
    # No list needs these.
    from git_blackbird.controller.queries.commits import commits_of, with_live_commits
    from git_blackbird.messages.display.one_run import run_document

    run = run_queries.find_run(workspace, run_queries.task_history(workspace, task_id), task_id, run_id)
    logs = run_queries.log_places(workspace, run)
    noted = with_live_commits(workspace, run)
    if not run.has_landed:
        noted = noted.in_worktree(workspace.worktree_of(run))
    commits = commits_of(workspace, [noted])
    prompt = _prompt_text(run)
    now = call.environment.timestamp()
    call.show(run_document(noted, now, prompt, logs, commit_lines(commits)))
    if call.as_json:
        from git_blackbird.cli.printed.runs import OneRunOutput

        call.data(OneRunOutput(noted, run, prompt, logs, commits))


def _prompt_text(run: Run) -> str:
    """Return a run's prompt, less the system prompt and the project snapshot."""
    if run.prompt is not None:
        return run.prompt
    if isinstance(review := run.context.get("review"), dict):
        return str(review.get("prompt") or "")
    if "task" not in run.context:
        return ""
    # A list of runs shows nothing of it.
    from git_blackbird.messages.outgoing.prompts import render_prompt
    from git_blackbird.messages.outgoing.review_context import render_review_prompt

    omitted = {"systemPrompt", "projectSnapshot"}
    context = {name: value for name, value in run.context.items() if name not in omitted}
    try:
        return render_review_prompt(context) if "parentReview" in context else render_prompt(context)
    except (AttributeError, KeyError, TypeError):
        # A record of another program, or one that a hand edited.
        return json.dumps(context, ensure_ascii=False, indent=2)


def _show_part(
    call: CommandContext,
    workspace: Workspace,
    task_id: str,
    run_id: str | None,
    mode: str,
    *,
    raw: bool,
) -> ExitCode:
    history = run_queries.task_history(workspace, task_id)
    sys.stdout.flush()
    from git_blackbird.cli.commands.logs import follow_run, show_log  # only this pays for loading the agents

    show = show_log if mode == "log" else follow_run
    show(call, workspace, run_queries.find_run(workspace, history, task_id, run_id), raw=raw)
    return ExitCode.OK


def _show_diff(
    workspace: Workspace, task_id: str, run_id: str | None, *, since_request: bool, unproven: bool
) -> ExitCode:
    history = run_queries.task_history(workspace, task_id)
    sys.stdout.flush()
    from git_blackbird.cli.render.transcript import marked_diff  # no list needs either
    from git_blackbird.controller.queries import diff

    run = history.latest
    if since_request or run_id is None:
        pair = diff.change_pair(workspace, history, task_id, since_request=since_request)
    else:
        run = run_queries.find_run(workspace, history, task_id, run_id)
        if run.tree_pair is None:
            raise RequestError(f"run {run.id} has no pair of snapshots to compare")
        pair = run.tree_pair
    evidence = None if run is None else run.evidence
    if unproven:
        if evidence is None or evidence.proof is None:
            raise RequestError(
                f"what the checks notice of {task_id} is not known",
                hint=TaskCommand("prove", task_id, remark="runs them without each of its hunks"),
            )
        # The marks are for lines of the whole change.
        pair, evidence = diff.unproven_part(workspace, pair, evidence.proof), None
    first = partial(diff.unproven_diff, workspace, pair, evidence)
    code = diff.page_diff(workspace, pair, partial(marked_diff, evidence=evidence, find_unproven=first))
    return ExitCode.OK if code == 0 else ExitCode.UNUSABLE

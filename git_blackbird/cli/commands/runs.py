"""``runs``: what happened, its logs and diffs; ``review``: show, run or dismiss reviews."""

import json
import sys
from collections.abc import Iterator

import click

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.runs import by_hand_lines, commit_lines, paint, run_lines, runs_table
from git_blackbird.cli.render.tables import (
    Cell,
    render_facts,
    render_section,
    render_table,
)
from git_blackbird.cli.syntax.plan import NEWEST
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.queries import runs as run_queries
from git_blackbird.controller.queries.attach import attach_command
from git_blackbird.controller.queries.reviews import view_change_review, view_review
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.messages.display.reviews import (
    change_facts,
    change_missing,
    change_rounds,
    change_steps,
    dismissal_lines,
    merged_lines,
    parent_facts,
    parent_sections,
    parent_steps,
)
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.reviews import ChangeReviewView, ReviewView
from git_blackbird.model.run.history import History
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
) -> ExitCode:
    if raw and mode not in {"log", "follow"}:
        raise UsageError("--raw goes with --log or --follow")
    if since_request and (mode != "diff" or run_id is not None):
        raise UsageError("--since-request goes with --diff of a task", hint="git blackbird runs TASK --diff")
    _check_usage(call, task_id, run_id, limit, mode)
    workspace = call.workspace
    if task_id is not None and mode is not None:
        return _show_part(call, workspace, task_id, run_id, mode, raw=raw, since_request=since_request)
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
        raise UsageError(f"--{mode} needs a TASK", hint=f"git blackbird runs TASK --{mode}")
    if mode is not None and call.as_json:
        raise UsageError(f"--{mode} is text; it does not go with --json")
    if limit is not None and (run_id is not None or mode is not None):
        raise UsageError("--limit goes with a list of runs, not with one run")


def _list(call: CommandContext, workspace: Workspace, task_id: str | None, limit: int | None) -> None:
    if task_id is None:
        listed, none = run_queries.newest_runs(workspace, limit or NEWEST), "no runs yet"
    else:
        listed = run_queries.runs_of_task(workspace, task_id, limit)
        none = f"no runs found for {strip_controls(task_id)}"
    now, columns = call.environment.timestamp(), call.columns
    table = runs_table(listed.runs, now, columns, of_all_tasks=task_id is None)
    call.lines(table or [none])
    if listed.more:
        call.print(f"and {listed.more} older")
    work = [run for run in listed.runs if not run.is_review]
    if task_id is not None and work:
        opens = by_hand_lines(work[0], attach_command(workspace, work[0]))
        call.lines(render_section("its session, by hand", opens))
    call.data("runs:RunsOutput", listed)
    call.warn_records(listed.faults)


def _show_one(call: CommandContext, workspace: Workspace, task_id: str, run_id: str) -> None:
    from git_blackbird.controller.queries.commits import commits_of, with_live_commits  # no list needs it

    run = run_queries.find_run(workspace, run_queries.task_history(workspace, task_id), task_id, run_id)
    logs = run_queries.log_places(workspace, run)
    noted = with_live_commits(workspace, run)
    if not run.has_landed:
        noted = noted.in_worktree(workspace.worktree_of(run))
    commits = commits_of(workspace, [noted])
    prompt = _prompt_text(run)
    call.lines(run_lines(noted, call, prompt, logs, commit_lines(commits)))
    call.data("runs:OneRunOutput", run=noted, prompt=prompt, logs=logs, commits=commits, record=run)


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
    since_request: bool,
) -> ExitCode:
    history = run_queries.task_history(workspace, task_id)
    sys.stdout.flush()
    if mode == "diff":
        return _show_diff(workspace, history, task_id, run_id, since_request=since_request)
    from git_blackbird.cli.commands.logs import follow_run, show_log  # only this pays for loading the agents

    show = show_log if mode == "log" else follow_run
    show(call, workspace, run_queries.find_run(workspace, history, task_id, run_id), raw=raw)
    return ExitCode.OK


def _show_diff(
    workspace: Workspace, history: History, task_id: str, run_id: str | None, *, since_request: bool
) -> ExitCode:
    from git_blackbird.cli.render.transcript import painted_diff  # no list needs either
    from git_blackbird.controller.queries import diff

    if since_request or run_id is None:
        pair = diff.change_pair(workspace, history, task_id, since_request=since_request)
    else:
        run = run_queries.find_run(workspace, history, task_id, run_id)
        if run.tree_pair is None:
            raise RequestError(f"run {run.id} has no pair of snapshots to compare")
        pair = run.tree_pair
    code = diff.page_diff(workspace, pair, painted_diff)
    return ExitCode.OK if code == 0 else ExitCode.UNUSABLE


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
    if form is not None and (action != "show" or call.as_json):
        raise UsageError("--format goes with `review show`, without --json")
    if action == "show":
        return _show(call, task, wants_xml=form == "xml")
    if action == "run":
        return _run(call, task, agent, stream=stream)
    return _dismiss(call, task, reason)


def _show(call: CommandContext, name: str, *, wants_xml: bool) -> ExitCode:
    workspace = call.workspace
    task = find_task(workspace.store.plan(), name)
    if task.is_leaf:
        _show_change(call, workspace, task, wants_xml=wants_xml)
    elif wants_xml:
        raise UsageError("the review of a parent has no XML", hint=f"git blackbird review show {task.id}")
    else:
        view = view_review(workspace, name)
        call.lines(_parent_lines(view))
        call.data("runs:ParentReviewOutput", view)
    call.warn_problems(workspace)
    return ExitCode.OK


def _show_change(call: CommandContext, workspace: Workspace, task: Task, *, wants_xml: bool) -> None:
    view = view_change_review(workspace, task)
    if wants_xml:
        from git_blackbird.messages.display.merged_review import render_merged_xml  # only XML pays

        if view.merged is None:
            raise RequestError(
                f"no change of {task.id} was reviewed", hint=task_command("review run", task.id)
            )
        call.print(render_merged_xml(view.merged).rstrip("\n"))
        return
    call.lines(_change_lines(view, call))
    call.data("runs:ChangeReviewOutput", view)
    call.warn_records(view.faults)


def _run(call: CommandContext, task: str, agent: str | None, *, stream: bool) -> ExitCode:
    # Showing a review needs nothing of what makes one.
    from git_blackbird.cli.commands.run import open_with_flags, run_loop_command
    from git_blackbird.controller.engine.review_commands import review_loop

    keys = ("agent", "reviews.spec.agent", "reviews.code.agent")
    workspace = open_with_flags(call, dict.fromkeys(keys, agent))
    return run_loop_command(call, workspace, lambda ui: review_loop(workspace, ui, task), stream=stream)


def _dismiss(call: CommandContext, task: str, reason: str | None) -> ExitCode:
    from git_blackbird.controller.engine.review_commands import dismiss_review

    if reason is None:
        raise UsageError("say why: the reason is kept with the review", hint="--reason TEXT")
    workspace = call.workspace
    workspace.require_settings()
    result = dismiss_review(workspace, task, reason)
    call.print("\n  ".join(dismissal_lines(result.parent, result.dropped)))
    call.data("runs:DismissOutput", result, reason=reason.strip())
    return ExitCode.OK


def _parent_lines(view: ReviewView) -> Iterator[str]:
    parent = view.parent
    yield f"{click.style(parent.id, bold=True)}  {clean_line(parent.title)}"
    yield from render_facts(parent_facts(view))
    for title, lines in parent_sections(view, paint):
        yield from render_section(title, lines, are_styled=True)
    listed = {feedback.command for feedback in view.outstanding}
    yield from render_section("next", (step for step in parent_steps(view) if step not in listed))


def _change_lines(view: ChangeReviewView, call: CommandContext) -> Iterator[str]:
    yield f"{click.style(view.task.id, bold=True)}  {clean_line(view.task.title)}"
    yield from render_facts(change_facts(view))
    if view.run is not None and view.merged is not None:
        yield ""
        yield from merged_lines(view.run)
    yield from render_section("missing", change_missing(view))
    rounds = [tuple(map(Cell, row)) for row in change_rounds(view)]
    yield from render_section("rounds", render_table(rounds, None), are_styled=True)
    table = runs_table(view.about, call.environment.timestamp(), call.columns_less(2))
    yield from render_section("reviewers", table, are_styled=True)
    yield from render_section("next", change_steps(view))

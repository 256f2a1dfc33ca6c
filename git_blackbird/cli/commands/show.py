"""``show``: one task, the prompt of its agent, or where a commit comes from."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.runs import by_hand_lines, commit_lines, origin_document
from git_blackbird.cli.render.status import item_lines, worktree_section
from git_blackbird.controller.core.guards import runs_elsewhere
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.commits import commits_of, find_origin, with_live_commits
from git_blackbird.controller.queries.runs import attach_command
from git_blackbird.controller.queries.status import TaskView, view_task
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.format import (
    adoptable_text,
    agent_words,
    check_lines,
    dependency_title,
    landing_text,
    redacted_text,
    ruling_lines,
    undo_lines,
)
from git_blackbird.messages.display.quantities import counted, format_moment
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.messages.display.runs import OF_TASK, runs_table
from git_blackbird.messages.display.task import label_span, message_sections, text_sections
from git_blackbird.messages.document import Line, Section, Span, Style, Table, line, section, table
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import REVIEWS_OF_PARENTS
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.states import VERBS, Verb


def show(call: CommandContext, *, task_id: str | None, wants_prompt: bool, name: str | None) -> ExitCode:
    if (task_id is None) == (name is None) or (wants_prompt and name is not None):
        raise UsageError("show takes either a TASK or --commit COMMIT", hint="git blackbird show -h")
    workspace = call.workspace
    if name is not None:
        origin = find_origin(workspace, name)
        call.show(origin_document(origin))
        call.data("runs:ShowCommitOutput", origin)
    elif task_id is not None and wants_prompt:
        _show_prompt(call, workspace, task_id)
    elif task_id is not None:
        _show_task(call, workspace, task_id)
    call.warn_problems(workspace)
    return ExitCode.OK


def _show_task(call: CommandContext, workspace: Workspace, task_id: str) -> None:
    view = view_task(workspace, task_id)
    runs = tuple(with_live_commits(workspace, run) for run in view.history.runs)
    view = view._replace(history=replace(view.history, recent=runs))
    commits = commits_of(workspace, runs[::-1])
    elsewhere = list(runs_elsewhere(workspace, {view.task.id}))
    document = _document(view, call, commit_lines(commits))
    call.show((*document, worktree_section(elsewhere)))
    call.data("runs:ShowOutput", view, commits=commits, other_worktrees=elsewhere)
    call.warn_records(view.unreadable)


def _show_prompt(call: CommandContext, workspace: Workspace, task_id: str) -> None:
    from git_blackbird.controller.queries.prompt_preview import preview  # loads what knows the agents

    view = preview(workspace, task_id)
    call.print(strip_controls(view.text).rstrip("\n"))
    overview = view.overview
    if overview is not None:
        part = "the beginning of " if overview.is_beginning else ""
        call.print_err(f"the agent is also told about the project, from {part}{overview.file}")
    call.data("runs:ShowPromptOutput", view, task=task_id)


_MAX_RUNS = 5


def _document(
    view: TaskView, call: CommandContext, commits: Iterable[Line]
) -> Iterator[Section | Line | Table]:
    """Yield everything of one task."""
    task = view.task
    yield line(Span(task.id, Style.HEADING), f"  {clean_line(task.title)}  [", label_span(view.label), "]")
    yield table(_facts(view, call.workspace))
    yield from text_sections(task)
    deps = (_row(view, dep, task.dep_rationale.get(dep.id)) for dep in view.deps)
    yield section("depends on", [table(deps)])
    yield section("needed by", [table(map(partial(_row, view), view.dependents))])
    if not task.is_over:
        yield section("ready" if view.readiness.is_ready else "not ready", _readiness(view))
    yield section("due", _due(view))
    yield section("rejected change", undo_lines(view.undo))
    yield from message_sections(view.words)
    rulings = Change.of(view.history).standing_rulings
    yield section(counted(len(rulings), "ruling"), chain.from_iterable(map(ruling_lines, rulings)))
    yield section("runs", _runs(view, call.environment.timestamp()))
    run = view.history.latest
    opens = () if run is None else by_hand_lines(run, attach_command(call.workspace, run))
    yield section("open the session yourself", opens)
    yield from map(line, filter(None, [adoptable_text(view.adoptable)]))
    yield section("check", _check(view))
    yield section("reviews", _reviews(view))
    yield section("commits", commits)


def _facts(view: TaskView, workspace: Workspace) -> Iterator[tuple[str, str]]:
    task = view.task
    if task.parent is not None:
        yield "parent", task.parent
    if task.children:
        yield "children", ", ".join(task.children)
    if named := agent_words(task):
        yield "agent", named
    undone = None if view.history.newest is None else view.history.newest.undone
    if undone is not None:
        undo = VERBS[Verb.UNDO]
        redo = VERBS[undo.back]
        back = TaskCommand(redo.command, task.id)
        what = f"and {redo.done} in part; {back}" if undone.redone else back
        yield undo.done, f"{format_moment(undone.at)} ({what})"
    run = view.history.latest
    place = None if run is None or run.has_landed else workspace.worktree_of(run)
    if place is not None:
        yield "worktree", clean_line(place, 1000)
    if run is not None and run.landing is not None:
        yield "landing", landing_text(run)
    if run is not None and (redacted := redacted_text(run)) is not None:
        yield "redacted", redacted
    if view.skipped:
        yield "skipped", ", ".join(view.skipped)
    yield "created", format_moment(task.created_at)
    yield "updated", format_moment(task.updated_at)


def _row(view: TaskView, task: Task, reason: str | None = None) -> tuple[Span | str, ...]:
    return task.id, label_span(view.labels[task.id]), dependency_title(task, reason)


def _readiness(view: TaskView) -> Iterator[str]:
    if view.readiness.is_ready:
        yield TaskCommand("execute", view.task.id)
    yield from view.readiness.reasons
    yield from (f"    {hint}" for hint in view.readiness.hints)


def _due(view: TaskView) -> Iterator[str | Line]:
    for item in view.due:
        if item.due in {Due.START, Due.UNREADABLE}:
            continue
        if item.due is Due.FAILED:
            why = item.why or item.words.removeprefix("failed") or "no reason is recorded"
            yield f"failed: {clean_line(why)}"
            yield f"    {item.command}"
            continue
        yield item.words
        if item.due in REVIEWS_OF_PARENTS:
            yield from (one.behind("    ") for one in item_lines(item))
            yield f"    {TaskCommand('review show', view.task.id)}"
            continue
        yield from (f"{clean_line(one.id)}: {clean_line(one.prompt)}" for one in item.questions)
        yield from filter(None, [item.why])
        yield f"    {item.command}"


def _runs(view: TaskView, now: str) -> Iterator[str | Table]:
    runs = view.history.runs[::-1]
    yield runs_table(runs[:_MAX_RUNS], now, OF_TASK)
    if len(runs) > _MAX_RUNS:
        yield f"and {len(runs) - _MAX_RUNS} more: {TaskCommand('runs', view.task.id)}"


def _check(view: TaskView) -> Iterator[str]:
    run = view.history.latest
    if run is None or (run.check is None and run.landing_check is None):
        return
    if run.check is not None:
        yield from check_lines(run.check)
    if run.landing_check is not None:
        first, *rest = check_lines(run.landing_check)
        yield from (f"of the merged files: {first}", *rest)
    yield f"    {TaskCommand('runs', view.task.id, f' {run.id}')}"


def _reviews(view: TaskView) -> Iterator[str]:
    run = view.history.latest
    if run is not None and run.merged_review is not None:
        word = overall_word(merged_or_none(run))
        yield f"{word}, round {run.review_round or 1}: {TaskCommand('review show', view.task.id)}"

"""``show``: one task, the prompt of its agent, or where a commit comes from."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.status import worktree_section
from git_blackbird.controller.core.guards import runs_elsewhere
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.commits import commits_of, find_origin, with_live_commits
from git_blackbird.controller.queries.runs import attach_command
from git_blackbird.controller.queries.task import view_task
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.format import (
    adoptable_text,
    agent_words,
    label_span,
    landing_text,
    redacted_text,
)
from git_blackbird.messages.display.quantities import format_moment
from git_blackbird.messages.display.runs import by_hand_lines, commit_lines, origin_document
from git_blackbird.messages.display.task import (
    due_sections,
    neighbour_sections,
    run_sections,
    text_sections,
    told_sections,
)
from git_blackbird.messages.document import Line, Section, Span, Style, Table, block, line, section, table
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.states import VERBS, Verb
from git_blackbird.model.views.task import TaskView


def show(call: CommandContext, *, task_id: str | None, wants_prompt: bool, name: str | None) -> ExitCode:
    if (task_id is None) == (name is None) or (wants_prompt and name is not None):
        raise UsageError("show takes either a TASK or --commit COMMIT", hint="git blackbird show -h")
    workspace = call.workspace
    if name is not None:
        origin = find_origin(workspace, name)
        call.show(origin_document(origin))
        if call.as_json:
            from git_blackbird.cli.printed.runs import ShowCommitOutput

            call.data(ShowCommitOutput(origin))
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
    if call.as_json:
        from git_blackbird.cli.printed.runs import ShowOutput

        call.data(ShowOutput(view, commits, elsewhere))
    call.warn_records(view.unreadable)


def _show_prompt(call: CommandContext, workspace: Workspace, task_id: str) -> None:
    from git_blackbird.controller.queries.prompt_preview import preview  # loads what knows the agents

    view = preview(workspace, task_id)
    call.show(block(view.text.rstrip("\n")))
    overview = view.overview
    if overview is not None:
        part = "the beginning of " if overview.is_beginning else ""
        call.print_err(f"the agent is also told about the project, from {part}{overview.file}")
    if call.as_json:
        from git_blackbird.cli.printed.given import ShowPromptOutput

        file = None if overview is None else overview.file
        call.data(ShowPromptOutput(TaskId(task_id), view.agent, view.prompt, view.context, file))


_MAX_RUNS = 5


def _document(
    view: TaskView, call: CommandContext, commits: Iterable[Line]
) -> Iterator[Section | Line | Table]:
    """Yield everything of one task."""
    task = view.task
    yield line(Span(task.id, Style.HEADING), f"  {task.title}  [", label_span(view.label), "]")
    yield table(_facts(view, call.workspace))
    yield from text_sections(task)
    yield from neighbour_sections(view)
    yield from due_sections(view)
    yield from told_sections(view)
    yield from run_sections(view, call.environment.timestamp(), _MAX_RUNS)
    run = view.history.latest
    if run is not None:
        attach = attach_command(call.workspace, run)
        opens = by_hand_lines(run, attach, has_terminal=sys.stdin.isatty())
        yield section("open the session yourself", opens)
    yield section("commits", commits)
    yield from map(line, filter(None, [adoptable_text(view.adoptable)]))


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
        yield "worktree", place
    if run is not None and run.landing is not None:
        yield "landing", landing_text(run)
    if run is not None and (redacted := redacted_text(run)) is not None:
        yield "redacted", redacted
    if view.skipped:
        yield "skipped", ", ".join(view.skipped)
    yield "created", format_moment(task.created_at)
    yield "updated", format_moment(task.updated_at)

"""Commands that bring the plan into other forms."""

import sys
import webbrowser
from pathlib import Path

from git_blackbird.cli.commands.plan import lint_exit_code, warn_deadlock
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.printed.given import ExportOutput, GraphOutput, LintOutput
from git_blackbird.cli.render.graph import render_graph
from git_blackbird.controller.core.named_files import STDIN, load_all, load_text
from git_blackbird.controller.plan import imports
from git_blackbird.controller.plan.export import export_plan, judge_plan, save_picture
from git_blackbird.controller.plan.outcomes import page_lines
from git_blackbird.controller.queries.listing import labels_by_records
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.plan import lint_lines
from git_blackbird.messages.document import block
from git_blackbird.messages.forms.imports.read import TaskFile, located, read_tasks
from git_blackbird.model.plan.task_forms import TaskForm
from git_blackbird.model.rules.lint import RequirementSource


def export(call: CommandContext, *, form: str) -> ExitCode:
    text = export_plan(call.workspace.plan_state().plan, form)
    _print_whole(call, text)
    call.data(ExportOutput(form, text))
    return ExitCode.OK


def _print_whole(call: CommandContext, text: str) -> None:
    """Print a document: for people on a terminal without what they cannot see, else every character of it."""
    if sys.stdout.isatty():
        call.show(block(text))
    elif not call.as_json:
        call.write(text)


def import_tasks(
    call: CommandContext,
    *,
    files: tuple[str, ...],
    form: str | None,
    name: str | None,
    prefix: str,
    prefer: str | None,
    dry_run: bool,
) -> ExitCode:
    workspace = call.workspace
    texts, unread = load_all(files)
    found, source = read_tasks([TaskFile(*text) for text in texts], TaskForm(form) if form else None)
    name = name or _source_name(texts[0][0], found, workspace.paths.state_root)
    request = imports.ImportRequest(name, prefix, prefer, found is TaskForm.PAGE, dry_run)
    with located(files[0]):
        result = imports.import_tasks(workspace, source, request)
    would = "would: " if dry_run and result.page.is_changed else ""
    call.show(one.behind(would) for one in page_lines(result.page))
    result = result._replace(left_out=(*unread, *result.left_out))
    call.lines(f"left out: {line}" for line in result.left_out)
    warn_deadlock(call, result.page.deadlock)
    if call.as_json:
        from git_blackbird.cli.printed.plan import ImportOutput

        call.data(ImportOutput(result, found, name, is_dry_run=dry_run))
    return ExitCode.OK


def graph(call: CommandContext, *, form: str | None, opens: bool) -> ExitCode:
    if opens and form not in {None, "svg"}:
        raise UsageError(f"--open shows an SVG, and --format asks for {form}")
    workspace = call.workspace
    form = "svg" if opens else form or "mermaid"
    state = workspace.plan_state()
    text = render_graph(state.plan, form, labels_by_records(state))
    place = save_picture(workspace, text) if opens else None
    if place is None:
        _print_whole(call, text)
    elif not (call.can_confirm(sys.stdout) and webbrowser.open(place.as_uri())):
        call.print(str(place))
    call.data(GraphOutput(form, text, place))
    return ExitCode.OK


def lint(call: CommandContext, *, sources: tuple[str, ...]) -> ExitCode:
    required = [RequirementSource(source, load_text(source)) for source in sources]
    found = judge_plan(call.workspace, required)
    call.show(lint_lines(found))
    call.data(LintOutput(found))
    return lint_exit_code(found)


def _source_name(place: str, form: TaskForm, top: Path) -> str:
    """Return the name of a source: a path below the top of the worktree, or else the file's own name."""
    if place == STDIN:
        return form
    # Of a task a file, it is the folder that has them all.
    path = Path(place).parent.resolve() if form is TaskForm.BACKLOG else Path(place).resolve()
    return str(path.relative_to(top)) if path.is_relative_to(top) else path.name

"""Commands that make, check and change the plan."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from git_blackbird.cli.output import CommandContext, confirm, read_text
from git_blackbird.cli.printed.given import RenameOutput, ValidateOutput
from git_blackbird.cli.render.stops import show_status_change
from git_blackbird.cli.ui.page_questions import AskAboutPage
from git_blackbird.controller.config.settings import Scope, write_key
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.plan.deletion import delete_task, preview_deletion
from git_blackbird.controller.plan.edit import (
    EditResult,
    NewTask,
    add_deps,
    add_task,
    edit_task,
    init_config,
    init_plan,
    move_beside,
    move_task,
    plan_file_faults,
    remove_deps,
    rename_task,
    set_deps,
)
from git_blackbird.controller.plan.outcomes import (
    DEADLOCK_HINT,
    deadlock_text,
    deletion_lines,
    moved_task_lines,
    page_lines,
)
from git_blackbird.controller.plan.page import PageResult, add_page, makes_a_plan, preview_page
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.messages.forms.natural import read_page
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.system import PLAN_NAME
from git_blackbird.model.change.stages import Due
from git_blackbird.model.config.layers import AGENT_NAMES, Layer
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.lint import LintFinding, Severity
from git_blackbird.model.rules.queue import Seen, queue
from git_blackbird.model.rules.task_fields import agent_fault

_OFFER = """\
Statuses that pass (in progress, waiting, failed) need not be written into
the plan: they follow from the records, and git sees a change of the plan only
when a task is over or edited."""


def init(call: CommandContext, *, hooks: bool | None, statuses: str | None) -> ExitCode:
    workspace = call.workspace
    workspace.require_settings()
    if hooks:
        call.environment.forbid_agents("change the hooks")
    made = init_plan(workspace)
    place = workspace.paths.plan
    call.print(f"{'created plan' if made else 'plan already exists'}: {place}")
    config = init_config(workspace) if made else None
    if config is not None:
        call.print(f"stops after each task: {config} (execution.stopAfterEachTask)")
    is_open = workspace.settings.applied["plan.statuses"].layer is Layer.DEFAULT
    if made and statuses is None and is_open and not call.environment.is_agent:
        asks = call.can_confirm(sys.stdout)
        if asks:
            call.print(_OFFER)
        statuses = "lasting" if not asks or confirm("Write only what lasts?", default=True) else None
    if statuses is not None:
        change = write_key(workspace, "plan.statuses", statuses, Scope.PROJECT)
        which = "only statuses that last" if statuses == "lasting" else "every status"
        call.print(f"writes {which} into the plan: {change.place} (plan.statuses)")
    result = None
    if hooks is not False:
        from git_blackbird.cli.commands.setup import install_hook_and_report, offer_hook  # often not wanted

        result = install_hook_and_report(call) if hooks else offer_hook(call)
    hook = None if result is None else result.outcome
    if made:
        way = "    # opens a page of tasks in your editor"
        if not call.can_confirm(sys.stdout):
            way = " -    # reads a page of tasks from standard input"
        call.print(f"next: git blackbird add{way}")
    if call.as_json:
        from git_blackbird.cli.printed.setup import InitOutput

        call.data(InitOutput(place, made, config, hook))
    return ExitCode.OK


def validate(call: CommandContext, *, wants_lint: bool) -> ExitCode:
    workspace = call.workspace
    faults = plan_file_faults(workspace)
    found = None
    if faults:
        call.print(f"invalid plan: {workspace.paths.plan}")
        for fault in faults:
            call.print(f"- {fault}")
        call.print(f"validation failed: {len(faults)} fault{'s' if len(faults) > 1 else ''}")
        if _is_natural(workspace):
            call.print("what is missing is filled in by these commands:")
            call.print(f"  mv {PLAN_NAME} tasks.json")
            call.print("  git blackbird init && git blackbird add -F tasks.json")
    else:
        for task in workspace.store.plan().tasks.values():
            if agent_fault(task.agent) is not None:
                call.warn(f"{task.id}: there is no agent {task.agent}", f"agents: {', '.join(AGENT_NAMES)}")
        call.print("OK")
        found = _judged(call) if wants_lint else None
    call.data(ValidateOutput(not faults, faults, found))
    return ExitCode.UNUSABLE if faults else lint_exit_code(found or ())


def _judged(call: CommandContext) -> tuple[LintFinding, ...]:
    from git_blackbird.controller.plan.export import judge_plan  # only --lint pays for it
    from git_blackbird.messages.display.plan import lint_lines

    found = judge_plan(call.workspace)
    call.show(lint_lines(found))
    return found


def lint_exit_code(findings: Sequence[LintFinding]) -> ExitCode:
    """Return the exit code that says whether a finding is blocking."""
    is_blocked = any(one.severity is Severity.BLOCKING for one in findings)
    return ExitCode.FAILED if is_blocked else ExitCode.OK


def _is_natural(workspace: Workspace) -> bool:
    """Whether the plan file lacks only what can be filled in."""
    data = workspace.store.plan_bytes() or b""
    try:
        page = read_page(data.decode())
    except (RequestError, UnicodeDecodeError):
        return False
    return bool(page) and makes_a_plan(workspace, page)


def add(
    call: CommandContext,
    /,
    words: str | None,
    file: str | None,
    title: str | None,
    task_id: str | None,
    criteria: tuple[str, ...],
    **options: "str | int | tuple[str, ...] | None",
) -> ExitCode:
    source, title = ("-", title) if words == "-" else (file, title or words)
    parent = options["parent"]
    others = {name: value for name, value in options.items() if name != "parent"}
    is_alone = not (task_id or criteria or any(value not in (None, "", ()) for value in others.values()))
    if words not in {None, "-", title}:
        raise UsageError("name the title once: TITLE, or --title")
    if source is not None and (title is not None or not is_alone):
        raise UsageError("a page has the fields of its tasks: beside it only --parent counts")
    if title is None and not is_alone:
        raise UsageError("a task needs a title", hint="git blackbird add -h")
    if title is not None:
        new = NewTask(title, task_id, acceptance_criteria=criteria, **options)  # type: ignore[arg-type]  # click's own types
        result = PageResult.of_added(add_task(call.workspace, new))
    else:
        result = _add_page(call, source, None if parent is None else str(parent))
    call.show(page_lines(result))
    warn_deadlock(call, result.deadlock)
    if call.as_json:
        from git_blackbird.cli.printed.plan import AddOutput

        call.data(AddOutput(result))
    return ExitCode.OK


def _add_page(call: CommandContext, source: str | None, parent: str | None) -> PageResult:
    """Add the tasks of a page: of a file, of standard input for ``-``, or of the editor."""
    asks = AskAboutPage(call)
    if source is None:
        from git_blackbird.controller.plan.editor import add_in_editor  # only the editor needs it

        if call.no_input or not sys.stdin.isatty():
            raise UsageError(
                "a task needs a title",
                hint="git blackbird add -h    # says how a page of tasks is read",
            )
        return add_in_editor(call.workspace, parent, asks)
    page = read_page(read_text(source))
    if source != "-" and len(page) > 1 and asks.is_possible:
        planned = preview_page(call.workspace, page, parent)
        if not asks.agrees_to_add(planned):
            raise RequestError("nothing was added")
    return add_page(call.workspace, page, parent)


def retry(call: CommandContext, task_id: str) -> ExitCode:
    from git_blackbird.controller.change.status_changes import reset_task

    workspace = call.workspace
    workspace.require_settings()
    show_status_change(call, reset_task(workspace, task_id), f"reset {task_id} to todo")
    _say_who_starts(call, task_id)
    return ExitCode.OK


def _say_who_starts(call: CommandContext, task_id: str) -> None:
    """Print that a command at work is to start a task, if one is."""
    from git_blackbird.controller.queries.status import call_at_work

    running = call_at_work(call.workspace)
    if running is None:
        return
    due = queue(call.workspace.plan_state(), Seen(call=running))
    item = next((item for item in due if item.task.id == task_id), None)
    if item is not None and item.due is Due.START and running.does(item):
        call.print(f"  {item.command}")


def set_status_command(call: CommandContext, task_id: str, status: str | None) -> ExitCode:
    from git_blackbird.controller.change.status_changes import set_status

    workspace = call.workspace
    workspace.require_settings()
    if status is None:
        from git_blackbird.cli.commands.pick import choose, require_list  # few are asked

        require_list(call, "say which status", hint=f"one of {', '.join(Status)}")
        find_task(workspace.store.plan(), task_id)
        status = choose("Which status?", [(one.value, one.value) for one in Status])
        if status is None:
            return ExitCode.INTERRUPTED
    show_status_change(
        call, set_status(workspace, task_id, Status(status)), f"updated {task_id} status to {status}"
    )
    _say_who_starts(call, task_id)
    return ExitCode.OK


_CLEARED: Mapping[str, Any] = {
    "description": "",
    "prompt": "",
    "notes": None,
    "acceptance_criteria": (),
    "agent": None,
    "model": None,
}
_DEPS_ACTIONS: Mapping[str, Callable[..., EditResult]] = {
    "add": add_deps,
    "remove": remove_deps,
    "set": set_deps,
}


def edit(
    call: CommandContext,
    /,
    task_id: str | None,
    whole_plan: bool,  # noqa: FBT001  # an option
    **options: "str | bool | tuple[str, ...] | None",
) -> ExitCode:
    values = _field_values(options)
    if whole_plan == (task_id is not None) or (whole_plan and values):
        raise UsageError("name a task, or --plan alone", hint="git blackbird edit -h")
    if not values and call.no_input:
        raise UsageError(
            "nothing to change", hint="name a field, or leave --no-input out to edit the task in your editor"
        )
    result = _edited(call, task_id, values)
    call.show(page_lines(result, task_id or "the plan"))
    warn_deadlock(call, result.deadlock)
    if call.as_json:
        from git_blackbird.cli.printed.plan import EditOutput

        call.data(EditOutput(result))
    return ExitCode.OK


def _edited(call: CommandContext, task_id: str | None, values: Mapping[str, Any]) -> PageResult:
    workspace = call.workspace
    if task_id is not None and values:
        return PageResult.of_edited(edit_task(workspace, task_id, lambda task: replace(task, **values)))
    from git_blackbird.controller.plan.editor import (  # only the editor needs it
        edit_in_editor,
        edit_plan_in_editor,
    )

    asks = AskAboutPage(call)
    if task_id is None:
        return edit_plan_in_editor(workspace, asks)
    return edit_in_editor(workspace, task_id, asks)


def rename(call: CommandContext, *, task_id: str, new_id: str) -> ExitCode:
    before = rename_task(call.workspace, task_id, new_id)
    call.print(f"renamed {before} to {new_id}")
    call.data(RenameOutput(new_id, before))
    return ExitCode.OK


def _field_values(options: "Mapping[str, str | bool | tuple[str, ...] | None]") -> dict[str, Any]:
    """Return the new values of the fields that options name."""
    values: dict[str, Any] = {}
    for name in ("title", *_CLEARED):
        is_given = options[name] is not None and options[name] != ()
        if is_given:
            values[name] = options[name]
        if options.get(f"clear_{name}"):
            if is_given:
                option = "ac" if name == "acceptance_criteria" else name
                raise UsageError(f"--{option} and --clear-{option} do not go together")
            values[name] = _CLEARED[name]
    return values


def warn_deadlock(call: CommandContext, deadlock: tuple[TaskId, ...] | None) -> None:
    """Warn of tasks that wait for one another."""
    if deadlock is not None:
        call.warn(deadlock_text(deadlock), DEADLOCK_HINT)


def deps(
    call: CommandContext, *, action: str, task_id: str | None, deps: tuple[str, ...], **of_infer: Any
) -> ExitCode:
    if action == "infer":
        from git_blackbird.cli.commands.planning import infer  # loads what starts agents

        return infer(call, (*filter(None, [task_id]), *deps), **of_infer)
    if any(of_infer.values()):
        raise UsageError("these options go with infer")
    if task_id is None:
        raise UsageError("Missing argument 'TASK'.", hint="git blackbird deps -h")
    if not deps and action != "set":
        raise UsageError("name at least one dependency", hint="git blackbird deps -h")
    result = _DEPS_ACTIONS[action](call.workspace, task_id, deps)
    if action == "set":
        call.print(f"set {result.task_id} deps ({len(result.after.deps)})")
    else:
        call.lines(_deps_lines(result, deps))
    warn_deadlock(call, result.deadlock)
    if call.as_json:
        from git_blackbird.cli.printed.plan import DepsOutput

        call.data(DepsOutput(result))
    return ExitCode.OK


def _deps_lines(result: EditResult, deps: Iterable[str]) -> Iterator[str]:
    for dep in dict.fromkeys(deps):
        if dep not in result.after.deps:
            yield f"removed dep {result.task_id} -> {dep}"
        elif dep not in result.before.deps:
            yield f"added dep {result.task_id} -> {dep}"
        else:
            yield f"{result.task_id} already depends on {dep}"


def move(
    call: CommandContext,
    *,
    task_id: str,
    parent: str | None,
    index: int | None,
    before: str | None,
    after: str | None,
) -> ExitCode:
    places = [parent is not None or index is not None, before is not None, after is not None]
    if sum(places) != 1:
        raise UsageError(
            "name the new place: --parent or --index, --before, or --after",
            hint="git blackbird move -h",
        )
    beside = before or after
    moved = (
        move_task(call.workspace, task_id, parent, index)
        if beside is None
        else move_beside(call.workspace, task_id, beside, is_before=before is not None)
    )
    call.show(moved_task_lines(moved))
    warn_deadlock(call, moved.deadlock)
    if call.as_json:
        from git_blackbird.cli.printed.plan import MoveOutput

        call.data(MoveOutput(moved))
    return ExitCode.OK


def delete(
    call: CommandContext, *, task_id: str, cascade_children: bool, force: bool, dry_run: bool
) -> ExitCode:
    workspace = call.workspace
    result = (
        preview_deletion(workspace, task_id)
        if dry_run
        else delete_task(workspace, task_id, cascade_children=cascade_children, force=force)
    )
    call.show(deletion_lines(result))
    if result.is_dry_run and result.options:
        call.print(f"it needs {' and '.join(result.options)}")
    if call.as_json:
        from git_blackbird.cli.printed.plan import DeleteOutput

        call.data(DeleteOutput(result))
    return ExitCode.OK

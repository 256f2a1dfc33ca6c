"""Output of the commands that make, check and change the plan."""

from collections.abc import Iterable, Mapping, Sequence

from git_blackbird.cli.schema.base import DataOutput, EventOutput, PathText, View, field
from git_blackbird.controller.plan.edit import EditResult, MoveResult
from git_blackbird.controller.plan.page import PageChange, PageResult
from git_blackbird.controller.plan.page_reading import AddedTask
from git_blackbird.controller.setup.install import HookAction
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.lint import Severity
from git_blackbird.model.run.parent_verdict import Feedback

_DEADLOCK = "Tasks that wait for one another for ever by this change, as `[a, b, a]`; empty when none do."
_JSON_NAMES = {"acceptance_criteria": "acceptanceCriteria", "dep_rationale": "depRationale"}


def _json_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_JSON_NAMES.get(name, name) for name in names)


def _first(added: Sequence[AddedTask]) -> TaskId:
    return added[0].id


def _added(edit: EditResult) -> list[TaskId]:
    return [dep for dep in edit.after.deps if dep not in edit.before.deps]


def _removed(edit: EditResult) -> list[TaskId]:
    return [dep for dep in edit.before.deps if dep not in edit.after.deps]


def _deadlock(result: EditResult | MoveResult | PageResult) -> tuple[TaskId, ...]:
    return result.deadlock or ()


class InitOutput(DataOutput, schema_name="init"):
    """What `init` created."""

    plan: PathText = field("The path of the plan file.")
    created: bool = field("Whether it was created now.")
    config: PathText | None = field("The path of the configuration that was written.")
    hook: HookAction | None = field("What was done with the hook; null when it was not touched.")


class PlanFault(View):
    """One error in the plan file."""

    place: str = field("Where it is, as a JSON path.")
    what: str = field("What is wrong.")
    fix: str = field("How to correct it.")


class LintFindingView(View):
    """One doubt about the structure of a plan."""

    severity: Severity = field("How bad it is.")
    code: str = field("Which doubt it is.")
    task_id: TaskId | None = field("The task; null for what is about the whole plan.")
    field_name: str = field(
        "The field of the task: `task`, `acceptanceCriteria` or `deps`.", "field", serialization_alias="field"
    )
    message: str = field("What is doubtful.")
    suggestion: str = field("What to do about it.")
    places: tuple[str, ...] = field("Where to look: JSON paths of the plan, or `FILE:LINE`.")


class ValidateOutput(DataOutput, schema_name="validate"):
    """Whether the plan is valid."""

    valid: bool = field("Whether there is no fault.")
    faults: tuple[PlanFault, ...] = field("Every error in the file.")
    findings: tuple[LintFindingView, ...] | None = field(
        "What `--lint` found; null without it, or if the plan is invalid."
    )


class LintOutput(DataOutput, schema_name="plan-lint"):
    """What `plan lint` found."""

    findings: tuple[LintFindingView, ...] = field("The findings, by task, field, severity and code.")


class AddOutput(DataOutput, schema_name="add"):
    """What `add` added."""

    id: TaskId = field("The id of the first new task.", "added", using=_first)
    added: tuple[TaskId, ...] = field(
        "The ids of all new tasks, in the order of the page.", "added", each="id"
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, using=_deadlock)


class EditedTask(View):
    """A task that was edited."""

    task: TaskId = field("The task.")
    fields: tuple[str, ...] = field("The names of the fields that changed.")


def _edited(result: PageResult) -> list[EditedTask]:
    return [EditedTask(task=task_id, fields=_json_names(names)) for task_id, names in result.edited.items()]


class EditOutput(DataOutput, schema_name="edit"):
    """What `edit` changed."""

    edited: tuple[EditedTask, ...] = field("The tasks of which fields changed.", using=_edited)
    added: tuple[TaskId, ...] = field("New tasks of the page.", "added", each="id")
    moved: tuple[TaskId, ...] = field("Tasks that have another parent.")
    deleted: tuple[TaskId, ...] = field("Tasks that the page has no longer.")
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, using=_deadlock)


class ImportOutput(DataOutput, schema_name="plan-import"):
    """What `plan import` made of the plan."""

    form: str = field("What was read, as `--format` names it.")
    source: str = field("The name under which it is remembered.")
    is_dry_run: bool = field("Whether nothing was changed, only shown.")
    added: tuple[TaskId, ...] = field("New tasks.", "page.added", each="id")
    edited: tuple[EditedTask, ...] = field("The tasks of which fields changed.", "page", using=_edited)
    moved: tuple[TaskId, ...] = field("Tasks that have another parent.", "page.moved")
    left_out: tuple[str, ...] = field("What has no place here, or was kept as it is, in words.")
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, "page", using=_deadlock)


class ExportOutput(DataOutput, schema_name="plan-export"):
    """The plan in another form."""

    form: str = field("`page`, `markdown` or `json`.")
    text: str = field("The whole text.")


class GraphOutput(DataOutput, schema_name="graph"):
    """The plan as a picture."""

    form: str = field("`mermaid`, `dot` or `svg`.")
    text: str = field("The whole picture.")
    place: PathText | None = field("The file that `--open` shows; null without it.")


class ProposedTask(View):
    """A new task."""

    id: TaskId = field("Its id.")
    title: str = field("Its title.")
    parent: TaskId | None = field("The task that it is a part of.")
    after: tuple[TaskId, ...] = field("The tasks that must be done before it.", "deps")
    because: Mapping[TaskId, str] = field("Why, by these.", "dep_rationale")
    description: str = field("What it is about.")
    prompt: str = field("What its agent is to do.")
    criteria: tuple[str, ...] = field("What must hold in the end.", "acceptance_criteria")


def _proposed(change: PageChange | None) -> list[Task]:
    return [] if change is None else [change.after.tasks[one.id] for one in change.result.added]


def _changed(change: PageChange | None) -> list[EditedTask]:
    return [] if change is None else _edited(change.result)


def _moved(change: PageChange | None) -> tuple[TaskId, ...]:
    return () if change is None else change.result.moved


def _deleted(change: PageChange | None) -> tuple[TaskId, ...]:
    return () if change is None else change.result.deleted


class PlannedEvent(EventOutput, event="planned"):
    """What an agent proposes for the plan, and whether the plan was changed."""

    saved: bool = field("Whether the plan was changed so.", "is_saved")
    added: tuple[ProposedTask, ...] = field("New tasks.", "proposal.change", using=_proposed)
    edited: tuple[EditedTask, ...] = field("Tasks of which fields change.", "proposal.change", using=_changed)
    moved: tuple[TaskId, ...] = field("Tasks that get another parent.", "proposal.change", using=_moved)
    deleted: tuple[TaskId, ...] = field("Tasks to delete.", "proposal.change", using=_deleted)
    faults: tuple[str, ...] = field("Why it cannot be accepted.", "proposal.faults")
    remarks: str = field("What the agent says of it.", "proposal.remarks")
    draft: PathText | None = field("Where it is kept as a page; null where it was saved.")


class RenameOutput(DataOutput, schema_name="rename"):
    """What `rename` renamed."""

    task: TaskId = field("The new id.")
    before: TaskId = field("The id that it had.")


class DepsOutput(DataOutput, schema_name="deps"):
    """What `deps` changed."""

    task: TaskId = field("The task.", "task_id")
    deps: tuple[TaskId, ...] = field("What it depends on now.", "after.deps")
    added: tuple[TaskId, ...] = field("Dependencies that it did not have before.", using=_added)
    removed: tuple[TaskId, ...] = field("Dependencies that it has no more.", using=_removed)
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, using=_deadlock)


class MoveOutput(DataOutput, schema_name="move"):
    """Where a task was moved."""

    task: TaskId = field("The task.", "task_id")
    parent: TaskId | None = field("Its parent; null at the top of the plan.", "place.parent")
    index: int | None = field("The position that was asked for, from 0; null for the end.", "place.index")
    moved: bool = field("Whether it was elsewhere before.", "is_changed")
    changed: tuple[TaskId, ...] = field("Tasks whose status changed with it.", "followed", using=tuple)
    not_undone: tuple[TaskId, ...] = field(
        "Tasks that ran after a parent that has open work again, and are not reset."
    )
    recreated: tuple[TaskId, ...] = field(
        "Tasks whose `createdAt`, which orders the top of the plan, was changed."
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, using=_deadlock)


class DeleteOutput(DataOutput, schema_name="delete"):
    """What `delete` deleted."""

    deleted: tuple[TaskId, ...] = field("The tasks that were deleted.", "task_ids")
    detached: tuple[TaskId, ...] = field("Tasks that depended on one of them, and do no more.")
    runs: Mapping[TaskId, tuple[RunId, ...]] = field("Runs of theirs, whose records stay.")
    dropped: tuple[RunId, ...] = field("Runs on which a decision was due.")
    changed: tuple[TaskId, ...] = field("Tasks whose status changed with it.", "followed", using=tuple)
    is_dry_run: bool = field("Whether nothing was changed, only shown.")


class StatusChangeOutput(DataOutput, schema_name="set-status"):
    """What a status set by hand, or a retry, led to."""

    task: TaskId = field("The task.", "task_id")
    status: Status = field("Its status now.")
    superseded: tuple[RunId, ...] = field("Runs of it that no longer count.", "overtaken", each="id")
    pending: tuple[str, ...] = field("What its agent must still be told.")
    changed: tuple[TaskId, ...] = field("Parents whose status changed with it.", "reopened")
    not_undone: tuple[TaskId, ...] = field("Tasks that depend on it, and are not reset.", "dependents")
    dropped_feedback: Feedback | None = field(
        "Feedback of a parent review that was never sent and is dropped, as its file has it.", "let_go"
    )
    commits: tuple[str, ...] = field("What became of commits that their hooks had left to be recorded.")


class PlannedTask(View):
    """One task, its fields named as in the plan file."""

    id: TaskId = field("Its id.")
    title: str = field("What it is, in one line.")
    description: str = field("What it is about.")
    acceptance_criteria: tuple[str, ...] = field("When it is done.")
    prompt: str = field("What its agent is to do.")
    parent_id: TaskId | None = field("Its parent; null at the top of the plan.", "parent")
    child_ids: tuple[TaskId, ...] = field("Its children in their order.", "children")
    deps: tuple[TaskId, ...] = field("Tasks that must be done first.")
    dep_rationale: Mapping[TaskId, str] = field("Why, by task, as far as reasons are given.")
    status: Status = field("Its status.")
    label: str = field("`READY`, `BLOCKED`, `TODO` (a parent), or the status in capitals.")
    created_at: str = field("When it was created.")
    updated_at: str = field("When it was last changed.")
    notes: str | None = field("Notes for people.")


class ListedTask(PlannedTask):
    """A task in a list."""

    depth: int = field("How deep it is in the tree; 0 without `--tree`.")


def _listed(rows: Iterable[tuple[int, Task, str]]) -> list[ListedTask]:
    return [ListedTask.of(task, depth=depth, label=label) for depth, task, label in rows]


class ListOutput(DataOutput, schema_name="list"):
    """The tasks that `list` found."""

    tasks: tuple[ListedTask, ...] = field("The tasks, in plan order.", using=_listed)

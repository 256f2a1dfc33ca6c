"""What an agent proposes for the plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.plan import EditedTask, edited_tasks
from git_blackbird.controller.plan.page import PageResult
from git_blackbird.controller.planning.proposal import Proposal
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.plan import Task


class ProposedTask(Printed[Task]):
    """A new task."""

    field = Fields[Task]()
    id: TaskId = field("Its id.", lambda it: it.id)
    title: str = field("Its title.", lambda it: it.title)
    parent: TaskId | None = field("The task that it is a part of.", lambda it: it.parent)
    after: tuple[TaskId, ...] = field("The tasks that must be done before it.", lambda it: it.deps)
    because: Mapping[TaskId, str] = field("Why, by these.", lambda it: it.dep_rationale)
    description: str = field("What it is about.", lambda it: it.description)
    prompt: str = field("What its agent is to do.", lambda it: it.prompt)
    criteria: tuple[str, ...] = field("What must hold in the end.", lambda it: it.acceptance_criteria)


class PlannedEvent(NamedTuple):
    """What an agent proposes for the plan, and whether the plan was changed."""

    saved: Annotated[bool, Shown("Whether the plan was changed so.")]
    added: Annotated[tuple[ProposedTask, ...], Shown("New tasks.")]
    edited: Annotated[tuple[EditedTask, ...], Shown("Tasks of which fields change.")]
    moved: Annotated[tuple[TaskId, ...], Shown("Tasks that get another parent.")]
    deleted: Annotated[tuple[TaskId, ...], Shown("Tasks to delete.")]
    faults: Annotated[tuple[str, ...], Shown("Why it cannot be accepted.")]
    remarks: Annotated[str, Shown("What the agent says of it.")]
    draft: Annotated[Path | None, Shown("Where it is kept as a page; null where it was saved.")]

    @classmethod
    def of(cls, proposal: Proposal, draft: Path | None, *, is_saved: bool) -> Self:
        change = proposal.change
        result = PageResult() if change is None else change.result
        added = () if change is None else (change.after.tasks[task.id] for task in result.added)
        return cls(
            is_saved,
            tuple(map(ProposedTask, added)),
            edited_tasks(result),
            result.moved,
            result.deleted,
            proposal.faults,
            proposal.remarks,
            draft,
        )

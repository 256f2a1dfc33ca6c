"""What criteria of finished tasks say of the files as they are."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple, Self

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.status import TaskRun
from git_blackbird.controller.proof.done import DoneCriterion
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.run.evidence import CheckResult


class CriterionNow(Printed[DoneCriterion]):
    """A criterion of a task that is done."""

    field = Fields[DoneCriterion]()
    task: TaskId = field("The task.", lambda it: it.task.id)
    result: CheckResult = field("What it says of the files.", lambda it: it.result)
    since: TaskRun | None = field(
        "The change with which it began to fail; null where it passes, or no change of a task did it.",
        lambda it: None if it.since is None else TaskRun(it.since.run),
    )


class DoneEvent(NamedTuple):
    """What the criteria of all tasks that are done say of the files."""

    criteria: Annotated[tuple[CriterionNow, ...], Shown("Each criterion that is a command.")]

    @classmethod
    def of(cls, found: Iterable[DoneCriterion]) -> Self:
        return cls(tuple(map(CriterionNow, found)))

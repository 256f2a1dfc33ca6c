"""What a call would do."""

from collections.abc import Mapping
from typing import Annotated

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.events import StopEvent
from git_blackbird.cli.printed.report import EstimatedWork
from git_blackbird.controller.engine.dry_run import DryRun
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.rules.estimate import Estimate
from git_blackbird.model.rules.limits import AgentModel
from git_blackbird.model.rules.lint import LintFinding


class DryRunOutput(Printed[DryRun]):
    """What an `execute` would do if every task succeeded and every review passed."""

    def __init__(self, foreseen: DryRun, estimate: Estimate) -> None:
        super().__init__(foreseen)
        self.estimate = EstimatedWork(estimate)

    field = Fields[DryRun]()
    would_resume: tuple[TaskId, ...] = field(
        "Tasks whose session would go on: with a change request, or after an interruption.",
        lambda it: tuple(task.id for task in it.resumed),
    )
    would_start: tuple[TaskId, ...] = field(
        "Tasks that would be started, in order.",
        lambda it: tuple(task.id for task in it.order if task.is_leaf and task not in it.continued),
    )
    would_review: tuple[TaskId, ...] = field(
        "Parents that would be reviewed.", lambda it: tuple(task.id for task in it.order if task.children)
    )
    agents: Mapping[TaskId, AgentModel] = field("Which agent each of these tasks gets.", lambda it: it.agents)
    would_review_changes: tuple[TaskId, ...] = field(
        "Tasks whose change would be reviewed.", lambda it: tuple(task.id for task in it.changes)
    )
    findings: tuple[LintFinding, ...] = field(
        "What `plan lint` calls blocking of those that would be started; no call refuses it.",
        lambda it: it.findings,
    )
    stop: StopEvent | None = field(
        "Where it would stop at once: for a parent review, a request that cannot be delivered or "
        "a run that a limit paused; or in the end for a record that cannot be read.",
        lambda it: None if it.stop is None else StopEvent(it.stop),
    )
    estimate: Annotated[EstimatedWork, Shown("What those that would be started will take.")]

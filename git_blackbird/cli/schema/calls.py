"""What a call would do, what a decision led to, and what an agent was told."""

from collections.abc import Mapping

from git_blackbird.cli.schema.base import DataOutput, View, field
from git_blackbird.cli.schema.events import StopEvent
from git_blackbird.cli.schema.report import EstimateView
from git_blackbird.controller.engine.dry_run import DryRun
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.stages import Stage
from git_blackbird.model.run.states import DecisionState


def _started(foreseen: DryRun) -> list[TaskId]:
    return [task.id for task in foreseen.order if task.is_leaf and task not in foreseen.continued]


def _reviewed(foreseen: DryRun) -> list[TaskId]:
    return [task.id for task in foreseen.order if task.children]


class AgentModelView(View):
    """An agent and its model."""

    agent: str = field("The agent.")
    model: str | None = field("The model that it is told to use; null for its own choice, and in a session.")


class DryRunOutput(DataOutput, schema_name="execute-dry-run"):
    """What an `execute` would do if every task succeeded and every review passed."""

    would_resume: tuple[TaskId, ...] = field(
        "Tasks whose session would go on: with a change request, or after an interruption.",
        "resumed",
        each="id",
    )
    would_start: tuple[TaskId, ...] = field("Tasks that would be started, in order.", using=_started)
    would_review: tuple[TaskId, ...] = field("Parents that would be reviewed.", using=_reviewed)
    agents: Mapping[TaskId, AgentModelView] = field("Which agent each of these tasks gets.")
    would_review_changes: tuple[TaskId, ...] = field(
        "Tasks whose change would be reviewed.", "changes", each="id"
    )
    stop: StopEvent | None = field(
        "Where it would stop at once: for a parent review, a request that cannot be delivered or "
        "a run that a limit paused; or in the end for a record that cannot be read."
    )
    estimate: EstimateView = field("What those that would be started will take.")


class DecideOutput(DataOutput, schema_name="decide"):
    """What a decision led to."""

    task: TaskId = field("The task.", "run.task_id")
    run: RunId = field("The run.", "run.id")
    state: DecisionState | None = field("What was decided.", "run.decision_state")
    moved: tuple[str, ...] = field("Paths of the change that look different in the worktree.")
    edited: tuple[str, ...] = field(
        "Paths that were edited in the task's worktree after the run.", "change.edited"
    )
    left_out: tuple[str, ...] = field("Paths of the change that were not approved.", "change.left_out")
    undo: tuple[str, ...] = field("Commands that take a rejected change back, each one line.")
    commit: str | None = field("The id of what an approval committed.", "commit.oid")
    stage: Stage = field("Where the change is once it has landed, if that was possible.")
    stop: StopEvent | None = field(
        "Why an approved change has not landed, or not whole, and what is next; its exit code is that of the "
        "command. Null where it has, where another call lands it, and where nothing was to land."
    )


class TellOutput(DataOutput, schema_name="tell"):
    """What a task's agent was told while it worked."""

    task: TaskId = field("The task.", "task_id")
    run: RunId = field("The run that is paused for it.", "id")
    told: tuple[str, ...] = field("All that the run was told and is to go on with.", "messages_while_working")
    at_once: bool = field("Whether that is at once, and not when its present step ends.", "stops_at_once")
    is_watched: bool = field("Whether a call is at work; without one the next `execute` goes on with it.")

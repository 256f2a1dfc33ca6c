"""Output of ``decide``, ``tell``, ``undo``, ``redo``, ``restore`` and ``worktrees``."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.events import StopEvent
from git_blackbird.controller.change.decide.record import DecisionResult
from git_blackbird.controller.place.listing import PlaceOfTask, Pruned
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.stages import Stage
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, DecisionState
from git_blackbird.model.run.summary import KeptPath, Summary
from git_blackbird.model.views.stop import Stop
from git_blackbird.model.views.undo import UndoResult


class DecideOutput(Printed[DecisionResult]):
    """What a decision led to."""

    def __init__(self, result: DecisionResult, stage: Stage, stop: Stop | None) -> None:
        super().__init__(result)
        self.stage, self.stop = stage, None if stop is None else StopEvent(stop)

    field = Fields[DecisionResult]()
    task: TaskId = field("The task.", lambda it: it.run.task_id)
    run: RunId = field("The run.", lambda it: it.run.id)
    state: DecisionState | None = field("What was decided.", lambda it: it.run.decision_state)
    moved: tuple[str, ...] = field(
        "Paths of the change that look different in the worktree.", lambda it: it.moved
    )
    edited: tuple[str, ...] = field(
        "Paths that were edited in the task's worktree after the run.", lambda it: it.change.edited
    )
    left_out: tuple[str, ...] = field(
        "Paths of the change that were not approved.", lambda it: it.change.left_out
    )
    in_part: tuple[str, ...] = field(
        "Files of which some lines were not approved.", lambda it: it.change.in_part
    )
    undo: tuple[str, ...] = field(
        "Commands that take a rejected change back, each one line.", lambda it: it.undo
    )
    commit: str | None = field(
        "The id of what an approval committed.", lambda it: None if it.commit is None else it.commit.oid
    )
    stage: Annotated[Stage, Shown("Where the change is once it has landed, if that was possible.")]
    stop: Annotated[
        StopEvent | None,
        Shown(
            "Why an approved change has not landed, or not whole, and what is next; its exit code is that "
            "of the command. Null where it has, where another call lands it, and where nothing was to land."
        ),
    ]


class TellOutput(Printed[Run]):
    """What a task's agent was told while it worked."""

    def __init__(self, run: Run, *, is_watched: bool) -> None:
        super().__init__(run)
        self.is_watched = is_watched

    field = Fields[Run]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run that is paused for it.", lambda it: it.id)
    told: tuple[str, ...] = field(
        "All that the run was told and is to go on with.", lambda it: it.messages_while_working
    )
    at_once: bool = field(
        "Whether that is at once, and not when its present step ends.", lambda it: it.stops_at_once
    )
    is_watched: Annotated[
        bool, Shown("Whether a call is at work; without one the next `execute` goes on with it.")
    ]


class UndoOutput(Printed[UndoResult]):
    """What `undo` took out of the worktree, or `redo` brought back."""

    field = Fields[UndoResult]()
    task: TaskId = field("The task.", lambda it: it.task.id)
    run: RunId = field("The last run whose change it was.", lambda it: it.run.id)
    is_redo: bool = field("Whether it was brought back.", lambda it: not VERBS[it.verb].takes_back)
    is_dry_run: bool = field("Whether nothing was changed, only shown.", lambda it: it.is_dry_run)
    summary: Summary = field("What that changed in the worktree.", lambda it: it.summary)
    kept: tuple[KeptPath, ...] = field("Paths that stay as they are, and why.", lambda it: it.kept)
    is_whole: bool = field(
        "Whether the index, and every file not in `kept` for edits of others, could be written;"
        " of a redo, whether all came back.",
        lambda it: it.is_whole,
    )
    dependents: tuple[TaskId, ...] = field(
        "Tasks that depend on it and have run since.", lambda it: it.dependents
    )
    completes: tuple[str, ...] = field(
        "Each earlier `undo TASK` or `redo TASK` of which this does what it left.", lambda it: it.completes
    )
    commit: str | None = field("The id of the commit that was made for it.", lambda it: it.commit)
    uncommitted: str | None = field(
        "Why there is no commit, though the change was committed.", lambda it: it.uncommitted
    )
    behind: str | None = field("Why the index does not follow the commit.", lambda it: it.behind)


class TaskToUndo(Printed[Task]):
    """A task whose change can be taken back, or brought back."""

    def __init__(self, task: Task, command: str) -> None:
        super().__init__(task)
        self.command = command

    field = Fields[Task]()
    task: TaskId = field("The task.", lambda it: it.id)
    title: str = field("Its title.", lambda it: it.title)
    command: Annotated[str, Shown("The command that does so.")]


class UndoListOutput(NamedTuple):
    """The tasks whose change can be taken back, or brought back."""

    tasks: Annotated[Sequence[TaskToUndo], Shown("The tasks, in the order of the plan.")]


class WorktreesOutput(NamedTuple):
    """The worktrees of tasks."""

    worktrees: Annotated[Sequence[PlaceOfTask], Shown("The worktrees.")]


class PrunedWorktreesOutput(NamedTuple):
    """What became of the worktrees of tasks."""

    worktrees: Annotated[Sequence[Pruned], Shown("The worktrees.")]

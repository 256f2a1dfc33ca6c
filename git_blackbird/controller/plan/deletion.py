"""Delete tasks, and show beforehand what else is affected."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from git_blackbird.controller.core.guards import (
    require_not_busy,
    require_whole,
    unfinished_error,
    unfinished_run,
)
from git_blackbird.controller.core.status_sync import supersede_runs
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.plan.edit import changed_statuses, save_change
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.graph import subtree
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.plan_edits import deleted, outside_dependents
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_DELETE
from git_blackbird.storage.store import Transaction


@dataclass(frozen=True)
class DeleteResult:
    """What was deleted, or would be: the task first, then those below it.

    ``detached`` depended on them; ``runs`` are their records, which stay; ``dropped`` are those whose
    change was not finished; ``followed`` had their status changed by it. ``is_dry_run``: nothing was changed.
    """

    task_ids: tuple[TaskId, ...]
    detached: tuple[TaskId, ...]
    runs: Mapping[TaskId, tuple[RunId, ...]]
    dropped: tuple[RunId, ...]
    followed: Mapping[TaskId, Status]
    is_dry_run: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The options without which ``delete`` would refuse."""
        cascade = ("--cascade-children",) if len(self.task_ids) > 1 else ()
        return (*cascade, *(("--force",) if self.detached or self.dropped else ()))


def delete_task(
    workspace: Workspace, task_id: str, *, cascade_children: bool = False, force: bool = False
) -> DeleteResult:
    """Take a task out of the plan; the records of its runs stay on disk.

    ``cascade_children`` takes all below it along. ``force`` takes it out of the dependencies of others, and
    drops an unfinished change. Raises RequestError for what would be lost or broken, also while an agent
    works on it.
    """
    workspace.environment.forbid_agents("delete tasks")
    with workspace.transaction() as transaction:
        deletion = _Deletion(workspace, transaction, task_id)
        deletion.require_agreed(cascade_children=cascade_children, force=force)
        return deletion.carry_out()


def preview_deletion(workspace: Workspace, task_id: str) -> DeleteResult:
    """Return the consequences of deleting a task and all below it; nothing is changed.

    Raises RequestError where it is not possible, as while an agent works on it.
    """
    with workspace.transaction() as transaction:
        return _Deletion(workspace, transaction, task_id).foresee()


def delete_as_shown(workspace: Workspace, shown: DeleteResult) -> DeleteResult:
    """Carry out a deletion whose consequences a person has seen.

    Raises RequestError if they are others by now, and where it is not possible.
    """
    workspace.environment.forbid_agents("delete tasks")
    with workspace.transaction() as transaction:
        deletion = _Deletion(workspace, transaction, shown.task_ids[0])
        if deletion.foresee() != shown:
            raise RequestError(
                f"the plan changed meanwhile: deleting {shown.task_ids[0]} would have other consequences",
                hint="nothing was changed; look at them again",
            )
        return deletion.carry_out()


class _Deletion:
    """One task and all below it, in the plan as it is under the lock."""

    def __init__(self, workspace: Workspace, transaction: Transaction, task_id: str) -> None:
        self._workspace = workspace
        self._transaction = transaction
        self._before = transaction.state().plan
        self._doomed = [below.id for below in subtree(self._before, find_task(self._before, task_id))]
        self._dependents = outside_dependents(self._before, self._doomed)

    def require_agreed(self, *, cascade_children: bool, force: bool) -> None:
        """Refuse losses and broken dependencies that nobody agreed to."""
        task_id = self._doomed[0]
        if len(self._doomed) > 1 and not cascade_children:
            raise RequestError(
                f'refusing to delete "{task_id}": has children (use --cascade-children)',
                hint=f"this also deletes {', '.join(self._doomed[1:])}",
            )
        self._require_free()
        for below in self._doomed:
            if (run := self._unfinished(below)) is not None and not force:
                raise unfinished_error(run, "--force deletes it anyway")
        if self._dependents and not force:
            named = "; ".join(
                f"{dep} (dependents: {', '.join(names)})" for dep, names in self._dependents.items()
            )
            what = f"refusing to delete: would break dependents ({named})"
            raise RequestError(f"{what}. Use --force to remove those dep edges", hint="nothing was changed")

    def _require_free(self) -> None:
        for below in self._doomed:
            require_not_busy(self._workspace, self._before.tasks[below])
            require_whole(self._workspace.store.records.history(below))

    def foresee(self) -> DeleteResult:
        self._require_free()
        return self._result(self._changed(is_kept=False), is_dry_run=True)

    def carry_out(self) -> DeleteResult:
        """Delete, and end unfinished changes first: nobody could decide on them any more."""
        # Reported are the changes as they were before.
        result = self._result(self._before, is_dry_run=False)
        for task_id in self._doomed:
            if self._unfinished(task_id) is not None:
                workspace = self._workspace
                history, now = workspace.store.records.history(task_id), workspace.environment.timestamp()
                supersede_runs(self._transaction, history, now, SUPERSEDED_BY_DELETE)
        after = self._changed(is_kept=True)
        for task_id in self._doomed:
            self._transaction.drop_feedback(task_id)
        return replace(result, followed=changed_statuses(self._before, after))

    def _changed(self, *, is_kept: bool) -> Plan:
        return save_change(
            self._workspace,
            self._transaction,
            lambda plan, moment: deleted(plan, self._doomed, moment),
            is_kept=is_kept,
        )

    def _unfinished(self, task_id: TaskId) -> Run | None:
        return unfinished_run(self._workspace.store.records.history(task_id))

    def _result(self, after: Plan, *, is_dry_run: bool) -> DeleteResult:
        records = self._workspace.store.records
        runs = {gone: tuple(run.id for run in records.history(gone).runs) for gone in self._doomed}
        unfinished = map(self._unfinished, self._doomed)
        return DeleteResult(
            tuple(self._doomed),
            tuple(sorted({one for others in self._dependents.values() for one in others})),
            {gone: ids for gone, ids in runs.items() if ids},
            tuple(run.id for run in unfinished if run is not None),
            changed_statuses(self._before, after),
            is_dry_run,
        )

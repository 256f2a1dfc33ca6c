"""Done stays done: run the criteria of finished tasks again on what later changes made of the worktree."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.criteria import asked_criteria
from git_blackbird.controller.change.check.one_check import Check
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.core.status_sync import new_run, update_run
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.errors import RequestError
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, ShellLine, TaskCommand
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import format_timestamp, moment_of
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.moves import came_at, moves_after
from git_blackbird.model.plan.named_paths import named_paths, overlaps
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.evidence import TreeVerdict, commands_in
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.broken import Broken, BrokenCriterion
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, RunStatus
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.checks import save_check


class Since(NamedTuple):
    """The change of a task with which a criterion of another began to fail, and when it came."""

    task: Annotated[TaskId, Shown("The task.")]
    run: Annotated[RunId, Shown("Its run.")]
    at: int


class DoneCriterion(NamedTuple):
    """A criterion of a task that is done, on a later tree.

    There is no ``since`` where it passes, where no change of another task did it, or, unless it
    ``is_traced``, where that cannot be told.
    """

    task: Annotated[TaskId, Shown("The task.")]
    result: Annotated[CheckResult, Shown("What it says of the files.")]
    since: Annotated[
        Since | None,
        Shown("The change with which it began to fail; null where it passes, or no change of a task did it."),
    ] = None
    is_traced: bool = True


class DoneCriteria(NamedTuple):
    """What the criteria of all tasks that are done say of the files."""

    criteria: Annotated[tuple[DoneCriterion, ...], Shown("Each criterion that is a command.")]


async def recheck_done(call: Call, item: Item) -> Stop | None:
    """Run the criteria of done tasks whose paths a change touched that has landed, on what it made."""
    workspace, run = call.workspace, item.of_run
    came, change = came_at(run), run.change_in_place
    if workspace.config.check.criteria and came is not None and change is not None:
        tasks = await run_in_thread(lambda: [*_touched(workspace, item.state, run.task_id, came)])
        now = workspace.environment.now()
        look = _Look(call, item.state, change.head, f"after {run.task_id}", now, came)
        with call.at_work("stopping the criteria that run after", run.task_id, "them"):
            found = await call.interruptible(look.at(tasks))
        if found is None:
            return interrupted_stop("", EXECUTE, task_id=run.task_id)
        if found:
            passed = sum(one.result.has_passed for one in found)
            text = f"{passed} of {len(found)} criteria of done tasks pass after {run.task_id}"
            inform(call.ui, text, run.task_id)
    update_run(workspace, run, lambda stored: stored.updated(recheck_due=False))
    return None


def _touched(workspace: Workspace, state: PlanState, task_id: TaskId, came: int) -> Iterator[Task]:
    """Yield the tasks that were done before this one came, and have a path that it changed, or name one.

    One with a broken criterion is among them: it may be mended.
    """
    trees = TreeStore(workspace.repo)
    changed = _paths(trees, state.history(task_id))
    names = frozenset(path.decode(errors="replace") for path in changed)
    for task in _done_tasks(state):
        last = state.history(task.id).latest
        done = None if last is None else came_at(last)
        if last is None or done is None or done >= came or task.id == task_id:
            continue
        is_named = last.broken or overlaps(named_paths(task), names)
        if is_named or changed & _paths(trees, state.history(task.id)):
            yield task


def _done_tasks(state: PlanState) -> Iterator[Task]:
    return (task for task in state.plan.leaves() if task.status is Status.DONE and commands_in(task))


def _paths(trees: TreeStore, history: History) -> set[bytes]:
    pairs = (run.made for run in Change.of(history).runs)
    return {path for pair in pairs if pair is not None for path in trees.changed_paths(*pair)}


async def verify_done(call: Call) -> DoneCriteria | None:
    """Return what the criteria of all done tasks say of the worktree as it is; None if interrupted.

    Needs the controller lock. Raises RequestError.
    """
    workspace = call.workspace
    workspace.environment.forbid_agents("verify what is done")
    if not workspace.config.check.criteria:
        switch = ShellLine("git config blackbird.check.criteria true")
        raise RequestError("criteria that are commands do not run here", hint=switch)
    state = await run_in_thread(workspace.plan_state)
    tree = (await run_in_thread(lambda: snapshot(workspace))).tree
    look = _Look(call, state, tree, "as it is now", workspace.environment.now())
    found = await call.interruptible(look.at([*_done_tasks(state)]))
    return None if found is None else DoneCriteria(tuple(found))


class _UnknownError(Exception):
    """A check says nothing of a tree."""


@dataclass(frozen=True)
class _Look:
    """A look at a tree that the worktree had, or has where ``until`` is None; ``when`` says so for people.

    Moves after ``until`` do not count. It ``began`` at this time.
    """

    call: Call
    state: PlanState
    tree: str
    when: str
    began: int
    until: int | None = None
    _known: dict[tuple[str, str | None], asyncio.Future[TreeVerdict | None]] = field(default_factory=dict)

    async def at(self, tasks: Sequence[Task]) -> Sequence[DoneCriterion]:
        """Run the criteria of done tasks, and record which are broken; cancelled if one is interrupted."""
        room = asyncio.Semaphore(self.call.check_slots.count)
        async with asyncio.TaskGroup() as group:
            looks = [group.create_task(self._at(task, room)) for task in tasks]
        return [one for look in looks for one in look.result()]

    async def _at(self, task: Task, room: asyncio.Semaphore) -> Sequence[DoneCriterion]:
        """Run the criteria of one task, one after the other: what a run has started is found by its id."""
        async with room:
            run = self.state.history(task.id).latest
            found = [await self._criterion(task, run, one) for one in await asked_criteria(self.call, task)]
            if run is not None:
                await run_in_thread(lambda: _record(self.call, run, found))
            return found

    async def _criterion(self, task: Task, run: Run | None, asked: CheckResult) -> DoneCriterion:
        if asked.outcome is CheckOutcome.NOT_RUN:
            return DoneCriterion(task.id, asked)
        # One that a person set to done has no run.
        of_run = run or new_run(self.call.workspace, task.id, RunStatus.SUCCESS)
        check = Check(self.call, of_run, asked, (), f"{task.id} {self.when}")
        result = await self._result(check, self.tree)
        if _is_red(result):
            result = await self._again(check, self.tree, result)
        if run is None or not _is_red(result):
            return DoneCriterion(task.id, result)
        try:
            return DoneCriterion(task.id, result, await self._since(check, run))
        except _UnknownError:
            return DoneCriterion(task.id, result, is_traced=False)

    async def _result(self, check: Check, tree: str) -> CheckResult:
        """Return the verdict on a tree, known or new."""
        key = tree, check.of.command
        if key not in self._known:
            self._known[key] = asyncio.ensure_future(check.verdict(check.asked(tree), "other"))
        if (verdict := await self._known[key]) is None:
            raise asyncio.CancelledError
        return verdict.result.updated(criterion=check.of.criterion)

    async def _again(self, check: Check, tree: str, known: CheckResult) -> CheckResult:
        """Return the verdict of a new run in place of one that is older than this look.

        What a command depends on beside the files may have been different then.
        """
        at = moment_of(known.started_at)
        if at is not None and at.nanoseconds >= self.began:
            return known
        if (verdict := await check.once(check.asked(tree), again=True)) is None:
            raise asyncio.CancelledError
        if verdict.result.has_passed:
            save_check(self.call.workspace.paths, verdict)
        return verdict.result.updated(criterion=check.of.criterion)

    async def _since(self, check: Check, run: Run) -> Since | None:
        """Return the change of another task with which a criterion began to fail.

        None where it failed when its own was done, or began with an edit of a person's or an undo. Raises
        as ``_fails``.
        """
        done, own = came_at(run), run.change_in_place
        if done is None or own is None:
            return None
        moves = await run_in_thread(lambda: moves_after(self.state.histories, done))
        moves = [each for each in moves if self.until is None or each.at <= self.until]
        trees = [own.head, *(tree for each in moves for tree in each.move.trees), self.tree]
        check = replace(check, what=f"{run.task_id} as it was before")
        last = await self._last_green(check, trees)
        if last is None or last % 2 == 0:
            return None
        green = await self._result(check, trees[last])
        if not (await self._again(check, trees[last], green)).has_passed:
            raise _UnknownError
        move, other = moves[last // 2], moves[last // 2].run
        is_of_change = move.move.works or other.undone is None or other.undone.redone
        is_of_other = is_of_change and other.task_id != run.task_id
        return Since(other.task_id, other.id, move.at) if is_of_other else None

    async def _last_green(self, check: Check, trees: Sequence[str]) -> int | None:
        """Return which of these trees passes and is followed by one that fails; the last of them does.

        The last ones are looked at first, then steps back that grow, then what is between.
        """
        red, step = len(trees) - 1, 1
        while await self._fails(check, trees[green := max(red - step, 0)]):
            if green == 0:
                return None
            red, step = green, step * 2
        while red - green > 1:
            middle = (red + green) // 2
            red, green = (middle, green) if await self._fails(check, trees[middle]) else (red, middle)
        return green

    async def _fails(self, check: Check, tree: str) -> bool:
        """Whether a check fails on a tree. Raises _UnknownError where it says nothing."""
        result = await self._result(check, tree)
        if not result.has_passed and not _is_red(result):
            raise _UnknownError
        return not result.has_passed


def _is_red(result: CheckResult) -> bool:
    """Whether a command fails on a tree, or does not end there; one that could not be tried says nothing."""
    return result.outcome is CheckOutcome.FAILED or (
        result.outcome is CheckOutcome.BROKEN and result.seconds is not None
    )


def _record(call: Call, run: Run, found: Sequence[DoneCriterion]) -> None:
    """Record in a task's run which of these criteria are broken, and name those that were not before."""
    told = (one for one in found if one.result.has_passed or (_is_red(one.result) and one.is_traced))
    judged = {one.result.command for one in told}
    broken = {_broken(one.result, one.since): one.result.title for one in found if one.since is not None}

    def change(stored: Run) -> Run:
        before = () if stored.broken is None else stored.broken.criteria
        after = (*(one for one in before if one.command not in judged), *broken)
        return stored if after == before else stored.updated(broken=Broken(criteria=after) if after else None)

    known = {(one.command, one.run) for one in (() if run.broken is None else run.broken.criteria)}
    for one, title in broken.items():
        if (one.command, one.run) not in known:
            text = f"{one.task_id} breaks {run.task_id}, which is done: {title} {one.words}"
            warn(call.ui, text, one.task_id, TaskCommand("show", run.task_id))
    update_run(call.workspace, run, change)


def _broken(result: CheckResult, since: Since) -> BrokenCriterion:
    return BrokenCriterion(
        command=result.command or "",
        task_id=since.task,
        run=since.run,
        at=format_timestamp(since.at),
        words=result.words,
        output=result.output,
    )

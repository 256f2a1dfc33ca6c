"""Take each hunk of a change back, and run the checks that see its files without it."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Annotated, NamedTuple

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.criteria import has_checks
from git_blackbird.controller.change.check.evidence import checks_of, run_checks
from git_blackbird.controller.change.check.one_check import SETS_CHECK, Check
from git_blackbird.controller.change.check.programs import TimeLimit
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.core.guards import require_readable
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.launch.run_files import sweep_scratch_dirs
from git_blackbird.controller.place.worktrees import bring_submodules
from git_blackbird.controller.proof.hunks import ChangeHunks
from git_blackbird.controller.proof.judging import (
    PASSED,
    PASSED_ONCE,
    judged,
    most_seconds,
    together,
    told_apart,
    why_useless,
)
from git_blackbird.errors import RequestError
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.messages.display.evidence import place_of
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.globs import matching
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.rules.reach import Reach, sharing
from git_blackbird.model.run.proof import HunkVerdict, Judged, Proof, ProvenPart
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, RunStatus
from git_blackbird.model.run.summary import Trees
from git_blackbird.storage.checks import load_check, load_flaky
from git_blackbird.storage.proven import load_proven, save_proven

_WHY_LIMITED = "three times what it takes with all of the change, for each of check.slots"
_NO_CHECK = "no check runs here that sees a file of the change"
_OPEN = Judged(verdict=HunkVerdict.OPEN)
_UNRUN = Judged(verdict=HunkVerdict.UNRUN)
_BY_CHANCE = Judged(
    verdict=HunkVerdict.INCONCLUSIVE, reason="the check passed once without it, and failed once"
)


class Proven(NamedTuple):
    """What a person's ``prove`` found of a change."""

    task: Annotated[TaskId, Shown("The task.")]
    run: Annotated[RunId, Shown("The run with which its change ends.")]
    proof: Annotated[Proof, Shown("What is known of each hunk of the change.")]


async def prove_task(call: Call, task_id: str, seconds: int | None) -> Proven | None:
    """Judge the hunks of a task's change, and record what came of it; None when it was interrupted.

    Needs the controller lock. Raises RequestError where nothing can be told, and BlackbirdError.
    """
    workspace = call.workspace
    sweep_scratch_dirs(workspace.paths)
    task, run, pair = await run_in_thread(lambda: _change(workspace, task_id))
    if not has_checks(workspace, task):
        raise RequestError("no check is configured that could notice anything", hint=SETS_CHECK)
    await run_in_thread(lambda: bring_submodules(workspace, run))
    evidence = run.evidence or await run_checks(call, task, run, pair)
    proof = None if evidence is None else await prove(call, task, run, pair, seconds)
    if evidence is None or proof is None:
        return None
    if proof.fault is not None:
        raise RequestError(f"nothing can be told of {task.id}: {proof.fault}")
    known = evidence.updated(proof=proof)
    update_run(workspace, run, lambda stored: stored.updated(evidence=known))
    return Proven(task.id, run.id, proof)


def _change(workspace: Workspace, task_id: str) -> tuple[Task, Run, Trees]:
    """Return a task, its latest run, and the trees of its change. Raises RequestError without one."""
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_readable(state, task)
    run = state.history(task.id).latest
    if run is not None and run.status is RunStatus.FAILED:
        why = f"run {run.id} has failed: what it did is not checked"
        raise RequestError(why, hint=TaskCommand("restart", task.id))
    if run is not None and (run.is_check_due or run.status is not RunStatus.SUCCESS):
        why = f"the check of {task.id} is due first" if run.is_check_due else f"run {run.id} has not ended"
        raise RequestError(why, hint=Sentence(TaskCommand("execute", task.id), " goes on with it"))
    pair, summary = change_of(workspace, state, task.id)
    if run is None or pair is None:
        raise RequestError(f"there is no change of {task.id} to prove: {summary.minimal}")
    return task, run, pair


async def prove(call: Call, task: Task, run: Run, pair: Trees, seconds: int | None = None) -> Proof | None:
    """Return which hunks of a change its checks notice; None when it was interrupted.

    A run of a check starts where it ends within so many ``seconds``. Verdicts are kept, also of a call that
    is interrupted.
    """
    with call.at_work("stopping the check of", run.task_id, "it"):
        return await call.interruptible(_prove(call, task, run, pair, seconds))


async def _prove(call: Call, task: Task, run: Run, pair: Trees, seconds: int | None) -> Proof | None:
    proving = await run_in_thread(lambda: _Proving(call, pair, seconds))
    for check in await checks_of(call, task, run, run.task_id) if proving.trials else ():
        is_run = check.of.outcome is not CheckOutcome.NOT_RUN
        if is_run and not await proving.add(check):
            return None
    return proving.proof()


class _Proving:
    """The hunks of a change, and what each check has said of them so far."""

    def __init__(self, call: Call, pair: Trees, seconds: int | None) -> None:
        self.call = call
        is_test = matching(call.workspace.config.check.test_globs)
        self.hunks = ChangeHunks(call.workspace.repo, pair, is_test)
        self.trials = self.hunks.trials
        self.tests = TreeStore(call.workspace.repo).digest(pair.head, is_test)
        self.unreliable = load_flaky(call.workspace.paths)
        # The store of objects, and that of verdicts, are used by one thread at a time.
        self.storing = asyncio.Lock()
        self.runs = 0
        self._found: list[list[Judged]] = [[] for _ in self.trials]
        self._useless: list[str] = []
        self._is_told = not self.trials
        self._began = time.monotonic()
        self._seconds = seconds

    def has_time_for(self, seconds: float) -> bool:
        return self._seconds is None or time.monotonic() - self._began + seconds <= self._seconds

    async def add(self, check: Check) -> bool:
        """Let a check judge what none before it has noticed; return False when it was interrupted."""
        seen = [index for index in range(len(self.trials)) if self._is_for(check, index)]
        if not seen:
            return True
        head = await run_in_thread(partial(check.asked, self.hunks.pair.head))
        self.runs += load_check(self.call.workspace.paths, head) is None
        green = await check.verdict(head, "head")
        if green is None:
            return False
        if (why := why_useless(green)) is not None:
            self._useless.append(why)
            for index in seen:
                self._found[index].append(Judged(verdict=HunkVerdict.INCONCLUSIVE, reason=why))
            return True
        self._is_told = True
        found = await _Judging(self, check, green).judge(seen)
        for index in seen:
            self._found[index].append(found.get(index, _OPEN))
        return not self.call.is_interrupted

    def _is_for(self, check: Check, index: int) -> bool:
        """Whether a check sees a file of a trial that no check before it has noticed."""
        if any(one.verdict is HunkVerdict.NOTICED for one in self._found[index]):
            return False
        paths = self.hunks.paths(self.trials[index].taken)
        return not check.paths or any(map(matching(check.paths).fullmatch, paths))

    def proof(self) -> Proof:
        parts = []
        for (numbers, taken), found in zip(self.trials, self._found, strict=True):
            judged_hunks = tuple(self.hunks.hunks[number] for number in numbers)
            along = len(taken) - len(numbers)
            parts.append(ProvenPart(**dict(together(found)), hunks=judged_hunks, along=along or None))
        return Proof.of(parts if self._is_told else ()).updated(
            left_out=tuple(self.hunks.left_out),
            runs=self.runs,
            seconds=round(time.monotonic() - self._began, 1),
            fault=None if self._is_told else "; ".join(self._useless) or _NO_CHECK,
        )


class _Judging:
    """One check on trials, several at a time; ``green`` is what it says with all of the change.

    One that passed is run a second time, beside others with which it has no test in common.
    """

    def __init__(self, proving: _Proving, check: Check, green: TreeVerdict) -> None:
        limit = most_seconds(green.result, check.call.check_slots.count)
        is_shorter = limit < check.call.workspace.config.check.timeout_seconds
        self._of = proving
        self._check = replace(check, limit=TimeLimit(limit, _WHY_LIMITED) if is_shorter else None)
        self._green = green
        self._found: dict[int, Judged] = {}
        self._keys: Mapping[int, str] = {}
        # Those whose tests are not known have a run of their own.
        self._tests: dict[int, frozenset[str] | None] = {}
        self._waiting: Sequence[int] = ()

    async def judge(self, seen: Sequence[int]) -> Mapping[int, Judged]:
        """Return what the check says of trials; those that there was no time for are left out."""
        slots = self._of.call.check_slots.count
        await run_in_thread(lambda: self._plan(seen))
        await asyncio.gather(*(self._work(number) for number in range(slots)))
        return self._found

    def _plan(self, seen: Sequence[int]) -> None:
        """Find out what is known, or known without a run, and which of the others can share one."""
        of, reach = self._of, Reach(self._green)
        self._keys = {index: self._key(index) for index in seen}
        kept = load_proven(of.call.workspace.paths)
        self._found = {index: kept[key] for index, key in self._keys.items() if key in kept}
        self._tests = {index: reach.tests_of(of.hunks.taken(of.trials[index])) for index in seen}
        for index, tests in self._tests.items():
            if tests == frozenset():
                self._found.setdefault(index, _UNRUN)
        self._waiting = sorted(seen, key=lambda index: -len(self._tests[index] or ()))

    def _key(self, index: int) -> str:
        """Return a digest of what a verdict depends on: the hunks, their files, the tests, and the check."""
        asked, taken = self._green.result, self._of.trials[index].taken
        how = (asked.command, asked.prepared, asked.results, self._check.paths)
        return sha256(repr((self._of.hunks.key(taken), self._of.tests, how)).encode()).hexdigest()[:40]

    async def _work(self, number: int) -> None:
        """Judge trials, as long as there are some, and time; ``number`` is that of the worker."""
        run = self._check.of_run.id
        check = replace(self._check, mark=RunId(f"{run}-{number}") if number else run)
        while (pack := self._next()) and self._has_time and not self._of.call.is_interrupted:
            found = await self._judge(check, pack)
            # Another run at the same time may have found that some are noticed together.
            noticed = {index for index, one in self._found.items() if one.verdict is HunkVerdict.NOTICED}
            self._found |= {index: one for index, one in found.items() if index not in noticed}
            # Another time it may build, or end sooner.
            sure = [index for index in found if self._found[index].verdict is not HunkVerdict.INCONCLUSIVE]
            kept = {self._keys[index]: self._found[index] for index in sure}
            async with self._of.storing:
                await run_in_thread(partial(save_proven, self._of.call.workspace.paths, kept))

    def _has_passed_once(self, index: int) -> bool:
        return index in self._found and self._found[index].verdict is HunkVerdict.OPEN

    def _next(self) -> Sequence[int]:
        """Take the trials of one run from those that wait; none where none does."""
        waiting = [
            index for index in self._waiting if index not in self._found or self._has_passed_once(index)
        ]
        reached = [None if self._stand_ins(index) else self._tests[index] for index in waiting]
        pack = [waiting[place] for place in sharing(reached)]
        self._waiting = [index for index in waiting if index not in pack]
        return pack

    async def _judge(self, check: Check, pack: Sequence[int]) -> Mapping[int, Judged]:
        """Return what is known of trials after one more run, without what was interrupted or had no time.

        The second run of one is without those that stand in for it: where two that use the same are each
        unnoticed, both together may not be.
        """
        others = self._stand_ins(pack[0])
        run = await self._run(check, [*pack, *others])
        if run is not None and others:
            both = judged(self._green, run, self._of.unreliable)
            if both.verdict is HunkVerdict.NOTICED:
                both = both.updated(reason=f"by all {len(others) + 1} together that use the same")
            if both.verdict is not HunkVerdict.INCONCLUSIVE:
                return dict.fromkeys((*pack, *others), both)
            run = await self._run(check, pack)
        return {} if run is None else self._told(run, pack)

    def _told(self, run: TreeVerdict, pack: Sequence[int]) -> Mapping[int, Judged]:
        """Return what a run says of each trial; what it does not tell, or what passed once, waits again."""
        of, green = self._of, self._green
        told: Sequence[Judged | None] = [judged(green, run, of.unreliable)]
        if len(pack) > 1:
            paths = (of.hunks.paths(of.trials[index].taken) for index in pack)
            tests = (self._tests[index] or frozenset() for index in pack)
            told = told_apart(green, run, of.unreliable, [*zip(tests, paths, strict=True)])
        pairs = zip(pack, told, strict=True)
        found = {index: self._counted(index, one) for index, one in pairs if one is not None}
        if not found:
            # What is said to run them is not all that does.
            self._tests |= dict.fromkeys(pack)
        left = [index for index in pack if found.get(index, PASSED_ONCE) == PASSED_ONCE]
        # Others may come that share their second run.
        later = [index for index in left if index in found and self._tests[index] is not None]
        self._waiting = [*(index for index in left if index not in later), *self._waiting, *later]
        return found

    def _counted(self, index: int, one: Judged) -> Judged:
        """Return the verdict on a trial after a run that may be its first or its second."""
        is_second = self._has_passed_once(index)
        if one == PASSED and not is_second:
            return PASSED_ONCE
        return _BY_CHANCE if is_second and one.verdict is HunkVerdict.NOTICED else one

    def _stand_ins(self, index: int) -> Sequence[int]:
        """Return what passed and uses what a trial that passed uses, which another hunk introduces."""
        if not self._has_passed_once(index):
            return ()
        trials, own = self._of.trials, self._of.trials[index].taken
        around = [trial.taken for trial in trials if own < trial.taken]
        passed = [
            other for other, one in self._found.items() if one == PASSED or self._has_passed_once(other)
        ]
        beside = [other for other in passed if not trials[other].taken <= own]
        return [other for other in beside if any(trials[other].taken < taken for taken in around)]

    @property
    def _has_time(self) -> bool:
        return self._of.has_time_for(self._green.result.seconds or 0)

    async def _run(self, check: Check, indexes: Sequence[int]) -> TreeVerdict | None:
        """Run the check without trials; None when it was interrupted, or there is no time."""
        if not self._has_time:
            return None
        of, trials = self._of, [self._of.trials[index] for index in indexes]
        taken = frozenset[int]().union(*(trial.taken for trial in trials))
        async with of.storing:
            tree = await run_in_thread(partial(of.hunks.tree_without, taken))
        place = place_of(of.hunks.hunks[trials[0].judged[0]])
        more = f" and {counted(len(taken) - 1, 'hunk')} more" if len(taken) > 1 else ""
        what = f"{check.of_run.task_id} without {place}{more} ({indexes[0] + 1} of {len(of.trials)})"
        asked = check.of.updated(prepared=self._green.result.prepared, coverage=None, tree=tree)
        is_second = self._has_passed_once(indexes[0])
        run = await replace(check, what=what).once(asked, again=is_second)
        of.runs += run is not None
        return run

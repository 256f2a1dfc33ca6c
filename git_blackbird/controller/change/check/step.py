"""Run the user's check on the change of a run, in a throw-away checkout."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from posixpath import normpath

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.coverage import coverage_of, tree_coverage
from git_blackbird.controller.change.check.criteria import asked_criteria
from git_blackbird.controller.change.check.programs import IN_CHECK_VARIABLE, UserCommand
from git_blackbird.controller.change.check.results import read_results, remove_results
from git_blackbird.controller.change.decide.checkpoint import (
    after_verdicts,
    escalation_reasons,
    why_not_resumable,
)
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.worktree_setup import SetupError
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import scratch_dir
from git_blackbird.controller.place.worktrees import bring_submodules
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.submodules.checkout import check_out_whole
from git_blackbird.git.worktree.saved_trees import CheckoutError
from git_blackbird.messages.display.evidence import NO_CHECK, check_word
from git_blackbird.messages.outgoing.prompts import bound_output, render_check_request
from git_blackbird.model.base.globs import matching
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.base.record import masked
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import CheckFollowUp, Due, after_check, due_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.evidence import TreeVerdict, against_results, commands_in, judged, together
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, Requester, ReviewState
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.events import CheckEnded
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.checks import load_check, load_flaky, save_check
from git_blackbird.storage.paths import SETUP_STREAM

_UNASKED = {None, Due.REVIEW}
_TRIES = 3
_UNKNOWN = CheckOutcome.BROKEN  # until it has run
_FAILED = {CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE, CheckOutcome.BROKEN}
_NO_SNAPSHOTS = "there are no snapshots of the change"


async def check_change(call: Call, item: Item) -> Stop | None:
    workspace, task, run = call.workspace, item.task, item.of_run
    if not workspace.checks and not (workspace.config.check.criteria and commands_in(task)):
        # It was switched off meanwhile.
        update_run(workspace, run, lambda stored: _with_evidence(workspace, stored, None))
        return None
    pair, _ = await run_in_thread(lambda: change_of(workspace, item.state, task.id))
    broken = CheckResult(outcome=CheckOutcome.BROKEN, reason=_NO_SNAPSHOTS)
    evidence: Evidence | None = Evidence(checks=(broken,))
    if pair is not None:
        await run_in_thread(lambda: bring_submodules(workspace, run))
        evidence = await run_checks(call, task, run, pair)
    if evidence is None:
        return interrupted_stop("", EXECUTE, task_id=task.id)
    ended = _save(workspace, run, evidence)
    call.ui.notify(ended)
    if workspace.commits_checked and due_of(ended.run) in _UNASKED and not evidence.has_passed:
        red = (check for check in evidence.checks if not check.has_passed)
        why = "; ".join(f"its {check.title} {check_word(check)}" for check in red) or NO_CHECK
        text = f"the change of {task.id} is not committed: {why}"
        warn(call.ui, text, task.id, TaskCommand("decide", task.id, " --approve", remark="commits it"))
    return None


async def run_checks(call: Call, task: Task, run: Run, pair: Trees, what: str = "") -> Evidence | None:
    """Return what the user's checks say of what a run changed; None when it was interrupted.

    One with paths runs where the change touches these. ``what`` names the later tree for people: by default
    as the change of the run's task.
    """
    with call.at_work("stopping the check of", run.task_id, "it"):
        return await call.interruptible(_run_checks(call, task, run, pair, what or run.task_id))


async def _run_checks(call: Call, task: Task, run: Run, pair: Trees, what: str) -> Evidence | None:
    results, reports = [], []
    for asked, paths in (*_checks(call.workspace), *[(one, ()) for one in await asked_criteria(call, task)]):
        work = _Check(call, run, asked, paths, what)
        base, head = await run_in_thread(partial(work.asked, pair))
        if paths and head.part == base.part:
            if not head.part:
                text = f"the {asked.title} does not run: check.{asked.name}.paths names no file"
                warn(call.ui, text, run.task_id)
            continue
        found = (asked, None) if asked.outcome is CheckOutcome.NOT_RUN else await work.run(base, head)
        if found is None:
            return None
        result, coverage = found
        results.append(result)
        # What failed has not run all that it would.
        if coverage is not None and result.outcome not in _FAILED:
            reports.append(coverage)
    evidence = Evidence(checks=tuple(results))
    if not reports:
        return evidence
    coverage_of_change = partial(coverage_of, call.workspace, pair, reports)
    return evidence.updated(coverage=await run_in_thread(coverage_of_change))


def _checks(workspace: Workspace) -> Iterator[tuple[CheckResult, tuple[str, ...]]]:
    """Yield what is asked of each check, and the paths that it depends on."""
    for name, check in workspace.checks.items():
        asked = CheckResult(
            outcome=_UNKNOWN,
            name=name or None,
            command=check.command,
            results=check.results or None,
            coverage=check.coverage or None,
        )
        yield asked, check.paths


@dataclass(frozen=True)
class _Check:
    call: Call
    of_run: Run
    of: CheckResult
    paths: tuple[str, ...]
    what: str

    def asked(self, pair: Trees) -> tuple[CheckResult, CheckResult]:
        """Return what is asked of both trees, as a verdict is kept: by what the check depends on."""
        workspace = self.call.workspace
        trees, named = TreeStore(workspace.repo), matching(normpath(path).lstrip("/") for path in self.paths)
        asked = self.of.updated(prepared=_preparation(workspace))
        parts = (trees.digest(tree, named) if self.paths else None for tree in pair)
        base, head = (asked.updated(tree=tree, part=part) for tree, part in zip(pair, parts, strict=True))
        # Which lines tests ran matters after the change alone.
        return base.updated(coverage=None), head

    async def run(
        self, before: CheckResult, after: CheckResult
    ) -> tuple[CheckResult, TreeCoverage | None] | None:
        """Return the verdict on a change, and the lines that it ran; None when it was interrupted.

        What fails on the base as well the task did not break, and tests are compared with those of the base.
        A criterion fails there until the task is done.
        """
        head = await self._verdict(after, "head")
        if head is None:
            return None
        is_red = head.result.outcome is CheckOutcome.FAILED
        base = None
        if after.criterion is None and (is_red or head.tests is not None) and after.tree != before.tree:
            base = await self._verdict(before, "base")
            if base is None:
                return None
        result = judged(head, base, load_flaky(self.call.workspace.paths) if is_red else ())
        return result, head.coverage

    async def _verdict(self, asked: CheckResult, which: str) -> TreeVerdict | None:
        """Return the verdict on one tree, known or new; None if interrupted.

        A check that fails runs again on the same tree, up to ``_TRIES`` times, before anybody acts on it.
        """
        paths = self.call.workspace.paths
        if (known := load_check(paths, asked)) is not None:
            return known
        tries: list[TreeVerdict] = []
        while len(tries) < _TRIES and (not tries or tries[-1].result.outcome is CheckOutcome.FAILED):
            tried = await self._try(asked, which, again=bool(tries))
            if tried is None:
                return None
            tries.append(tried)
        verdict = together(tries)
        if verdict.result.outcome is not CheckOutcome.BROKEN:
            save_check(paths, verdict)
        return verdict

    async def _try(self, asked: CheckResult, which: str, *, again: bool) -> TreeVerdict | None:
        """Run the check once; None if interrupted."""
        if self.call.is_interrupted:
            return None
        task_id = self.of_run.task_id
        now = asked.updated(started_at=self.call.workspace.environment.timestamp())
        what = self.what if which == "head" else f"the base of {task_id}"
        named = "" if asked.title == "check" else f", {asked.title}"
        try:
            with await self.call.check_slots.take(task_id):
                text = f"checking {what}{named}{' again' if again else ''}"
                command = "" if asked.criterion else f": {asked.command}"
                inform(self.call.ui, f"{text}{command}", task_id)
                return await self._result(now, which)
        except (AgentUnavailableError, CheckoutError, SetupError, UnusableError) as error:
            return TreeVerdict(now.updated(reason=error.message))

    async def _result(self, asked: CheckResult, which: str) -> TreeVerdict | None:
        """Check a tree out, prepare it and run the command; None if interrupted."""
        call, run = self.call, self.of_run
        workspace, globs, lines = call.workspace, asked.results or (), asked.coverage or ()
        with scratch_dir(workspace.paths, run.id) as folder, call.slots.take() as slot:
            checkout = folder / which
            checkout.mkdir()
            seconds = workspace.config.snapshot.timeout_seconds
            await run_in_thread(
                lambda: check_out_whole(workspace.repo, asked.tree or "", checkout, timeout_seconds=seconds)
            )
            # The folder for temporary files may lie in a repository, which the check must not find.
            apart = {"GIT_CEILING_DIRECTORIES": str(folder), IN_CHECK_VARIABLE: "1"}
            what = f"the check of {run.task_id}"
            setup = call.set_up(run.task_id, what, checkout, self._log(folder, which, SETUP_STREAM), slot)
            if not await replace(setup, variables=apart).run(run.id, folder):
                return None
            command = UserCommand(
                run.task_id,
                run.id,
                asked.command or "",
                checkout,
                folder,
                self._log(folder, which, asked.stream),
                workspace.config.check.timeout_seconds,
                {**apart, **slot.variables},
            )
            await run_in_thread(lambda: remove_results(checkout, (*globs, *lines)))
            ended = await command.run(workspace, call.force_stop)
            if ended.cause is ExitCause.INTERRUPTED:
                return None
            tests = await run_in_thread(lambda: read_results(checkout, globs)) if globs else None
            coverage = None
            if lines:
                read = partial(tree_coverage, checkout, lines, workspace.repo, asked.tree or "")
                coverage = await run_in_thread(read)
        if tests is not None and (redactor := workspace.store.redactor()) is not None:
            tests = masked(tests, redactor.mask_text)
        verdict = TreeVerdict(asked.with_fields(_judge(command, ended)), tests, coverage)
        return against_results(verdict) if globs else verdict

    def _log(self, folder: Path, which: str, stream: str) -> Path:
        """Return the path of the log; that of a check of the base is temporary."""
        log = self.call.workspace.paths.check_log(self.of_run.task_id, self.of_run.id, stream)
        return log if which == "head" else folder / f"base.{stream}"


def _preparation(workspace: Workspace) -> tuple[str, ...] | None:
    """Return the preparation of the files of a check; a verdict depends on it."""
    config = workspace.config.worktree
    return tuple(filter(None, (*config.copy, config.setup))) or None


def _judge(command: UserCommand, ended: Ended) -> CheckResult:
    reason = command.why_broken(ended)
    outcome = CheckOutcome.PASSED if ended.exit_code == 0 else CheckOutcome.FAILED
    return CheckResult(
        outcome=CheckOutcome.BROKEN if reason else outcome,
        exit_code=ended.exit_code,
        seconds=round(ended.duration_seconds, 3),
        output=bound_output(ended.stdout_tail) or None,
        reason=reason,
    )


def _save(workspace: Workspace, run: Run, evidence: Evidence) -> CheckEnded:
    saved = update_run(workspace, run, lambda stored: _with_evidence(workspace, stored, evidence))
    history = workspace.store.records.history(run.task_id)
    return CheckEnded(run.task_id, saved, evidence, escalation_reasons(workspace, history, saved))


def _with_evidence(workspace: Workspace, stored: Run, evidence: Evidence | None) -> Run:
    """Return a record with the evidence of its change, and what is due after it.

    The reviews, else a decision where one is required. Where the configuration says so, a failed check goes
    back to the agent first, and in the end to a person; nobody reviews that change. One that failed before
    is for a person at once, after the reviews if there are any.
    """
    checked = stored.updated(evidence=evidence)
    if stored.is_superseded or not stored.is_check_due:
        return checked
    now, follow_up = workspace.environment.timestamp(), after_check(evidence, workspace.config.check.mode)
    is_reviewed = stored.review_state is ReviewState.DUE
    if evidence is not None and follow_up is CheckFollowUp.FIX:
        skipped = checked.updated(review_state=ReviewState.SKIPPED) if is_reviewed else checked
        return _with_change_request(workspace, skipped, render_check_request(evidence.failed), now)
    if is_reviewed:
        return checked
    if follow_up is CheckFollowUp.ASK:
        return checked.escalating(now)
    return after_verdicts(workspace, checked, now)


def _with_change_request(workspace: Workspace, run: Run, request: str, now: str) -> Run:
    """Return a record with a change request of the check's, or a decision where it cannot be carried out."""
    history, most = workspace.store.records.history(run.task_id), workspace.config.check.max_rounds
    if Change.of(history).count_sent_back(Requester.CHECK) >= most:
        return run.escalating(now)
    if why_not_resumable(workspace, history, run) is not None:
        return run.escalating(now)
    return run.requesting_changes(now, request, Requester.CHECK)

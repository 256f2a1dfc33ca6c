"""Run one check on the trees of a change, each in a throw-away checkout."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.coverage import tree_coverage
from git_blackbird.controller.change.check.programs import IN_CHECK_VARIABLE, TimeLimit, UserCommand
from git_blackbird.controller.change.check.results import read_results, remove_results
from git_blackbird.controller.change.work.worktree_setup import SetupError
from git_blackbird.controller.core.ui import inform
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import scratch_dir
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.submodules.checkout import check_out_whole
from git_blackbird.git.worktree.saved_trees import CheckoutError
from git_blackbird.messages.outgoing.prompts import bound_output
from git_blackbird.model.base.globs import matching
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.record import masked
from git_blackbird.model.rules.evidence import (
    TreeVerdict,
    against_results,
    judged,
    red_green,
    together,
)
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.evidence import CheckResult, RedGreen
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees
from git_blackbird.storage.checks import load_check, load_flaky, save_check
from git_blackbird.storage.paths import SETUP_STREAM

SETS_CHECK = Sentence(TaskCommand("config", "check.command", " 'make test'"), " sets one")

_TRIES = 3
_UNKNOWN = CheckOutcome.BROKEN  # until it has run


def configured_checks(workspace: Workspace) -> Iterator[tuple[CheckResult, tuple[str, ...]]]:
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
class Check:
    """A check on trees of a change; ``what`` names the later one, ``restored`` is what that has as before.

    ``limit`` is there instead of ``check.timeoutSeconds``. Runs side by side have a ``mark`` each.
    """

    call: Call
    of_run: Run
    of: CheckResult
    paths: tuple[str, ...]
    what: str
    restored: tuple[str, ...] = ()
    limit: TimeLimit | None = None
    mark: RunId | None = None

    def asked(self, tree: str) -> CheckResult:
        """Return what is asked of a tree, as a verdict is kept: by what the check depends on."""
        workspace = self.call.workspace
        part = TreeStore(workspace.repo).digest(tree, matching(self.paths)) if self.paths else None
        return self.of.updated(prepared=_preparation(workspace), tree=tree, part=part)

    def asked_of(self, pair: Trees) -> tuple[CheckResult, CheckResult]:
        """Return what is asked of both trees of a change."""
        base, head = map(self.asked, pair)
        # Which lines tests ran matters after the change alone.
        return base.updated(coverage=None), head

    async def run(
        self, before: CheckResult, after: CheckResult
    ) -> tuple[CheckResult, TreeCoverage | None] | None:
        """Return the verdict on a change, and the lines that it ran; None when it was interrupted.

        What fails on the base as well the task did not break, and tests are compared with those of the base.
        A criterion fails there until the task is done.
        """
        head = await self.verdict(after, "head")
        if head is None:
            return None
        is_red = head.result.outcome is CheckOutcome.FAILED
        base = None
        if after.criterion is None and (is_red or head.tests is not None) and after.tree != before.tree:
            base = await self.verdict(before, "base")
            if base is None:
                return None
        result = judged(head, base, load_flaky(self.call.workspace.paths) if is_red else ())
        return result, head.coverage

    async def red_green(self, pair: Trees, old: str) -> RedGreen | None:
        """Return which tests fail on ``old``, the base with the tests of the change; None if interrupted."""
        base, head = await run_in_thread(partial(self.asked_of, pair))
        if self.paths and head.part == base.part:
            return RedGreen()
        first = (await run_in_thread(partial(self.asked, old))).updated(coverage=None)
        verdicts: list[TreeVerdict] = []
        # That it fails there is what is hoped for, and needs no second look.
        for asked, which, tries in ((head, "head", _TRIES), (base, "base", _TRIES), (first, "tests", 1)):
            verdict = await self.verdict(asked, which, tries)
            if verdict is None:
                return None
            verdicts.append(verdict)
        after, before, red = verdicts
        return RedGreen() if after.tests is None else red_green(after.tests, before.tests, red)

    async def once(self, asked: CheckResult, *, again: bool) -> TreeVerdict | None:
        """Return what one run says of a tree that is neither end of the change; None if interrupted."""
        return await self._try(asked, "other", again=again)

    async def verdict(self, asked: CheckResult, which: str, most: int = _TRIES) -> TreeVerdict | None:
        """Return the verdict on one tree, known or new; None if interrupted.

        A check that fails runs again on the same tree, up to ``most`` times, before anybody acts on it.
        """
        paths = self.call.workspace.paths
        if (known := load_check(paths, asked)) is not None:
            return known
        tries: list[TreeVerdict] = []
        while len(tries) < most and (not tries or tries[-1].result.outcome is CheckOutcome.FAILED):
            tried = await self._try(asked, which, again=bool(tries))
            if tried is None:
                return None
            tries.append(tried)
        verdict = together(tries)
        result = verdict.result
        is_sure = result.outcome is not CheckOutcome.FAILED or most == _TRIES
        # What has a reason is about more than the tree: programs may be missing.
        if result.outcome is not CheckOutcome.BROKEN and is_sure and result.reason is None:
            save_check(paths, verdict)
        return verdict

    async def _try(self, asked: CheckResult, which: str, *, again: bool) -> TreeVerdict | None:
        """Run the check once; None if interrupted."""
        if self.call.is_interrupted:
            return None
        task_id = self.of_run.task_id
        now = asked.updated(started_at=self.call.workspace.environment.timestamp())
        bases = {"base": f"the base of {task_id}", "tests": f"the base of {task_id} with its tests"}
        what = bases.get(which, self.what)
        named = "" if asked.title == "check" else f", {asked.title}"
        named += ", with protected files as before" if self.restored and which == "head" else ""
        try:
            with await self.call.check_slots.take(task_id, quietly=which == "other"):
                text = f"checking {what}{named}{' again' if again else ''}"
                command = "" if asked.criterion or which == "other" else f": {asked.command}"
                inform(self.call.ui, f"{text}{command}", task_id)
                return await self._result(now, which)
        except (AgentUnavailableError, CheckoutError, SetupError, UnusableError) as error:
            return TreeVerdict(now.updated(reason=error.message))

    async def _result(self, asked: CheckResult, which: str) -> TreeVerdict | None:
        """Check a tree out, prepare it and run the command; None if interrupted."""
        call, run, mark = self.call, self.of_run, self.mark or self.of_run.id
        workspace, globs, lines = call.workspace, asked.results or (), asked.coverage or ()
        with scratch_dir(workspace.paths, mark) as folder, call.slots.take() as slot:
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
            if not await replace(setup, variables=apart).run(mark, folder):
                return None
            command = UserCommand(
                run.task_id,
                mark,
                asked.command or "",
                checkout,
                folder,
                self._log(folder, which, asked.stream),
                self.limit or TimeLimit(workspace.config.check.timeout_seconds),
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
        if (tests or coverage) and (redactor := workspace.store.redactor()) is not None:
            tests = tests and masked(tests, redactor.mask_text)
            coverage = coverage and masked(coverage, redactor.mask_text)
        verdict = TreeVerdict(asked.with_fields(_judge(command, ended)), tests, coverage)
        return against_results(verdict) if globs else verdict

    def _log(self, folder: Path, which: str, stream: str) -> Path:
        """Return the path of the log; that of a check of anything but the change is temporary."""
        log = self.call.workspace.paths.check_log(self.of_run.task_id, self.of_run.id, stream)
        return log if which == "head" and not self.restored else folder / f"{which}.{stream}"


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

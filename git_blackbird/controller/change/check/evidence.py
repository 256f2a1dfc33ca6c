"""Put together what running a change tells of it: its checks, its tests, and the lines that these ran."""

from dataclasses import replace
from functools import partial

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.coverage import coverage_of
from git_blackbird.controller.change.check.criteria import asked_criteria
from git_blackbird.controller.change.check.one_check import Check, configured_checks
from git_blackbird.controller.change.edits import ChangeEdits
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.git.change.changes import with_files_of
from git_blackbird.git.worktree.summary import file_changes
from git_blackbird.model.base.globs import matching
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.evidence import with_edits
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.evidence import MOST_NAMED, CheckResult, Evidence, RedGreen
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees

_FAILED = {CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE, CheckOutcome.BROKEN}
_PROVABLE = {CheckOutcome.PASSED, CheckOutcome.FLAKY, CheckOutcome.WEAKENED}


async def run_checks(call: Call, task: Task, run: Run, pair: Trees, what: str = "") -> Evidence | None:
    """Return what the user's checks say of what a run changed; None when it was interrupted.

    One with paths runs where the change touches these. ``what`` names the later tree for people: by default
    as the change of the run's task, of which tests may be asked to fail first.
    """
    with call.at_work("stopping the check of", run.task_id, "it"):
        evidence = await call.interruptible(_run_checks(call, task, run, pair, what or run.task_id))
        is_asked = call.workspace.config.check.red_green and not what
        if evidence is None or not is_asked or evidence.outcome not in _PROVABLE:
            return evidence
        found = await call.interruptible(_red_green(call, run, pair))
    return None if found is None else evidence.updated(red_green=found)


async def _run_checks(call: Call, task: Task, run: Run, pair: Trees, what: str) -> Evidence | None:
    workspace, repo = call.workspace, call.workspace.repo
    protected = matching(workspace.config.check.protect)
    changes = await run_in_thread(lambda: file_changes(repo, pair))
    edits = ChangeEdits(repo, pair, changes, workspace.config.check.test_globs)
    guarded, restored = pair.head, tuple[str, ...]()
    if protected.pattern:
        guarded, restored = await run_in_thread(lambda: with_files_of(repo, pair.head, pair.base, protected))
    tests, programs = await run_in_thread(edits.tests), dict[str, None]()
    results: list[CheckResult] = []
    reports: list[TreeCoverage] = []
    for check in await checks_of(call, task, run, what):
        asked, paths = check.of, check.paths
        base, head = await run_in_thread(partial(check.asked_of, pair))
        if paths and head.part == base.part:
            if not head.part:
                text = f"the {asked.title} does not run: check.{asked.name}.paths names no file"
                warn(call.ui, text, run.task_id)
            continue
        found = (asked, None) if asked.outcome is CheckOutcome.NOT_RUN else await check.run(base, head)
        if found is None:
            return None
        result, coverage = found
        # What failed has not run all that it would.
        if coverage is not None and result.outcome not in _FAILED:
            reports.append(coverage)
        edited = await run_in_thread(partial(edits.programs, asked.command))
        programs |= dict.fromkeys(edited)
        results.append(with_edits(result, tests, edited))
        if restored and result.outcome not in {CheckOutcome.FAILED, CheckOutcome.NOT_RUN}:
            guarding = replace(check, restored=restored[:MOST_NAMED])
            trees = await run_in_thread(partial(guarding.asked_of, pair._replace(head=guarded)))
            if (found := await guarding.run(*trees)) is None:
                return None
            # Nothing holds that tree.
            results.append(found[0].updated(tree=None, restored=guarding.restored))
    return Evidence(
        checks=tuple(results),
        edited_tests=tests[:MOST_NAMED] or None,
        edited_programs=tuple(programs)[:MOST_NAMED] or None,
        coverage=await run_in_thread(partial(coverage_of, workspace, pair, reports)) if reports else None,
    )


async def checks_of(call: Call, task: Task, run: Run, what: str) -> list[Check]:
    """Return the configured checks, and the criteria of a task that are commands; some are not to run."""
    criteria = [(asked, ()) for asked in await asked_criteria(call, task)]
    checks = (*configured_checks(call.workspace), *criteria)
    return [Check(call, run, asked, paths, what) for asked, paths in checks]


async def _red_green(call: Call, run: Run, pair: Trees) -> RedGreen | None:
    """Return which tests fail on the base of a change with its tests; None when it was interrupted."""
    workspace, found = call.workspace, RedGreen()
    is_test = matching(workspace.config.check.test_globs)
    old, edited = await run_in_thread(lambda: with_files_of(workspace.repo, pair.base, pair.head, is_test))
    for asked, paths in configured_checks(workspace) if edited else ():
        if asked.results:
            one = await Check(call, run, asked, paths, run.task_id).red_green(pair, old)
            if one is None:
                return None
            found = found.joined(one)
    return found

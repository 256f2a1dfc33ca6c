"""Run the check on commits that have a change on other files than it was decided on with."""

from dataclasses import replace
from functools import partial

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.one_check import SETS_CHECK, Check, configured_checks
from git_blackbird.controller.core.status_sync import new_run
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.errors import UsageError
from git_blackbird.model.run.published import PublishedCheck
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.verified import Verification, VerifiedCommit


async def check_commits(call: Call, found: Verification) -> Verification | None:
    """Return what was found with what checks say of the files of each commit; None if interrupted.

    Needs the controller lock. Raises UsageError where there is no check.
    """
    workspace = call.workspace
    workspace.environment.forbid_agents("have commits checked")
    if not workspace.checks:
        raise UsageError("there is no check to run", hint=SETS_CHECK)
    commits: list[VerifiedCommit] = []
    for verified in found.commits:
        checked: VerifiedCommit | None = verified
        if verified.fault is None and not verified.has_evidence:
            with call.at_work("stopping the check of", verified.decisions[0].text.task, "it"):
                checked = await call.interruptible(_checked(call, verified))
        if checked is None:
            return None
        commits.append(checked)
    return replace(found, commits=tuple(commits))


async def _checked(call: Call, verified: VerifiedCommit) -> VerifiedCommit | None:
    oid, tree = verified.commit.oid, verified.commit.tree
    run = new_run(call.workspace, verified.decisions[0].text.task, RunStatus.SUCCESS)
    evidence: list[PublishedCheck] = []
    fault = None
    for asked, paths in configured_checks(call.workspace):
        check = Check(call, run, asked, paths, f"commit {oid[:12]}")
        wanted = await run_in_thread(partial(check.asked, tree))
        verdict = await check.verdict(wanted.updated(coverage=None), "other")
        if verdict is None:
            return None
        tests = None if verdict.tests is None else verdict.tests.ran
        evidence.append(PublishedCheck.of(verdict.result, tests, tree))
        if not verdict.result.has_passed:
            fault = fault or f"its {verdict.result.title} {verdict.result.words}"
    return replace(verified, evidence=tuple(evidence), has_evidence=True, fault=fault)

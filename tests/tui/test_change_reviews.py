import signal
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.findings import (
    Finding,
    FindingGroup,
    MergedReview,
    MergedVerdict,
    Severity,
    Source,
)
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.diff.view import DiffView
from tests.controller.support import configure, execute, leaf, put_plan, runs_of, status, store_at
from tests.support import commit
from tests.tui.driver import drive, is_over, screen_text, see, started, wait_for

WANTING = "write x.txt one\nspec-wants x.txt two | critical | x.txt has no two"
LARGE = (120, 60)


@pytest.fixture
def reviewed(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", reviews__mode="parallel", reviews__maxIterations="1")
    configure(repo, execution__stopGraceSeconds="0")
    return repo


def reviews(repo: Path) -> list[RunStatus]:
    return [run.status for run in store_at(repo).records.reviews(TaskId("alpha")).runs]


def asks_of_round(app: BlackbirdApp, repo: Path, count: int) -> bool:
    """Whether a checkpoint is shown after this number of reviews."""
    return isinstance(app.screen, CheckpointScreen) and len(reviews(repo)) == count


def test_what_is_not_cleared_is_shown_reviewed_again_and_requested(reviewed: Path) -> None:
    put_plan(reviewed, leaf("alpha", WANTING))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks_of_round(app, reviewed, 2))
        await see(
            app,
            pilot,
            "Spec Review: ISSUES (high confidence)",
            "x.txt has no two",
            "a decision is due: issues are left after round 1 of 1 (reviews.maxIterations)",
            "7. Review again",
        )
        await pilot.press("7", "enter")
        await wait_for(pilot, lambda: asks_of_round(app, reviewed, 4))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        assert "x.txt has no two" in app.screen.query_one(TextArea).text
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))
        await wait_for(pilot, lambda: "reviews of alpha: spec ISSUES, code APPROVED" in screen_text(app))

    drive(reviewed, session, LARGE)
    assert status(reviewed, "alpha") is Status.DONE


@pytest.mark.exhaustive
def test_a_change_is_reviewed_again_while_nothing_runs(reviewed: Path) -> None:
    put_plan(reviewed, leaf("alpha", WANTING))
    execute(reviewed)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks_of_round(app, reviewed, 2))
        await pilot.press("7", "enter")
        await wait_for(pilot, lambda: asks_of_round(app, reviewed, 4))
        await pilot.press("4", "enter", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(reviewed, session, LARGE)
    assert [run.decision_state for run in runs_of(reviewed, "alpha")] == [DecisionState.REJECTED]


def is_shown(app: BlackbirdApp, text: str) -> bool:
    return text in screen_text(app)


@pytest.mark.exhaustive
def test_what_both_found_of_a_clear_change_is_told_and_kept(reviewed: Path) -> None:
    put_plan(reviewed, leaf("alpha", "write x.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_over(app) and "every task is done" in screen_text(app))
        for told in ("running spec review of alpha", "code review of alpha finished", "Action: Proceed"):
            await wait_for(pilot, partial(is_shown, app, told))
        await pilot.press("t")
        await wait_for(pilot, lambda: "APPROVED, round 1" in screen_text(app))
        await pilot.press("h")
        await wait_for(pilot, lambda: app.main.tabs.shown == "runs")
        await wait_for(pilot, lambda: "Review Results:" in screen_text(app))
        await see(app, pilot, "spec_review  success  approved")
        await pilot.press("down")
        await wait_for(pilot, lambda: "Found" in screen_text(app))
        await wait_for(pilot, lambda: "Review Results:" not in screen_text(app))

    drive(reviewed, session, LARGE)


@pytest.mark.exhaustive
def test_both_reviewers_that_another_process_runs_are_followed(reviewed: Path) -> None:
    put_plan(reviewed, leaf("alpha", "write x.txt one\nspec-sleep 60\ncode-sleep 60"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        with started(reviewed, "execute", "--no-input") as other:
            await pilot.press("t")
            await wait_for(pilot, lambda: "  spec review of alpha  " in screen_text(app))
            await wait_for(pilot, lambda: "  code review of alpha  " in screen_text(app))
            other.send_signal(signal.SIGINT)
            await wait_for(pilot, lambda: other.poll() is not None)
        await wait_for(pilot, lambda: "no agent is at work" in screen_text(app))
        await pilot.press("t")
        await wait_for(pilot, lambda: "reviews due" in screen_text(app))

    drive(reviewed, session, LARGE)
    assert runs_of(reviewed, "alpha")[-1].merged_review is None


def finding(line: int | None, description: str) -> Finding:
    return Finding(
        source=Source.CODE,
        type="bug",
        severity=Severity.CRITICAL,
        file="b.txt",
        line=line,
        description=description,
    )


def test_enter_on_a_finding_goes_to_it_in_the_diff_and_its_file_is_marked(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one\nwrite b.txt one\\ntwo\\nthree"))
    execute(repo)
    groups = tuple(
        FindingGroup(findings=(one,), priority=1) for one in (finding(2, "Two."), finding(None, "All."))
    )
    merged = MergedReview(overall=MergedVerdict.CODE_CRITICAL, groups=groups)
    with store_at(repo).transaction() as transaction:
        (run,) = runs_of(repo, "alpha")
        transaction.save_run(run.updated(review_round=1, merged_review=merged.to_json()))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def stands_at() -> str:
            return app.screen.query_one(DiffView).copied_text

        await pilot.press("d")
        await see(app, pilot, " !A b.txt", "  A a.txt", "! findings", "1. [Code Critical] b.txt:2")
        app.screen.set_focus(app.screen.query_one("#overview"))
        await pilot.press("enter")
        await see(app, pilot, "code reviewer, critical: Two.")
        assert stands_at() == "b.txt:2"
        await pilot.press("V")
        app.screen.set_focus(app.screen.query_one("#overview"))
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: stands_at() == "b.txt")

    drive(repo, session, LARGE)

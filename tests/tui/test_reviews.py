"""Reviews on the screen: findings on any task, actions on them, and why one is not possible."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.review import ReviewScreen
from tests.controller.support import (
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    runs_of,
    status,
    store_at,
)
from tests.tui.driver import drive, is_over, screen_text, see, wait_for, works

WANTING = "write x.txt one\nspec-wants x.txt two | critical | x.txt has no two"
LARGE = (120, 60)


def is_shown(app: BlackbirdApp, *texts: str) -> bool:
    return isinstance(app.screen, ReviewScreen) and all(text in screen_text(app) for text in texts)


def plan_guide(repo: Path, review: str = "", use: str = "write use.md usage") -> None:
    put_plan(
        repo,
        replace(parent_of("guide", ["faq", "use"]), prompt=review),
        leaf("faq", "write faq.md questions", parent="guide"),
        leaf("use", use, parent="guide"),
    )


def test_a_parent_says_what_is_in_the_way_before_its_children_are_done(planned: Path) -> None:
    plan_guide(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "not due until these are done: faq, use"))
        await see(
            app,
            pilot,
            "1. Dismiss, with a reason  there is no review of guide to dismiss: not done:",
            "2. Review now  guide cannot be reviewed: not done: faq, use",
        )
        await pilot.press("2", "enter")
        await see(app, pilot, "2. Review now")
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_parent_that_passed_is_reviewed_again_from_here(planned: Path) -> None:
    plan_guide(planned)
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "review    passed", "2. Review again"))
        await see(app, pilot, "1. Dismiss, with a reason  there is no review of guide to dismiss: it is done")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: len(runs_of(planned, "guide")) == 2 and is_over(app))

    drive(planned, session, LARGE)
    assert [run.parent_review_passed for run in runs_of(planned, "guide")] == [True, True]


def test_a_parent_whose_review_is_owed_is_reviewed_now(planned: Path) -> None:
    plan_guide(planned)
    configure(planned, execution__parentReviewEnabled="false")
    execute(planned)
    configure(planned, execution__parentReviewEnabled="true")
    set_status(open_at(planned), "use", Status.TODO)
    set_status(open_at(planned), "use", Status.DONE)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        assert "Action required" not in screen_text(app)
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "review    due", "2. Review now"))
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: is_over(app) and status(planned, "guide") is Status.DONE)

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_reviewer_without_a_verdict_is_named_with_what_can_be_done(planned: Path) -> None:
    plan_guide(planned, "review-answer No idea.")
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: "guide: its review gave no verdict" in screen_text(app))
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "Without a verdict", "1. Dismiss", "2. Review now"))
        assert "there is no review" not in screen_text(app)
        # Keys are named, not commands.
        assert "(h on guide)" in screen_text(app)
        assert "git blackbird" not in screen_text(app)

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_child_whose_session_is_lost_is_restarted(planned: Path) -> None:
    plan_guide(
        planned, "require use.md more | use | Say more.", "write use.md usage\non-feedback write use.md more"
    )
    execute(planned)
    set_status(open_at(planned), "use", Status.TODO)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "1. Restart use"))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app) and status(planned, "guide") is Status.DONE)

    drive(planned, session)
    assert runs_of(planned, "use")[-1].resumes is None


@pytest.mark.exhaustive
def test_what_both_reviewers_found_of_a_leaf_is_shown_and_leads_to_the_decision(planned: Path) -> None:
    configure(planned, reviews__mode="parallel", reviews__maxIterations="1")
    put_plan(planned, leaf("alpha", WANTING))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: "its reviews: SPEC_CRITICAL\n" in screen_text(app))
        await pilot.press("p")
        await wait_for(
            pilot, lambda: is_shown(app, "reviews  SPEC_CRITICAL, round 1 of 1; decision: pending")
        )
        for told in ("Spec Review: ISSUES (high confidence)", "Code review 0", "x.txt has no two"):
            await see(app, pilot, told)
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))
        await pilot.press("p")
        await wait_for(pilot, lambda: is_shown(app, "1. Decide on the change", "2. Review again"))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("4", "enter", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.FAILED)

    drive(planned, session, LARGE)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.REJECTED]


@pytest.mark.exhaustive
def test_a_missing_review_is_named(planned: Path) -> None:
    configure(planned, reviews__mode="parallel")
    put_plan(planned, leaf("alpha", "write x.txt one\ncode-answer I am lost."))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: "its reviews: a review is missing\n" in screen_text(app))
        await pilot.press("p")
        await wait_for(pilot, lambda: is_shown(app, "Missing", "the code review is missing:"))

    drive(planned, session, LARGE)


@pytest.mark.exhaustive
def test_a_leaf_that_nobody_reviewed_is_reviewed_by_hand(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write x.txt one"), leaf("beta", "fail 3"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await wait_for(pilot, lambda: is_shown(app, "none (reviews.mode is off)", "1. Review now"))
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_over(app) and "APPROVED" in screen_text(app))
        await pilot.press("down", "p")
        await wait_for(
            pilot, lambda: is_shown(app, "1. Review now  beta has no change by an agent to review")
        )

    drive(planned, session, LARGE)


@pytest.mark.exhaustive
def test_looking_is_possible_while_agents_work_and_nothing_more(planned: Path) -> None:
    plan_guide(planned, "require use.md more | use | Say more.")
    execute(planned)
    put = store_at(planned).plan().tasks
    put_plan(planned, *put.values(), leaf("slow", "say Working on it.\nsleep 60"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: "slow" in app.main.plan_tree.shown_ids())
        await pilot.press("end", "x")
        await wait_for(pilot, lambda: works(app))
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: is_shown(app, "1. Resume use", "running: execute (process "))
        await pilot.press("1", "enter", "escape")
        assert not is_over(app)
        await pilot.press("q")
        await see(app, pilot, "slow is at work", "2. Pause it and quit")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: not app.is_running)

    drive(planned, session, (150, 40))

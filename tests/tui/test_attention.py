"""The banner shows the same items as ``status``."""

import json
import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.messages.display.queue import item_words
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import runnable
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parent_verdict import Feedback, completion_signature
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus, RunType, TerminalReason
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.plan_edit import LinesScreen
from tests import preloaded
from tests.cli.terminal import program_environ
from tests.controller.support import configure, execute, leaf, put_plan, runs_of, store_at
from tests.model.building import STAMP, plan_of, run, task
from tests.support import commit
from tests.tui.driver import RealApp, drive, screen_text, see, wait_for

NOBODY = 4_000_000
# What the next execute does of itself.
OF_ITSELF = {"ready", "change_review", "review_due"}


def planned() -> Plan:
    waiting, done = Status.WAITING_USER, Status.DONE
    return plan_of(
        task("asks", waiting),
        task("changes", waiting),
        task("decide", waiting),
        task("failed", Status.FAILED),
        task("gone", Status.IN_PROGRESS),
        task("lost", waiting),
        task("none", waiting, children=["none-1"]),
        task("none-1", done, parent="none"),
        task("owed", waiting, children=["owed-1"]),
        task("owed-1", done, parent="owed"),
        task("paused", waiting),
        task("ready"),
        task("reviewed", Status.IN_PROGRESS),
        task("stuck", Status.IN_PROGRESS),
        task("wanting", waiting, children=["wanting-1"]),
        task("wanting-1", done, parent="wanting"),
    )


def recorded(plan: Plan) -> tuple[Run, ...]:
    def review(number: int, parent: str, **fields: object) -> Run:
        signature = completion_signature(
            next(one for one in plan.tasks.values() if one.id == parent), plan.tasks
        )
        about = {"run_type": RunType.REVIEW, "parent_review_completion_signature": signature}
        return run(number, task_id=parent).updated(**about, **fields)

    asked = Question(id="tone", prompt="Which tone?", options=("friendly", "formal"))
    missing = {"missing": ["code"], "findings": [], "groups": [], "conflicts": []}
    return (
        run(1, RunStatus.WAITING_USER, "asks").updated(questions=(asked,)),
        run(2, task_id="changes").updated(
            decision_state=DecisionState.CHANGES_REQUESTED, decision_feedback="Again."
        ),
        run(3, task_id="decide")
        .updated(decision_state=DecisionState.PENDING)
        .updated(review_round=1, merged_review=missing),
        run(4, RunStatus.FAILED, "failed").updated(error="exit status 3"),
        run(5, RunStatus.RUNNING, "gone", pid=NOBODY, process_identity="0"),
        run(6, RunStatus.PAUSED, "lost"),
        run(7, RunStatus.FAILED, "lost").updated(
            resumes=run(6).id,
            terminal_reason=TerminalReason.SESSION_LOST,
            superseded_at=STAMP,
            superseded_by="session-lost",
        ),
        run(8, task_id="none-1"),
        run(9, task_id="owed-1"),
        run(10, RunStatus.PAUSED, "paused"),
        run(11, task_id="reviewed").updated(review_state=ReviewState.DUE),
        run(12, task_id="wanting-1"),
        review(13, "none", error="it said nothing"),
        review(
            14,
            "wanting",
            parent_review_passed=False,
            parent_review_resume_task_ids=(TaskId("wanting-1"),),
            parent_review_feedback="Say more.",
        ),
    )


def put_every_kind(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo")
    plan = planned()
    put_plan(repo, *plan.tasks.values())
    with store_at(repo).transaction() as transaction:
        for one in recorded(plan):
            transaction.save_run(one)
        parent, leaf = (one.id for one in plan.tasks.values() if one.id.startswith("wanting"))
        feedback = Feedback(
            parent_task_id=parent,
            review_run_id=run(14).id,
            feedback="Say more.",
            created_at=STAMP,
            updated_at=STAMP,
        )
        transaction.save_feedback(leaf, feedback)


def output_of(repo: Path, *args: str) -> str:
    command = [sys.executable, "-m", "git_blackbird", *args]
    environ = program_environ({"COLUMNS": "200"})
    return preloaded.run(command, cwd=repo, env=environ, capture_output=True, text=True, check=True).stdout


@pytest.mark.exhaustive
def test_both_name_the_same_in_the_same_words(repo: Path) -> None:
    put_every_kind(repo)
    due = json.loads(output_of(repo, "status", "--json"))["data"]["due"]
    lines = output_of(repo, "status").splitlines()
    waiting = [(item["task"], item["command"]) for item in due if item["kind"] not in OF_ITSELF]

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        required = app.main.required
        assert [(one.task.id, runnable(one.command)) for one in required] == waiting
        for one in required:
            if one.due is Due.CLOSE:
                assert (one.task.id, one.words) == ("gone", "its process is gone")
                continue
            place = lines.index(f"  {one.task.id}  Task {one.task.id}: {item_words(one)}")
            assert not one.why or lines[place + 1].strip().startswith(one.why)
        await pilot.press(*["down"] * 11)
        for one in (*required, required[0]):
            verb = "opens" if app.main.can_open(one) else "shows"
            await see(app, pilot, f"Action required ({len(required)}): [a] {verb} {one.task.id}: {one.words}")
            if one.due is Due.ANSWER:
                # Its key would resume the task, and do what else an execute does first.
                app.main.lead_to(one)
            else:
                await pilot.press("a")
            if one.due is Due.DECIDE:
                await see(app, pilot, f"ACTION REQUIRED  your decision on {one.task.id}")
                assert screen_text(app).count("ACTION REQUIRED") == 1
                await pilot.press("escape")
            await wait_for(pilot, lambda: app.screen is app.main)
            assert app.current is not None
            assert app.current.id == one.task.id
        # From elsewhere, the first comes first.
        await pilot.press("home", "end")
        await see(app, pilot, f"shows {required[0].task.id}: {required[0].words}")

    drive(repo, session, (200, 50))


def test_an_execute_says_what_it_does_with_a_run_whose_process_is_gone(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo")
    put_plan(repo, task("gone", Status.IN_PROGRESS))
    with store_at(repo).transaction() as transaction:
        transaction.save_run(run(5, RunStatus.RUNNING, "gone", pid=NOBODY, process_identity="0"))
    becomes = "execute closes the run: its session is resumed, or else the task has failed"

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "[a] shows gone: its process is gone", becomes)
        await pilot.press("e")
        await see(app, pilot, "no task is ready to be started", f"gone: its process is gone; {becomes}")
        await see(app, pilot, "enter does what is due, esc goes back")
        await pilot.press("escape")

    drive(repo, session, (120, 30), RealApp)


def test_an_execute_that_would_start_nothing_offers_nothing(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo")
    put_plan(repo, task("done", Status.DONE))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "nothing would be started")
        assert "enter" not in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, LinesScreen)
        await pilot.press("escape")

    drive(repo, session, (120, 30), RealApp)


def test_the_key_opens_one_decision_after_the_other_from_anywhere(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, *(leaf(name, f"write {name}.txt one") for name in ("alpha", "beta", "gamma")))
    for name in ("alpha", "beta"):
        execute(repo, None, name)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for name in ("alpha", "beta", "alpha"):
            await see(app, pilot, f"Action required (2): [a] opens {name}: decision due")
            await pilot.press("a")
            await see(app, pilot, f"ACTION REQUIRED  your decision on {name}", "1. Approve")
            await pilot.press("escape")
            await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("a")
        await see(app, pilot, "ACTION REQUIRED  your decision on beta")
        await pilot.press("2", "enter")
        await see(app, pilot, "Action required (1): [a] opens alpha: decision due")
        await pilot.press("a")
        await see(app, pilot, "ACTION REQUIRED  your decision on alpha")

    drive(repo, session)
    states = [runs_of(repo, name)[0].decision_state for name in ("alpha", "beta")]
    assert states == [DecisionState.PENDING, DecisionState.APPROVED_QUIT]

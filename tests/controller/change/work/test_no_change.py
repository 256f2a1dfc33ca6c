"""Stories of agents that say they are done and have changed nothing."""

import asyncio
from pathlib import Path

import pytest

from git_blackbird.controller.change.status_changes import reset_task
from git_blackbird.controller.engine.commands import ResumeRequest, execute_loop, resume_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.messages.display.checkpoint import render_checkpoint
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, ReviewState
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.support import (
    APPROVE,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    run_to_stop,
    runs_of,
    status,
)
from tests.support import commit, wait_until

EXCUSE = "I could not find the file. Which one do you want?"


@pytest.fixture
def demo(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="1")
    return repo


def resume(repo: Path, person: Person | None = None) -> Stop:
    wanted = ResumeRequest("a")
    return perform(
        open_at(repo), person or Person(), lambda workspace, ui: resume_loop(workspace, ui, wanted)
    )


def test_a_success_without_a_change_waits_for_a_decision_though_checkpoints_are_off(demo: Path) -> None:
    put_plan(demo, leaf("a", f"say {EXCUSE}"), leaf("b", "write b.out x", deps=["a"]))
    stop = execute(demo)
    assert (stop.reason, stop.text) == (
        StopReason.DECISION_REQUIRED,
        "a decision is due on a: the agent changed nothing",
    )
    assert [status(demo, task) for task in "ab"] == [Status.WAITING_USER, Status.TODO]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("worktrees", ["false", "true"])
def test_what_does_not_depend_on_it_goes_on(demo: Path, worktrees: str) -> None:
    configure(demo, execution__worktrees=worktrees)
    said = leaf("a", f"say {EXCUSE}"), leaf("b", "write b.out x", deps=["a"])
    put_plan(demo, *said, leaf("c", "write c.out x"), leaf("d", "write d.out x", deps=["c"]))
    stop = execute(demo)
    assert (stop.reason, stop.text) == (
        StopReason.DECISION_REQUIRED,
        "a decision is due on a: the agent changed nothing",
    )
    assert [status(demo, task) for task in "abcd"] == [
        Status.WAITING_USER,
        Status.TODO,
        Status.DONE,
        Status.DONE,
    ]
    person = Person(decisions=[APPROVE])
    assert execute(demo, person).text == "every task is done"


def test_it_stops_all_where_checkpoints_are_on_or_too_many_wait(demo: Path) -> None:
    said = (leaf(name, f"say {EXCUSE}") for name in "abc")
    put_plan(demo, *said, leaf("d", "write d.out x"))
    configure(demo, execution__stopAfterEachTask="true")
    execute(demo)
    assert [status(demo, task) for task in "abcd"] == [Status.WAITING_USER, *[Status.TODO] * 3]
    configure(demo, execution__stopAfterEachTask="false")
    assert execute(demo).text == "decisions are due on a, b"
    assert [status(demo, task) for task in "abcd"] == [*[Status.WAITING_USER] * 2, *[Status.TODO] * 2]
    configure(demo, execution__maxPendingDecisions="5")
    execute(demo)
    assert [status(demo, task) for task in "abcd"] == [*[Status.WAITING_USER] * 3, Status.DONE]


def test_its_checkpoint_says_so_and_shows_the_final_message(demo: Path) -> None:
    put_plan(demo, leaf("a", f"say {EXCUSE}"))
    person = Person(decisions=[APPROVE])
    assert execute(demo, person).text == "every task is done"
    (checkpoint,) = person.checkpoints
    lines = [line.text for line in render_checkpoint(checkpoint)]
    assert lines[1:3] == ["Run status: success", "a decision is due: the agent changed nothing"]
    assert lines[4:6] == ["Agent says:", f"  {EXCUSE}"]


@pytest.mark.parametrize("script", ["echo done", "cat >/dev/null; echo done; touch /dev/null"])
def test_any_command_is_held_to_it(demo: Path, script: str) -> None:
    configure(demo, agent="command", command__run=script)
    put_plan(demo, leaf("a"))
    assert execute(demo).reason is StopReason.DECISION_REQUIRED


def test_a_question_in_prose_is_answered_by_a_change_request(demo: Path) -> None:
    prompt = f"say {EXCUSE}\non-feedback write a.out it\non-feedback say Done."
    put_plan(demo, leaf("a", prompt))
    person = Person(decisions=[changes("a.out, please"), APPROVE])
    assert execute(demo, person).text == "every task is done"
    first, second = person.checkpoints
    assert (first.reasons, second.reasons) == (("the agent changed nothing",), ())


def test_a_run_that_goes_on_with_work_done_is_judged_by_all_of_it(demo: Path) -> None:
    script = 'if [ -e a.out ]; then echo "It is done."; else echo x >a.out; sleep 600; fi'
    configure(demo, agent="command", command__run=script)
    put_plan(demo, leaf("a"))
    workspace = open_at(demo)

    def interrupt_once_it_works(loop: Loop) -> None:
        async def watch() -> None:
            await asyncio.to_thread(wait_until, (demo / "a.out").exists)
            loop.interrupt()

        watching.append(asyncio.ensure_future(watch()))

    watching: list[asyncio.Future[None]] = []
    run_to_stop(workspace, execute_loop(workspace, Person(), (), None), interrupt_once_it_works)
    assert status(demo, "a") == Status.WAITING_USER
    assert resume(demo).text == "every task is done"
    assert runs_of(demo, "a")[-1].no_change is False


def test_what_a_failed_run_did_before_a_retry_counts(demo: Path) -> None:
    script = 'if [ -e a.out ]; then echo "It was done."; else echo x >a.out; exit 3; fi'
    configure(demo, agent="command", command__run=script)
    put_plan(demo, leaf("a"))
    assert execute(demo).reason is StopReason.FAILED
    reset_task(open_at(demo), "a")
    assert execute(demo).text == "every task is done"


def test_an_agent_that_committed_its_work_has_changed_something(demo: Path) -> None:
    put_plan(demo, leaf("a", "write a.out x\ncommit the work"))
    assert execute(demo).text == "every task is done"


def test_nothing_is_not_reviewed(demo: Path) -> None:
    configure(demo, reviews__mode="parallel")
    put_plan(demo, leaf("a", "say nothing to do"))
    person = Person(decisions=[APPROVE])
    assert execute(demo, person).text == "every task is done"
    (run,) = runs_of(demo, "a")
    assert (run.review_state, run.decision_state) == (None, DecisionState.APPROVED_CONTINUE)


def test_who_accepts_it_says_so_in_the_configuration(demo: Path) -> None:
    configure(demo, execution__acceptNoChange="true", reviews__mode="parallel")
    put_plan(demo, leaf("a", "say nothing to do"))
    assert execute(demo).text == "every task is done"
    (run,) = runs_of(demo, "a")
    assert (run.review_state, run.no_change) == (ReviewState.DONE, True)

"""Stories of usage limits: the call waits, goes on in the same session, or lets others start meanwhile."""

import threading
from pathlib import Path

import pytest

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.commands import ResumeRequest, execute_loop, restart_loop, resume_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.plan.edit import NewTask, add_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.limited import HOUR, SECOND, Clock, Waiter, call_at, enlist, sessions, started
from tests.controller.support import configure, leaf, open_at, parent_of, put_plan, runs_of, status
from tests.support import commit, wait_until


@pytest.fixture
def limited(repo: Path) -> Path:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, agent="claude", execution__stopGraceSeconds="1", execution__parentReviewEnabled="false")
    return repo


def execute(repo: Path, person: Waiter, *names: str, until: int | None = None) -> Stop:
    return call_at(repo, person, lambda workspace, ui: execute_loop(workspace, ui, names, None, until))


def in_an_hour(clock: Clock) -> int:
    return clock.seconds() + HOUR


def done(repo: Path, names: str) -> bool:
    return all(status(repo, name) is Status.DONE for name in names)


def test_a_run_that_a_limit_cut_off_goes_on_in_its_session_once_that_is_over(limited: Path) -> None:
    person = Waiter()
    at = in_an_hour(person.clock)
    enlist(limited, a=[f"cut {at}"])
    put_plan(limited, leaf("a"), leaf("b"))
    stop = execute(limited, person)
    assert (stop.reason, done(limited, "ab")) == (StopReason.COMPLETED, True), stop.text
    # Nothing else starts over what is half done in the same worktree.
    assert started(limited) == ["a", "a", "b"]
    assert len(set(sessions(limited, "a"))) == 1
    assert [hold.until for hold in person.waits[0].holds] == [at * SECOND]
    cut, went_on = runs_of(limited, "a")
    assert (cut.status, went_on.resumes) == (RunStatus.PAUSED, cut.id)
    assert any("this call waits at usage limits" in text for text in person.notices())


def test_without_a_time_it_waits_longer_after_each_try(limited: Path) -> None:
    enlist(limited, a=["refused"] * 6)
    put_plan(limited, leaf("a"))
    person = Waiter()
    assert execute(limited, person).reason is StopReason.COMPLETED
    assert (person.minutes, done(limited, "a")) == ([5, 10, 20, 40, 60, 60], True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["2", "1"])
def test_a_call_that_was_ended_while_it_waited_waits_on_when_it_is_started_again(
    limited: Path, jobs: str
) -> None:
    first = Waiter()
    configure(limited, execution__jobs=jobs)
    at = in_an_hour(first.clock)
    enlist(limited, a=[f"cut {at}"])
    put_plan(limited, leaf("a"), leaf("b", deps=["a"]))
    loops: list[Loop] = []

    def interrupt() -> None:
        loops[0].interrupt()

    first.on_wait = interrupt
    stop = call_at(limited, first, lambda workspace, ui: execute_loop(workspace, ui, (), None), loops.append)
    assert (stop.reason, stop.text) == (
        StopReason.INTERRUPTED,
        "interrupted while it waited for a usage limit",
    )
    second = Waiter()
    assert execute(limited, second).reason is StopReason.COMPLETED
    assert second.waits[0].holds == first.waits[0].holds
    assert started(limited) == ["a", "a", "b"]


def test_where_nobody_sees_it_a_limit_ends_the_call_and_the_next_one_tries_again(limited: Path) -> None:
    person = Waiter(is_on_terminal=False)
    enlist(limited, a=[f"cut {in_an_hour(person.clock)}"])
    put_plan(limited, leaf("a"))
    stop = execute(limited, person)
    assert (stop.reason, person.waits) == (StopReason.AGENT_UNAVAILABLE, [])
    assert stop.next_steps[0].startswith("wait until 2")
    assert execute(limited, person).reason is StopReason.COMPLETED
    assert person.waits == []


@pytest.mark.exhaustive
def test_a_limit_holds_one_agent_and_a_change_elsewhere_is_seen_while_a_call_waits(limited: Path) -> None:
    person = Waiter()
    enlist(limited, a=[f"cut {in_an_hour(person.clock)}"], d=[])
    enlist(limited, "codex")
    configure(limited, execution__jobs="2")
    put_plan(limited, leaf("a"), leaf("c"))

    def end() -> None:
        wait_until(lambda: done(limited, "d"))
        person.clock.jump_to(person.waits[0].holds[0].until)

    def add() -> None:
        add_task(open_at(limited), NewTask("d", agent="codex"))
        threading.Thread(target=end).start()

    person.on_wait = add
    assert execute(limited, person).reason is StopReason.COMPLETED
    assert (started(limited).count("a"), started(limited, "codex")) == (2, ["d"])
    assert (done(limited, "acd"), len(person.waits)) == (True, 1)


def test_tasks_that_have_not_begun_start_with_the_next_agent(limited: Path) -> None:
    person = Waiter()
    enlist(limited, a=[f"cut {in_an_hour(person.clock)}"])
    enlist(limited, "codex", b=["refused"])
    configure(limited, execution__worktrees="true", execution__onLimit="other-agent")
    configure(limited, execution__agents="claude demo codex")
    put_plan(limited, leaf("a"), leaf("b", "write x 1"), leaf("c", "append x 2", deps=["b"]))
    stop = execute(limited, person)
    assert (stop.reason, done(limited, "abc")) == (StopReason.COMPLETED, True), stop.text
    assert started(limited) == ["a", "a"]
    assert [run.provider for name in "bc" for run in runs_of(limited, name)] == ["demo", "demo"]
    assert len(person.waits) == 1


def test_where_no_other_agent_starts_over_unfinished_edits_it_is_said_once(limited: Path) -> None:
    person = Waiter()
    at = in_an_hour(person.clock)
    enlist(limited, a=[f"cut {at}", f"cut {at + HOUR}"])
    configure(limited, execution__onLimit="other-agent", execution__agents="demo")
    put_plan(limited, leaf("a"), leaf("b", "write x 1"))
    assert execute(limited, person).reason is StopReason.COMPLETED
    assert (len(person.waits), started(limited)) == (2, ["a", "a", "a", "b"])
    said = "no other task starts over the unfinished edits of a; with --worktrees they would"
    assert person.notices().count(said) == 1


def test_a_call_with_an_end_waits_for_no_limit_beyond_it_and_starts_nothing_then(limited: Path) -> None:
    person = Waiter(is_on_terminal=False)
    at = in_an_hour(person.clock)
    enlist(limited, a=[f"cut {at}"])
    put_plan(limited, leaf("a"), leaf("b"), leaf("c", deps=["a"]))
    for end in (at - 60, at):
        stop = execute(limited, person, until=end * SECOND)
        assert (stop.reason, person.waits, started(limited)) == (StopReason.AGENT_UNAVAILABLE, [], ["a"])
        assert "after the end of this call" in stop.text
    (notice,) = (text for text in person.notices() if "usage limit" in text)
    assert "this call waits at usage limits that end before then" in notice
    assert notice.endswith("; it does not wait for a later one")
    # It is waited for where that is in time, and what runs at the end goes on to its own.
    person.run_seconds = 600
    stop = execute(limited, person, until=(at + 60) * SECOND)
    assert (stop.reason, done(limited, "a"), done(limited, "b")) == (StopReason.COMPLETED, True, False)
    assert stop.text.startswith("nothing starts after 2")
    assert "2 tasks are ready" in stop.text


def test_what_is_due_at_the_end_of_a_call_is_listed_by_what_it_unblocks(limited: Path) -> None:
    person = Waiter(is_on_terminal=False, run_seconds=600)
    enlist(limited)
    configure(limited, execution__jobs="2", execution__stopAfterEachTask="true")
    put_plan(limited, *map(leaf, "abc"), leaf("d", deps=["b"]), leaf("e", deps=["b"]), leaf("f", deps=["c"]))
    stop = execute(limited, person, until=person.clock.now() + 900 * SECOND)
    due = [step.split()[3] for step in stop.next_steps if " decide " in step and "asks" not in step]
    assert (due[0], sorted(started(limited))) == ("b", ["a", "b"])


def resume(workspace: Workspace, ui: Waiter) -> Loop:
    return resume_loop(workspace, ui, ResumeRequest("a", "Say goodbye."))


def restart(workspace: Workspace, ui: Waiter) -> Loop:
    return restart_loop(workspace, ui, "a", "Say goodbye.")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", [resume, restart])
def test_what_a_person_says_to_a_task_reaches_it_after_the_limit(limited: Path, command: object) -> None:
    folder = enlist(limited, a=["fails"])
    put_plan(limited, leaf("a"))
    person = Waiter()
    execute(limited, person)
    (folder / "a").write_text(f"refused {in_an_hour(person.clock)}\n" * 2)
    stop = call_at(limited, person, command)  # type: ignore[arg-type]
    assert (stop.reason, len(person.waits)) == (StopReason.COMPLETED, 2), stop.text
    assert started(limited) == ["a"] * 4
    assert "Say goodbye." in (folder / "prompt").read_text()


def test_a_reviewer_at_a_limit_is_waited_for_too(limited: Path) -> None:
    person = Waiter()
    at = in_an_hour(person.clock)
    enlist(limited, p=[f"refused {at}"])
    configure(limited, execution__parentReviewEnabled="true")
    put_plan(limited, parent_of("p", ["a"]), leaf("a", parent="p"))
    stop = execute(limited, person)
    assert (stop.reason, started(limited)) == (StopReason.COMPLETED, ["a", "p", "p"]), stop.text
    assert done(limited, "ap")


def test_an_account_without_credit_is_not_waited_for(limited: Path) -> None:
    enlist(limited, a=["broke"])
    put_plan(limited, leaf("a"))
    person = Waiter()
    stop = execute(limited, person)
    assert (stop.reason, person.waits) == (StopReason.AGENT_UNAVAILABLE, [])
    assert stop.next_steps[0] == "add credit to the account that claude uses"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["2", "1"])
def test_a_change_whose_reviewer_is_at_a_limit_is_reviewed_after_it(limited: Path, jobs: str) -> None:
    enlist(limited)
    enlist(limited, "codex", a=["refused"])
    configure(limited, execution__jobs=jobs, reviews__mode="parallel", reviews__spec__agent="codex")
    put_plan(limited, leaf("a"))
    person = Waiter()
    stop = execute(limited, person)
    # Both reviewers say nothing that can be read, twice each: what is left is a decision.
    assert (stop.reason, person.minutes) == (StopReason.DECISION_REQUIRED, [5]), stop.text
    assert (started(limited), started(limited, "codex")) == (["a"] * 3, ["a"] * 3)

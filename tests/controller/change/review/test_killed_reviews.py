"""What is left when the program is killed while both reviewers of a change work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import ReviewState, RunStatus, TerminalReason
from tests import preloaded
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
    store_at,
)
from tests.support import commit

PATIENCE_SECONDS = 60.0
CLEAR = "write x.txt one"
LOST, MADE = (RunStatus.FAILED, TerminalReason.CONTROLLER_LOST), (RunStatus.SUCCESS, None)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds what is left behind through /proc")


@pytest.fixture
def demo(repo: Path) -> Path:
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="demo", reviews__mode="parallel", execution__stopGraceSeconds="0")
    return repo


def reviews(repo: Path) -> list[Run]:
    return list(store_at(repo).records.reviews(leaf("a").id).runs)


def ends(repo: Path) -> list[tuple[RunStatus, TerminalReason | None]]:
    return [(review.status, review.terminal_reason) for review in reviews(repo)]


def kill_while_both_review(repo: Path, *command: str) -> list[Run]:
    """Return the records of the two reviewers, who are still at work; the next ones will not wait."""
    put_plan(repo, leaf("a", f"{CLEAR}\nspec-sleep 600\ncode-sleep 600"))
    program = preloaded.Popen(
        [sys.executable, "-m", "git_blackbird", *command],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while sum("waiting" in path.read_text() for path in repo.glob(".git/blackbird/streams/a.*.stdout")) < 2:
        assert (time.monotonic() < deadline, program.poll()) == (True, None)
        time.sleep(0.02)
    program.send_signal(signal.SIGKILL)
    program.wait()
    put_plan(repo, leaf("a", CLEAR))
    left = reviews(repo)
    assert all(signals.marked(one.id) for one in left)
    return left


def assert_both_are_closed(repo: Path, left: list[Run], person: Person, *, again: bool = False) -> None:
    follows = "; it is made again" if again else ""
    told = [
        text
        for one in left
        for text in (
            f"a: the agent of run {one.id} is still running (process {one.pid}); stopping it",
            f"a: its review {one.id} was interrupted{follows}",
        )
    ]
    assert person.notices() == told
    assert [signals.marked(one.id) for one in left] == [[], []]
    assert ends(repo)[:2] == [LOST] * 2


def test_both_are_stopped_and_the_next_execute_reviews_again_once(demo: Path) -> None:
    left, person = kill_while_both_review(demo, "execute", "--no-input"), Person()
    (run,) = runs_of(demo, "a")
    assert (run.review_state, run.decision_state) == (ReviewState.DUE, None)
    assert execute(demo, person).text == "every task is done"
    assert_both_are_closed(demo, left, person, again=True)
    assert ends(demo) == [LOST, LOST, MADE, MADE]
    (done,) = runs_of(demo, "a")
    assert done.review_state is ReviewState.DONE
    assert done.merged_review is not None
    assert done == run.updated(
        review_state=done.review_state,
        review_round=1,
        merged_review=done.merged_review,
        status_since=done.status_since,
    )
    assert execute(demo).text == "every task is done"
    assert len(reviews(demo)) == 4


def test_both_are_stopped_where_the_task_was_set_to_done_meanwhile(demo: Path) -> None:
    left, person = kill_while_both_review(demo, "execute", "--no-input"), Person()
    set_status(open_at(demo), "a", Status.DONE)
    assert execute(demo, person).text == "every task is done"
    assert_both_are_closed(demo, left, person)
    assert len(reviews(demo)) == 2


@pytest.mark.exhaustive
def test_both_are_stopped_where_the_task_is_begun_anew(demo: Path) -> None:
    left, person = kill_while_both_review(demo, "execute", "--no-input"), Person()
    set_status(open_at(demo), "a", Status.TODO)
    assert execute(demo, person).text == "every task is done"
    assert_both_are_closed(demo, left, person)
    assert ends(demo) == [LOST, LOST, MADE, MADE]
    overtaken, made = runs_of(demo, "a")
    assert [review.reviewed_run for review in reviews(demo)] == [overtaken.id] * 2 + [made.id] * 2


def test_both_are_stopped_where_a_change_that_is_done_was_only_looked_at(demo: Path) -> None:
    configure(demo, reviews__mode="off")
    put_plan(demo, leaf("a", CLEAR))
    execute(demo)
    left, person = kill_while_both_review(demo, "review", "run", "a"), Person()
    set_status(open_at(demo), "a", Status.DONE)
    assert execute(demo, person).text == "every task is done"
    assert_both_are_closed(demo, left, person)
    assert (len(reviews(demo)), status(demo, "a")) == (2, Status.DONE)

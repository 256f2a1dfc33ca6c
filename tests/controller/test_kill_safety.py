"""SIGKILL at numbered persistence steps: nothing is lost, and the flow can be finished.

The suite takes every sixteenth step; with ``BLACKBIRD_EVERY_STEP`` set, each is taken.
"""

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.controller.face import LeftOpen
from git_blackbird.controller.repair import running_records
from git_blackbird.controller.requests import ResumeRequest, reset_task, resume_loop
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Decision
from git_blackbird.model.conversation import Question
from git_blackbird.model.findings import Action
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import DecisionState, ReviewState, RunStatus, RunType
from git_blackbird.model.status import derive_leaves
from git_blackbird.model.stop import StopReason
from git_blackbird.model.task_review import merged_of
from tests.controller.killing import STRIDE, leftover_files, run_killed
from tests.controller.support import (
    APPROVE,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    run_to_stop,
    status,
)
from tests.support import commit

WANTED = "say it in French"
SHARES = 4
REQUIRED = StopReason.PARENT_REVIEW_REQUIRED


class Reviewer(Person):
    """Requests changes of the first task once, approves everything else, answers every question."""

    def __init__(self, repo: Path) -> None:
        super().__init__()
        self.repo = repo

    async def decide(self, checkpoint: Checkpoint) -> Decision | LeftOpen | None:
        history = open_at(self.repo).store.records.history(checkpoint.task.id)
        asked = any(run.decision_feedback == WANTED for run in history.runs)
        return APPROVE if asked or checkpoint.task.id != "t1" else changes(WANTED)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        return {question.id: "a" for question in questions}


@pytest.fixture
def flow(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    put_plan(
        repo,
        parent_of("p", ["t1", "t2"]),
        leaf("t1", "write x.txt bonjour", parent="p"),
        leaf("t2", "ask q Which? | a | b\nanswered q y.txt", deps=["t1"], parent="p"),
    )
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__stopGraceSeconds="0")
    return repo


def decisions(repo: Path) -> set[tuple[str, str, str | None]]:
    found: set[tuple[str, str, str | None]] = set()
    for history in open_at(repo).store.image().histories.values():
        assert not history.faults
        for run in history.runs:
            if run.decision_state not in {None, DecisionState.PENDING}:
                found.add((run.id, str(run.decision_state), run.decision_feedback))
    return found


def finish(repo: Path) -> None:
    """Do what the program says is due until every task is done."""
    for _ in range(12):
        stop = execute(repo, Reviewer(repo))
        image = open_at(repo).store.image()
        assert derive_leaves(image.plan, image.histories) == {}
        assert not list(running_records(image.histories))
        if all(task.status == Status.DONE for task in image.plan.tasks.values()):
            return
        assert stop.reason in {StopReason.COMPLETED, StopReason.FAILED, REQUIRED}, stop
        owed = open_at(repo).standing(image).feedback
        for task_id in owed:
            resume(repo, task_id, RunStatus.SUCCESS)
        for task in (task for task in image.plan.leaves() if task.id not in owed):
            latest = image.history(task.id).latest
            if latest is not None and latest.status in {RunStatus.PAUSED, RunStatus.WAITING_USER}:
                resume(repo, task.id, latest.status)
            elif task.status == Status.FAILED:
                reset_task(open_at(repo), task.id)
    raise AssertionError("the flow could not be finished")


def resume(repo: Path, task_id: str, state: RunStatus) -> None:
    workspace = open_at(repo)
    answers = {"q": "a"} if state is RunStatus.WAITING_USER else {}
    run_to_stop(workspace, resume_loop(workspace, Reviewer(repo), ResumeRequest(task_id, answers=answers)))


def heard(repo: Path, task_id: str) -> str:
    runs = open_at(repo).store.image().histories[leaf(task_id).id].runs
    return "\n".join(str(run.context) for run in runs)


@pytest.mark.parametrize("share", range(SHARES))
def test_killed_before_a_persistence_step(flow: Path, tmp_path: Path, share: int) -> None:
    step, killed = 1 + share * STRIDE, True
    while killed:
        place = tmp_path / f"step-{step}"
        shutil.copytree(flow, place, symlinks=True)
        killed = run_killed(lambda place=place: execute(place, Reviewer(place)), step)  # type: ignore[misc]
        open_at(place).store.plan()
        kept = decisions(place)
        finish(place)
        assert kept <= decisions(place)
        assert status(place, "p") == Status.DONE
        assert WANTED in heard(place, "t1")
        assert leftover_files(place) == []
        assert (place / "x.txt").read_text().startswith("bonjour\n")
        assert (place / "y.txt").read_text() == "a\n"
        shutil.rmtree(place)
        step += SHARES * STRIDE
    assert step > 40


@pytest.fixture
def reviewed(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    put_plan(
        repo,
        replace(parent_of("p", ["t"]), prompt="require y.txt more | t | y.txt needs more"),
        leaf("t", "write y.txt a\non-feedback append y.txt more", parent="p"),
        leaf("z", "write z.txt z", deps=["p"]),
    )
    configure(repo, agent="demo", execution__stopGraceSeconds="0")
    return repo


def review_and_resume(repo: Path) -> None:
    """Work up to the failing review, and carry what it found to the child."""
    if execute(repo).reason is REQUIRED:
        resume(repo, "t", RunStatus.SUCCESS)


@pytest.mark.parametrize("share", range(SHARES))
def test_killed_before_a_persistence_step_of_a_review(reviewed: Path, tmp_path: Path, share: int) -> None:
    step, killed = 1 + share * STRIDE, True
    while killed:
        place = tmp_path / f"step-{step}"
        shutil.copytree(reviewed, place, symlinks=True)
        killed = run_killed(lambda place=place: review_and_resume(place), step)  # type: ignore[misc]
        finish(place)
        image = open_at(place).store.image()
        verdicts = [run for run in image.histories[leaf("p").id].runs if run.parent_review_passed is not None]
        assert [run.parent_review_passed for run in verdicts] == [False, True]
        told = [run.context.get("parentReviewFeedback") for run in image.histories[leaf("t").id].runs]
        assert verdicts[0].id in [one["reviewRunId"] for one in told if one]
        assert (image.feedback, leftover_files(place)) == ({}, [])
        assert status(place, "z") == Status.DONE
        assert (place / "y.txt").read_text() == "a\nmore\n"
        shutil.rmtree(place)
        step += SHARES * STRIDE
    assert step > 30


@pytest.fixture
def changed(repo: Path) -> Path:
    """A change that is to be reviewed: both reviewers find it clear."""
    commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("t", "write x.txt one"))
    configure(repo, agent="demo", execution__stopGraceSeconds="0")
    execute(repo)
    with open_at(repo).store.transaction() as transaction:
        (run,) = transaction.history(leaf("t").id).runs
        transaction.save_run(run.with_fields(review_state=ReviewState.DUE))
    configure(repo, reviews__mode="parallel")
    return repo


def test_killed_before_a_persistence_step_of_the_reviews_of_a_change(changed: Path, tmp_path: Path) -> None:
    step, killed = 1, True
    while killed:
        place = tmp_path / f"step-{step}"
        shutil.copytree(changed, place, symlinks=True)
        killed = run_killed(lambda place=place: execute(place), step)  # type: ignore[misc]
        finish(place)
        store = open_at(place).store
        (run,) = store.records.history(leaf("t").id).runs
        reviews = store.records.reviews(leaf("t").id)
        merged = merged_of(run)
        assert merged is not None
        assert (run.review_state, merged.action, reviews.faults) == (ReviewState.DONE, Action.PROCEED, ())
        ends = Counter((one.run_type, one.status) for one in reviews.runs)
        for kind in (RunType.SPEC_REVIEW, RunType.CODE_REVIEW):
            cut_off = ends.pop((kind, RunStatus.FAILED), 0)
            assert 1 <= ends.pop((kind, RunStatus.SUCCESS)) <= 2 - cut_off
        assert not ends
        assert leftover_files(place) == []
        shutil.rmtree(place)
        step += STRIDE
    assert step > 20

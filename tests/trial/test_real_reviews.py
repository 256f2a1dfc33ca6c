"""The gate with the real agents: fail, pause, resume in the same session, review again, until it passes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.controller.support import leaf, parent_of, put_plan
from tests.standin.install import CODEX, Program
from tests.standin.real import real_by
from tests.standin.server import Reply, StandIn
from tests.support import commit
from tests.trial.program import Record, Trial
from tests.trial.real_trial import assert_one_session, enlist


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    """Two levels of parents: ``top`` has ``mid`` and ``c``, ``mid`` has ``a`` and ``b``; ``z`` needs top."""
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent})
    top, mid = parent_of("top", ["mid", "c"]), parent_of("mid", ["a", "b"])
    put_plan(
        repo,
        replace(top, acceptance_criteria=("It is whole.",)),
        replace(mid, acceptance_criteria=("It greets.",), parent=top.id),
        leaf("a", "Write a.txt.", parent="mid"),
        leaf("b", "Write b.txt.", parent="mid"),
        leaf("c", "Write c.txt.", parent="top", deps=["mid"]),
        leaf("z", "Write z.txt.", deps=["top"]),
    )
    return trial


def work(model: StandIn, *tasks: str) -> None:
    """Let the model change the file of each task in turn."""
    for task in tasks:
        call = model.dialect.shell(f"echo more >>{task}.txt")
        model.tell(Reply(tools=(call,)), f"{task} is done.")


def judge(model: StandIn, children: str, **feedback: str) -> None:
    """Let the model look, and find these children wanting, or none."""
    results: list[dict[str, Any]] = [
        {"taskId": child, "status": "failed" if child in feedback else "passed", "feedback": told}
        for child in children.split()
        for told in [feedback.get(child)]
    ]
    verdict = {
        "passed": not feedback,
        "resumeTaskIds": list(feedback),
        "feedbackForResume": " ".join(feedback.values()),
        "reviewResults": results,
    }
    model.tell(Reply(tools=(model.dialect.shell("git log --oneline"),)), model.dialect.answers(verdict))


def verdicts(trial: Trial, parent: str) -> list[tuple[bool | None, tuple[str, ...]]]:
    return [
        (record.get("parent_review_passed"), tuple(record.get("parent_review_resume_task_ids") or ()))
        for record in trial.records(parent)
    ]


def feedback_files(trial: Trial) -> list[str]:
    return sorted(path.stem for path in (trial.repo / ".git/blackbird/parent-review-feedback").glob("*.json"))


def heard(model: StandIn) -> str:
    """Return what the model was told last."""
    return model.prompts()[-1]


def check_schemas(model: StandIn, reviews: list[Record], *children: tuple[str, ...]) -> None:
    """Check that the requests of every review, and no other, held the answer to the schema of its parent."""
    schemas = [model.dialect.schema_in(request) for request in model.requests]
    seen = [schema["properties"]["resumeTaskIds"]["items"]["enum"] for schema in schemas if schema]
    assert len(seen) == 2 * len(reviews)
    assert {tuple(ids) for ids in seen} == set(children)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real_by(CODEX), indirect=True)
def test_three_rounds_on_two_levels_of_parents(trial: Trial, model: StandIn) -> None:
    work(model, "a", "b")
    judge(model, "a b", a="Mend a once.")
    output = trial.expect(5, "execute", "--no-input")
    assert "next step: git blackbird resume a" in output
    assert trial.statuses() | {"a": "done", "b": "done", "c": "todo", "z": "todo"} == trial.statuses()
    assert feedback_files(trial) == ["a"]

    work(model, "a")
    judge(model, "a b", a="Mend a twice.", b="Mend b.")
    trial.expect(5, "resume", "a", "--no-input")
    assert feedback_files(trial) == ["a", "b"]
    work(model, "a")
    trial.expect(5, "resume", "a", "--no-input")
    assert "Mend a twice." in heard(model)
    assert feedback_files(trial) == ["b"]
    work(model, "b")
    judge(model, "a b", a="Mend a thrice.")
    trial.expect(5, "resume", "b", "--no-input")
    work(model, "a")
    judge(model, "a b")
    trial.expect(0, "resume", "a", "--no-input")
    assert feedback_files(trial) == []
    assert verdicts(trial, "mid") == [(False, ("a",)), (False, ("a", "b")), (False, ("a",)), (True, ())]

    work(model, "c")
    judge(model, "mid c", mid="The parts do not fit.")
    trial.expect(5, "execute", "--no-input")
    assert (feedback_files(trial), trial.statuses()["z"]) == (["a", "b"], "todo")
    work(model, "a")
    trial.expect(5, "resume", "a", "--no-input")
    assert "The parts do not fit." in heard(model)
    work(model, "b")
    judge(model, "a b")
    judge(model, "mid c")
    trial.expect(0, "resume", "b", "--no-input")
    work(model, "z")
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == dict.fromkeys(("a", "b", "c", "mid", "top", "z"), "done")

    assert feedback_files(trial) == []
    reviews = trial.records("mid") + trial.records("top")
    assert verdicts(trial, "top") == [(False, ("mid",)), (True, ())]
    assert {(review["run_type"], review["status"]) for review in reviews} == {("review", "success")}
    assert not any(review.get("provider_session_ref") for review in reviews)
    check_schemas(model, reviews, ("a", "b"), ("c", "mid"))
    for task in "ab":
        assert_one_session(trial.records(task))
    assert [len(trial.records(task)) for task in "abcz"] == [5, 3, 1, 1]
    assert (trial.repo / "a.txt").read_text() == "more\n" * 5

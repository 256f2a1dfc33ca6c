"""What a person is asked before anything starts where another program did something, and what is taken."""

import json
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.adopt import (
    UnansweredError,
    adopt,
    find_adoptable,
    leave,
)
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.errors import ExitCode, RequestError
from git_blackbird.model.plan.status import Status
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    runs_of,
    status,
)
from tests.support import write

# One that the Go program gives, with no time in it.
RUN = "9f86d081884c7d65"
STARTED = "2023-06-28T17:00:00Z"


def bring(repo: Path, task: str = "a", **fields: object) -> Path:
    """Put a record of another program below ``.blackbird/``."""
    record = {
        "id": RUN,
        "taskId": task,
        "startedAt": STARTED,
        "completedAt": STARTED,
        "status": "success",
        "decision_state": "pending",
        "decision_required": True,
        **fields,
    }
    name = f".blackbird/runs/{task}/{record['id']}.json"
    write(repo, {name: json.dumps(record)})
    return repo / name


@pytest.fixture
def planned(repo: Path) -> Path:
    """A repository with tasks and no run of ours."""
    configure(repo, agent="demo")
    put_plan(repo, leaf("a"), leaf("b"))
    return repo


def test_who_takes_it_goes_on_from_there(planned: Path) -> None:
    bring(planned)
    person = Person()
    assert execute(planned, person).reason is StopReason.DECISION_REQUIRED
    question = person.agreements[0]
    assert question.question == "Let it count?"
    assert any(f"a  run {RUN} of " in line.text for line in question.remarks)
    assert [line for line in person.notices() if line.startswith(f"adopted for a: run {RUN}")]
    assert [run.id for run in runs_of(planned, "a")] == [RUN]


def test_who_leaves_it_is_not_asked_again(planned: Path) -> None:
    bring(planned)
    person = Person(agrees=False)
    execute(planned, person, limit=1)
    assert [question.question for question in person.agreements] == ["Let it count?"]
    again = Person()
    execute(planned, again, limit=1)
    assert again.agreements == []
    assert RUN not in [run.id for run in runs_of(planned, "a")]
    assert status(planned, "a") is Status.WAITING_USER


@pytest.mark.parametrize("answer", [None, Unanswered()])
def test_nothing_starts_without_an_answer(planned: Path, answer: Unanswered | None) -> None:
    bring(planned)
    with pytest.raises(UnansweredError, match=f"a  run {RUN}") as caught:
        execute(planned, Person(agrees=answer))
    assert caught.value.exit_code is ExitCode.DECISION_REQUIRED
    assert runs_of(planned, "a") == runs_of(planned, "b") == ()


def test_only_what_was_shown_is_taken(planned: Path) -> None:
    bring(planned)
    workspace = open_at(planned)
    shown = find_adoptable(workspace, ["a"])
    bring(planned, decision_state="approved_continue")
    with pytest.raises(RequestError, match="what is there for a has changed meanwhile"):
        adopt(workspace, shown)
    assert runs_of(planned, "a") == ()


def test_what_is_shown_counts_beside_the_copy_of_a_record_that_was_moved_away(planned: Path) -> None:
    bring(planned)
    newer = bring(planned, id="a" * 16, startedAt="2023-06-29T17:00:00Z")
    write(planned, {f".git/blackbird/runs/a/{newer.name}.unreadable": "{"})
    person = Person()
    execute(planned, person)
    assert [line for line in person.notices() if line.startswith(f"adopted for a: run {RUN}")]
    assert [run.id for run in runs_of(planned, "a")] == [RUN]


def test_agents_answer_nothing(planned: Path) -> None:
    bring(planned)
    workspace = open_at(planned, BLACKBIRD_RUN_ID=RUN)
    shown = find_adoptable(workspace, [])
    for attempt in (adopt, leave):
        with pytest.raises(RequestError, match="an agent may not"):
            attempt(workspace, shown)


def test_a_verdict_on_a_parent_counts_once_it_is_adopted(repo: Path) -> None:
    configure(repo, agent="demo", execution__parentReviewEnabled="true")
    put_plan(repo, parent_of("p", ["a"]), leaf("a", parent="p"))
    verdict = {"run_type": "review", "parent_review_passed": False, "parent_review_resume_task_ids": ["a"]}
    bring(repo, "p", decision_state=None, **verdict, parent_review_feedback="Add a test.")
    bring(repo, "a", run_type="review")
    workspace = open_at(repo)
    (found,) = find_adoptable(workspace, [])
    assert (found.task_id, found.kind, found.becomes) == ("p", "review", None)
    assert workspace.store.records.history(found.task_id).reviews == ()
    adopt(workspace, [found])
    assert [run.id for run in workspace.store.records.history(found.task_id).reviews] == [RUN]
    assert status(repo, "a") is Status.TODO

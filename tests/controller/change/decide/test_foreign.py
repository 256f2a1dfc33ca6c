"""What a person who names it takes over of what was done elsewhere, and what nobody can."""

import json
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.foreign import (
    accept_all_foreign,
    accept_foreign,
    reject_copy,
    take_over_waiting,
)
from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.errors import RequestError
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from tests.controller.support import (
    APPROVE,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
)
from tests.support import write

# One that the Go program gives, with no time in it; of the same moment it is the later one.
RUN, OTHER = "9f86d081884c7d65", "9f86d08100000000"
STARTED = "2023-06-28T17:00:00Z"


def bring(repo: Path, **fields: object) -> None:
    """Put a record of elsewhere below ``.blackbird/``."""
    record = {
        "id": RUN,
        "taskId": "a",
        "startedAt": STARTED,
        "status": "success",
        "decision_state": "pending",
        "decision_required": True,
        **fields,
    }
    write(repo, {f".blackbird/runs/a/{record['id']}.json": json.dumps(record)})


@pytest.fixture
def elsewhere(repo: Path) -> Path:
    """A repository with a task and no run of ours."""
    configure(repo, agent="demo")
    put_plan(repo, leaf("a"))
    return repo


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": "running"}, "has not ended"),
        ({"run_type": "spec_review"}, "is the review of a change"),
        ({"id": "019a000000000001"}, "did not begin when its id says"),
    ],
)
def test_not_every_run_can_be_taken_over(elsewhere: Path, fields: dict[str, object], why: str) -> None:
    bring(elsewhere, **fields)
    with pytest.raises(RequestError, match=f"{why}: it counts only where it was made"):
        accept_foreign(open_at(elsewhere), "a", "")
    assert runs_of(elsewhere, "a") == ()


def test_one_is_named_and_no_other(elsewhere: Path) -> None:
    bring(elsewhere)
    bring(elsewhere, id=OTHER)
    workspace = open_at(elsewhere)
    with pytest.raises(RequestError, match='more than one run from elsewhere of a begins with "9f86"'):
        accept_foreign(workspace, "a", "9f86")
    with pytest.raises(RequestError, match='no run from elsewhere of a begins with "7"'):
        accept_foreign(workspace, "a", "7")
    with pytest.raises(RequestError, match=r'"\.\./a" is no id of a task'):
        accept_foreign(workspace, "../a", RUN)
    taken = accept_foreign(workspace, "a", RUN)
    assert (taken.run.id, taken.status) == (RUN, Status.WAITING_USER)
    assert [run.id for run in runs_of(elsewhere, "a")] == [RUN]


def test_agents_take_over_nothing(elsewhere: Path) -> None:
    bring(elsewhere)
    workspace = open_at(elsewhere, BLACKBIRD_RUN_ID=RUN)
    for attempt in (
        lambda: accept_foreign(workspace, "a", RUN),
        lambda: accept_all_foreign(workspace),
        lambda: reject_copy(workspace, "a", RUN),
        lambda: take_over_waiting(workspace, "a"),
    ):
        with pytest.raises(RequestError, match="an agent"):
            attempt()
    assert runs_of(elsewhere, "a") == ()


def test_what_waits_is_taken_over_where_nothing_of_ours_is(elsewhere: Path) -> None:
    assert take_over_waiting(open_at(elsewhere), "a") is None
    bring(elsewhere)
    taken = take_over_waiting(open_at(elsewhere), "a")
    assert taken is not None
    assert taken.decision_state is DecisionState.PENDING
    assert take_over_waiting(open_at(elsewhere), "a") is None


def test_a_decision_that_only_a_copy_has_is_dropped_or_taken_over(elsewhere: Path) -> None:
    configure(elsewhere, execution__stopAfterEachTask="true")
    execute(elsewhere)
    (run,) = runs_of(elsewhere, "a")
    copy = elsewhere / f".blackbird/runs/a/{run.id}.json"
    said = {**json.loads(copy.read_bytes()), "decision_state": "approved_continue"}
    copy.write_text(json.dumps(said))
    assert reject_copy(open_at(elsewhere), "a", run.id).run.id == run.id
    assert json.loads(copy.read_bytes())["decision_state"] == "pending"
    copy.write_text(json.dumps(said))
    (taken,) = accept_all_foreign(open_at(elsewhere))
    assert (taken.run.decision_state, taken.status) == (DecisionState.APPROVED_CONTINUE, Status.DONE)
    with pytest.raises(RequestError, match="no decision is pending on a"):
        record_decision(open_at(elsewhere), "a", APPROVE)

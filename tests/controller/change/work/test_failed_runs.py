"""Stories of the decision on a run that failed: retried, changed, accepted as it is, rejected."""

from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.engine.commands import ResumeRequest, resume_loop
from git_blackbird.controller.plan.edit import NewTask, add_task
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.events import render_event
from git_blackbird.model.change.decision import Retry
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.model.views.events import Decided
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git


@pytest.fixture
def gated(repo: Path) -> Path:
    """A repository in which the task a fails once, after it has written a file; b depends on it."""
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("a", "write a.out x\nfail-once 7"), leaf("b", "write b.out x", deps=["a"]))
    return repo


def test_retry_starts_it_again_at_once_in_a_new_session(gated: Path) -> None:
    person = Person(decisions=[Retry(), APPROVE, APPROVE])
    assert execute(gated, person).text == "every task is done"
    first, second = runs_of(gated, "a")
    assert (first.superseded_by, first.decision_state) == ("restart", DecisionState.REJECTED)
    assert (second.status, second.resumes) == (RunStatus.SUCCESS, None)
    assert [checkpoint.run.task_id for checkpoint in person.checkpoints] == ["a", "a", "b"]


def test_accepting_it_as_it_is_makes_the_task_done_and_goes_on(gated: Path) -> None:
    person = Person(decisions=[APPROVE, APPROVE])
    assert execute(gated, person).text == "every task is done"
    (run,) = runs_of(gated, "a")
    assert (run.status, run.error) == (RunStatus.FAILED, "told to fail with status 7")
    (told, _) = [event for event in person.events if isinstance(event, Decided)]
    assert render_event(told) == "accepted a as it is, though its run failed"


def test_nobody_is_offered_to_approve_it_as_if_it_had_not_failed(gated: Path) -> None:
    person = Person()
    stop = execute(gated, person)
    (checkpoint,) = person.checkpoints
    assert [offer.label for offer in checkpoint.offers()] == [
        "Accept as it is and continue with b",
        "Accept as it is and stop",
        "Request changes",
        "Reject changes",
        "View full diff",
        "Retry in a new session",
        "Reject and take back",
    ]
    assert checkpoint.preselected is None
    assert stop.next_steps == (
        "git blackbird restart a    # starts the task again in a new session",
        "git blackbird decide a --approve    # accepts what it did; the task is done",
        "git blackbird decide a --request-changes -e    # sends your text to the agent; or -m TEXT",
        "git blackbird decide a --reject    # fails the task; your files stay as they are",
        "git blackbird runs a --diff    # shows the change",
        "git blackbird decide a --reject --undo    # fails the task; takes its change out of your files",
    )


def test_wherever_it_is_named_starting_it_again_comes_first(gated: Path) -> None:
    execute(gated)
    again = (
        "git blackbird restart a    # or accept it as it is with decide --approve, "
        "or --request-changes -m TEXT, or --reject"
    )
    owed = build_overview(open_at(gated)).due[0]
    assert owed.command == again
    for act in (
        lambda: execute(gated, None, "a"),
        lambda: perform(
            open_at(gated), Person(), lambda workspace, ui: resume_loop(workspace, ui, ResumeRequest("a"))
        ),
        lambda: add_task(open_at(gated), NewTask(title="B", id="b2", parent="a")),
    ):
        with pytest.raises(RequestError) as refused:
            act()
        assert refused.value.hint == again


def test_changes_requested_of_it_are_made_in_its_session(gated: Path) -> None:
    put_plan(gated, leaf("a", "write a.out x\nfail-once 7\non-feedback write a.out y"))
    assert execute(gated, Person(decisions=[changes("y, please"), APPROVE])).text == "every task is done"
    assert (gated / "a.out").read_text() == "y\n"


def test_a_rejected_one_is_failed(gated: Path) -> None:
    assert execute(gated, Person(decisions=[REJECT])).reason is StopReason.FAILED
    assert status(gated, "a") == Status.FAILED


def test_one_that_nobody_was_asked_about_is_accepted_by_the_command(gated: Path) -> None:
    configure(gated, execution__stopAfterEachTask="false")
    assert execute(gated).text == "failed: a"
    record_decision(open_at(gated), "a", APPROVE)
    assert status(gated, "a") == Status.DONE
    assert execute(gated).text == "every task is done"
    with pytest.raises(RequestError, match="no decision is pending on a"):
        record_decision(open_at(gated), "a", APPROVE)


def test_accepting_it_commits_what_it_did_where_approvals_commit(gated: Path) -> None:
    configure(gated, execution__commit="approved")
    execute(gated, Person(decisions=[APPROVE]))
    assert git(gated, "show", "--format=%s", "--name-only", "HEAD").split() == ["Task", "a", "a.out"]

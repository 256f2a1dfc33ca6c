"""Nothing starts over half-done work, nor past a request that nobody can deliver."""

from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_loop,
)
from git_blackbird.controller.engine.dry_run import forecast
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import ANOTHER_AGENT
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, Requester, RunStatus, TerminalReason
from git_blackbird.model.views.events import Event, RunProgress, RunStarted
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.engine.test_loop import FORGETFUL_CLAUDE, fake_claude
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
from tests.records import STAMP
from tests.support import commit

HALF_DONE = """cat >/dev/null
echo half >>"$BLACKBIRD_TASK_ID.txt"
echo working
test -n "$BLACKBIRD_RESUME" || test "$BLACKBIRD_TASK_ID" = b || test -e go-on || sleep 600
echo rest >>"$BLACKBIRD_TASK_ID.txt"
"""
CONTINUE, RESTART, LEAVE = (
    "Continue in its session",
    "Restart in a new session",
    "Leave it paused and stop here",
)


@pytest.fixture
def repo(repo: Path) -> Path:
    """A repository whose agent works for ever on a until it is interrupted."""
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="command", command__run=HALF_DONE, execution__stopGraceSeconds="0")
    configure(repo, execution__parentReviewEnabled="false")
    put_plan(repo, leaf("a"), leaf("b"))
    return repo


class Impatient(Person):
    """A person who presses Ctrl+C as soon as the agent says something."""

    interrupt: Callable[[], None] | None = None

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, RunProgress) and self.interrupt is not None:
            self.interrupt()


def interrupted(repo: Path) -> None:
    """Press Ctrl+C while the agent works on a."""
    workspace, person = open_at(repo), Impatient()
    loop = execute_loop(workspace, person, [], None)
    person.interrupt = loop.interrupt
    assert run_to_stop(workspace, loop).reason is StopReason.INTERRUPTED
    assert (repo / "a.txt").read_text() == "half\n"


def ended_as(repo: Path, reason: TerminalReason) -> None:
    """Let the last run of a have ended for another reason."""
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        transaction.save_run(runs_of(repo, "a")[-1].updated(terminal_reason=reason))


def started(person: Person) -> list[tuple[str, bool]]:
    """Which tasks were started, in order, and whether in the session of an earlier run."""
    return [
        (str(event.task_id), event.resumes is not None)
        for event in person.events
        if isinstance(event, RunStarted)
    ]


def resume(repo: Path, task_id: str, person: UserInterface, message: str | None = None) -> Stop:
    request = ResumeRequest(task_id, message)
    return perform(open_at(repo), person, lambda workspace, ui: resume_loop(workspace, ui, request))


def restart(repo: Path, task_id: str, person: UserInterface) -> Stop:
    return perform(open_at(repo), person, lambda workspace, ui: restart_loop(workspace, ui, task_id, None))


REASONS = [
    TerminalReason.INTERRUPTED,
    TerminalReason.CONTROLLER_LOST,
    TerminalReason.AGENT_UNAVAILABLE,
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("named", [(), ("a", "b")])
@pytest.mark.parametrize("reason", REASONS)
def test_an_interrupted_run_goes_on_in_its_session_before_anything_starts(
    repo: Path, reason: TerminalReason, named: tuple[str, ...]
) -> None:
    interrupted(repo)
    ended_as(repo, reason)
    foreseen = forecast(open_at(repo), named, None)
    assert ([task.id for task in foreseen.resumed], [task.id for task in foreseen.order]) == (
        ["a"],
        ["a", "b"],
    )
    person = Person()
    assert execute(repo, person, *named).text == "every task is done"
    assert started(person) == [("a", True), ("b", False)]
    first, second = runs_of(repo, "a")
    assert (second.resumes, second.provider_session_ref) == (first.id, first.provider_session_ref)
    assert (repo / "a.txt").read_text() == "half\nhalf\nrest\n"


def test_what_cannot_be_resumed_or_started_names_a_command_that_works(repo: Path) -> None:
    put_plan(repo, leaf("a"), leaf("b", deps=["a"]))
    with pytest.raises(RequestError, match="no runs found for b") as refused:
        resume(repo, "b", Person())
    assert refused.value.hint == "git blackbird show b    # says what it waits for"
    with pytest.raises(RequestError, match="b cannot be started: its dependency a is todo") as refused:
        restart(repo, "b", Person())
    assert refused.value.hint == "git blackbird show b"
    with pytest.raises(RequestError, match="no runs found for a") as refused:
        resume(repo, "a", Person())
    assert refused.value.hint == "git blackbird execute a"


def test_execute_of_a_paused_task_continues_it_and_starts_no_other(repo: Path) -> None:
    interrupted(repo)
    person = Person()
    stop = execute(repo, person, "a")
    assert (stop.text, stop.next_steps) == ("this call is done; 1 task is ready", ("git blackbird execute",))
    assert started(person) == [("a", True)]
    assert (status(repo, "a"), status(repo, "b")) == (Status.DONE, Status.TODO)


def test_what_another_task_is_asked_for_by_name_names_the_half_done_files(repo: Path) -> None:
    interrupted(repo)
    person = Person()
    stop = execute(repo, person, "b")
    assert (stop.reason, started(person)) == (StopReason.COMPLETED, [("b", False)])
    said = "a is paused: its unfinished edits are in the worktree"
    assert [text for text in person.notices() if text.startswith("a ")] == [said]
    assert person.notices()[0] == said
    again = Person()
    assert resume(repo, "b", again, "once more").reason is StopReason.COMPLETED
    assert again.notices()[0] == said
    assert status(repo, "a") is Status.WAITING_USER


LIMITS = {TerminalReason.WALL_LIMIT: "its time limit", TerminalReason.IDLE_LIMIT: "its limit without output"}


@pytest.mark.parametrize("named", [(), ("a",)])
@pytest.mark.parametrize("limit", list(LIMITS))
def test_a_run_paused_by_a_limit_stops_the_call_where_nobody_can_be_asked(
    repo: Path, limit: TerminalReason, named: tuple[str, ...]
) -> None:
    interrupted(repo)
    ended_as(repo, limit)
    person = Person()
    stop = execute(repo, person, *named)
    assert (stop.reason, stop.exit_code, stop.task_id) == (StopReason.WAITING_USER, 4, "a")
    assert stop.text == f"a is paused: run {runs_of(repo, 'a')[0].id} reached {LIMITS[limit]}"
    assert stop.next_steps == (
        "git blackbird resume a    # continue in its session",
        "git blackbird restart a    # start again in a new session",
        "git blackbird retry a    # todo again",
    )
    assert started(person) == []
    assert forecast(open_at(repo), named, None).stop == stop


class Chooser(Person):
    """A person who answers what to do with a paused run."""

    def __init__(self, *chosen: str) -> None:
        super().__init__()
        self.chosen = list(chosen)
        self.asked: list[Question] = []

    async def answer(self, task: Task, questions: tuple[Question, ...]) -> dict[str, str] | Unanswered | None:
        self.asked += questions
        return {questions[0].id: self.chosen.pop(0)} if self.chosen else Unanswered()


def paused_by_limit(repo: Path) -> None:
    interrupted(repo)
    ended_as(repo, TerminalReason.WALL_LIMIT)


def test_a_person_continues_a_run_that_a_limit_paused(repo: Path) -> None:
    paused_by_limit(repo)
    person = Chooser(CONTINUE)
    assert execute(repo, person).text == "every task is done"
    assert started(person) == [("a", True), ("b", False)]
    (asked,) = person.asked
    assert asked.prompt == f"Run {runs_of(repo, 'a')[0].id} of a reached its time limit. What next?"
    assert asked.options == (CONTINUE, RESTART, LEAVE)


@pytest.mark.exhaustive
def test_a_person_restarts_a_run_that_a_limit_paused(repo: Path) -> None:
    paused_by_limit(repo)
    (repo / "go-on").touch()
    person = Chooser(RESTART)
    assert execute(repo, person).text == "every task is done"
    assert started(person) == [("a", False), ("b", False)]
    first, second = runs_of(repo, "a")
    assert (first.superseded_by, second.resumes) == ("restart", None)


def test_a_person_leaves_a_run_that_a_limit_paused(repo: Path) -> None:
    paused_by_limit(repo)
    person = Chooser(LEAVE)
    stop = execute(repo, person)
    assert (stop.reason, started(person)) == (StopReason.WAITING_USER, [])
    left = Chooser()
    assert execute(repo, left).exit_code == 130
    assert (started(left), status(repo, "a")) == ([], Status.WAITING_USER)


STOPPED_CLAUDE = """#!/bin/sh
case "$1" in --version) echo "2.1.332 (Claude Code)"; exit 0;; esac
cat >"prompt.$BLACKBIRD_TASK_ID"
end=hook_stopped
test -e go-on && end=completed
case "$*" in *--resume*) end=completed;; esac
for word; do
    case "$before" in --session-id | --resume) session=$word ;; esac
    before=$word
done
test -e no-session && session=
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$session"
printf '{"type":"assistant","message":{"id":"m","model":"m-1","content":[{"type":"text","text":"ok"}]}}\\n'
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"%s",' "$end"
printf '"session_id":"%s"}\\n' "$session"
"""
RESTART_COMMAND = "git blackbird restart a    # start again in a new session"
RETRY_COMMAND = "git blackbird retry a    # todo again"


def stopped_by_a_hook(repo: Path) -> Run:
    """Let the run of a end in a way that is not known, in the call that starts it."""
    fake_claude(repo, STOPPED_CLAUDE)
    put_plan(repo, leaf("a"), leaf("b", deps=["a"]), leaf("c"))
    person = Person()
    stop = execute(repo, person)
    (run,) = runs_of(repo, "a")
    assert (run.status, run.terminal_reason) == (RunStatus.PAUSED, TerminalReason.UNKNOWN_END)
    assert run.error == "claude ended with hook_stopped"
    assert stop.text == f"a is paused: run {run.id} did not finish: {run.error}"
    assert (stop.reason, stop.exit_code) == (StopReason.WAITING_USER, 4)
    is_named = run.provider_session_ref is not None
    resume = ("git blackbird resume a    # continue in its session",) if is_named else ()
    assert stop.next_steps == (*resume, RESTART_COMMAND, RETRY_COMMAND)
    assert forecast(open_at(repo), (), None).stop == stop
    assert started(person) == [("a", False)]
    assert [status(repo, task) for task in "abc"] == [Status.WAITING_USER, Status.TODO, Status.TODO]
    return run


def test_a_run_whose_end_is_not_known_goes_on_as_a_person_says(repo: Path) -> None:
    run = stopped_by_a_hook(repo)
    due = build_overview(open_at(repo)).due[0]
    assert (due.command, due.why) == ("git blackbird resume a", run.error)
    (repo / "go-on").touch()
    person = Chooser(CONTINUE)
    execute(repo, person)
    assert started(person)[0] == ("a", True)
    (asked,) = person.asked
    assert asked.prompt == f"Run {run.id} of a did not finish: {run.error}. What next?"
    assert asked.options == (CONTINUE, RESTART, LEAVE)
    assert [one.status for one in runs_of(repo, "a")] == [RunStatus.PAUSED, RunStatus.SUCCESS]


def test_a_run_whose_end_is_not_known_and_that_names_no_session_starts_again(repo: Path) -> None:
    (repo / "no-session").touch()
    stopped_by_a_hook(repo)
    due = build_overview(open_at(repo)).due[0]
    assert due.command == "git blackbird restart a"
    assert resume(repo, "a", Person()).next_steps == (
        "git blackbird restart a    # a new session, with everything pending",
    )
    (repo / "go-on").touch()
    person = Chooser("Speak louder.")
    execute(repo, person)
    assert person.asked[0].options == (RESTART, LEAVE)
    assert started(person)[0] == ("a", False)
    assert "Speak louder." in (repo / "prompt.a").read_text()


def test_a_lost_session_of_an_interrupted_run_stops_the_call(repo: Path) -> None:
    interrupted(repo)
    fake_claude(repo, FORGETFUL_CLAUDE)
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        session = "00000000-0000-4000-8000-000000000000"
        run = runs_of(repo, "a")[0].updated(provider="claude", provider_session_ref=session)
        transaction.save_run(run)
    for person in (Person(), Person()):
        stop = execute(repo, person)
        assert (stop.reason, stop.exit_code) == (StopReason.AGENT_UNAVAILABLE, 8)
        lost = f"claude no longer knows session {session} of run {run.id}"
        assert stop.text == f"a cannot be continued: {lost}"
        assert stop.next_steps == ("git blackbird restart a    # a new session, with everything pending",)
        assert ("b", False) not in started(person)


@pytest.fixture
def requested(repo: Path) -> Path:
    """Changes are requested of a, and its session is gone."""
    configure(repo, execution__stopAfterEachTask="true")
    fake_claude(repo, FORGETFUL_CLAUDE)
    execute(repo)
    record_decision(open_at(repo), "a", changes("louder"))
    return repo


def test_a_request_that_cannot_be_delivered_stops_this_call_and_the_next(requested: Path) -> None:
    first = runs_of(requested, "a")[0]
    for attempts in (2, 2):
        person = Person([APPROVE, APPROVE])
        stop = execute(requested, person)
        assert (stop.reason, stop.exit_code, stop.task_id) == (StopReason.AGENT_UNAVAILABLE, 8, "a")
        lost = f"claude no longer knows session {first.provider_session_ref} of run {first.id}"
        assert stop.text == f"the change request on a cannot be delivered: {lost}"
        assert stop.next_steps == ("git blackbird restart a    # a new session, with everything pending",)
        assert ("b", False) not in started(person)
        assert len(runs_of(requested, "a")) == attempts
        assert forecast(open_at(requested), [], None).stop == stop
    assert runs_of(requested, "a")[0].decision_state is DecisionState.CHANGES_REQUESTED
    assert restart(requested, "a", Person([APPROVE, APPROVE])).reason is StopReason.COMPLETED
    assert runs_of(requested, "a")[2].context["feedback"] == "louder"


def test_a_request_made_at_the_prompt_that_cannot_be_delivered_stops_the_call(repo: Path) -> None:
    configure(repo, execution__stopAfterEachTask="true")
    fake_claude(repo, FORGETFUL_CLAUDE)
    person = Person([changes("louder"), APPROVE])
    stop = execute(repo, person)
    assert (stop.exit_code, stop.next_steps) == (
        8,
        ("git blackbird restart a    # a new session, with everything pending",),
    )
    assert started(person) == [("a", False), ("a", True)]


def test_a_request_to_an_agent_that_is_not_configured_any_more_stops_the_call(repo: Path) -> None:
    configure(repo, execution__stopAfterEachTask="true")
    (repo / "go-on").touch()
    execute(repo)
    record_decision(open_at(repo), "a", changes("louder"))
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        transaction.save_run(runs_of(repo, "a")[0].updated(provider="gone"))
    person = Person()
    stop = execute(repo, person)
    assert (stop.exit_code, started(person)) == (8, [])
    assert stop.text.startswith("the change request on a cannot be delivered: ")
    assert stop.next_steps == ("git blackbird restart a    # a new session, with everything pending",)


def test_a_request_to_an_agent_that_is_not_installed_any_more_stops_the_call(repo: Path) -> None:
    configure(repo, execution__stopAfterEachTask="true")
    fake_claude(repo, FORGETFUL_CLAUDE)
    execute(repo)
    record_decision(open_at(repo), "a", changes("louder"))
    configure(repo, claude__path="/nowhere/claude")
    person = Person()
    stop = execute(repo, person)
    assert (stop.exit_code, started(person)) == (8, [])
    assert ANOTHER_AGENT in stop.next_steps


@pytest.fixture
def stopping(repo: Path) -> Path:
    """Each task stops for a decision."""
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("a", "write a.txt 1"), leaf("b", "write b.txt 1"))
    execute(repo)
    return repo


def test_approve_and_continue_after_restart_goes_on_with_the_plan(stopping: Path) -> None:
    person = Person([APPROVE, APPROVE])
    stop = restart(stopping, "a", person)
    assert (stop.text, started(person)) == ("every task is done", [("a", False), ("b", False)])


def test_approve_and_continue_of_a_named_task_starts_no_other(stopping: Path) -> None:
    person = Person([APPROVE, APPROVE])
    record_decision(open_at(stopping), "a", APPROVE)
    put_plan(stopping, leaf("b", "write b.txt 1"), leaf("c", "write c.txt 1"))
    execute(stopping, person, "b")
    assert started(person) == [("b", False)]


def test_nobody_decides_after_resume_and_the_call_ends(stopping: Path) -> None:
    person = Person()
    assert resume(stopping, "a", person, "louder").exit_code == 3
    assert started(person) == [("a", True)]


def test_a_run_that_waits_for_an_answer_still_stops_nothing(repo: Path) -> None:
    interrupted(repo)
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        asked = (Question(id="q", prompt="Which?"),)
        run = runs_of(repo, "a")[0]
        transaction.save_run(run.updated(status=RunStatus.WAITING_USER).updated(questions=asked))
    person = Person()
    execute(repo, person)
    assert started(person) == [("b", False)]


def test_what_reviewers_ask_for_and_cannot_be_told_becomes_a_decision(repo: Path) -> None:
    configure(repo, execution__acceptNoChange="true")
    fake_claude(repo, FORGETFUL_CLAUDE)
    execute(repo, None, "a")
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        asked = runs_of(repo, "a")[0].requesting_changes(STAMP, "more", Requester.REVIEWERS)
        transaction.save_run(asked)
    person = Person()
    assert execute(repo, person).reason is StopReason.DECISION_REQUIRED
    assert started(person) == [("a", True)]
    assert [checkpoint.run.id for checkpoint in person.checkpoints] == [runs_of(repo, "a")[0].id]
    assert execute(repo, Person([APPROVE])).text == "every task is done"


def test_status_says_what_comes_before_ready_tasks(repo: Path) -> None:
    interrupted(repo)
    seen = build_overview(open_at(repo))
    assert (seen.unfinished, seen.stops_at) == (("a",), None)
    configure(repo, execution__stopAfterEachTask="true")
    (repo / "go-on").touch()
    execute(repo)
    fake_claude(repo, FORGETFUL_CLAUDE)
    workspace = open_at(repo)
    with workspace.store.transaction() as transaction:
        asked = runs_of(repo, "a")[-1].requesting_changes(STAMP, "more", None)
        transaction.save_run(asked.updated(provider="claude", provider_session_ref=None))
    assert build_overview(open_at(repo)).stops_at == "a"

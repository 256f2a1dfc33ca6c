"""Stories of an execute: what is due is done, in order, and stops where someone must decide."""

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_loop,
)
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.plan.deletion import delete_task
from git_blackbird.controller.plan.edit import NewTask, add_task, init_plan
from git_blackbird.errors import LockedError, RequestError, UnusableError
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.graph import readiness
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, TerminalReason
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Decided
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.storage.drafts import text_drafts
from git_blackbird.storage.locks import session_lock
from tests.controller.support import (
    APPROVE,
    QUIT,
    REJECT,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    perform,
    put_plan,
    run_to_stop,
    runs_of,
    status,
    store_at,
)
from tests.support import commit, git, write


@pytest.fixture
def demo(repo: Path) -> Path:
    """A repository whose plans are done by the embedded agent."""
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="1", execution__acceptNoChange="true")
    return repo


@pytest.fixture
def gated(demo: Path) -> Path:
    configure(demo, execution__stopAfterEachTask="true")
    return demo


def command(repo: Path, script: str) -> None:
    configure(repo, agent="command", command__run=script)


def resume(repo: Path, task_id: str, person: Person | None = None, **request: object) -> Stop:
    wanted = ResumeRequest(task_id, **request)  # type: ignore[arg-type]
    return perform(
        open_at(repo), person or Person(), lambda workspace, ui: resume_loop(workspace, ui, wanted)
    )


def restart(repo: Path, task_id: str, message: str | None = None, person: Person | None = None) -> Stop:
    return perform(
        open_at(repo),
        person or Person(),
        lambda workspace, ui: restart_loop(workspace, ui, task_id, message),
    )


def only_run(repo: Path, task_id: str) -> Run:
    (run,) = runs_of(repo, task_id)
    return run


def test_ready_tasks_run_in_order_and_parents_follow(demo: Path) -> None:
    put_plan(
        demo,
        parent_of("p", ["t10", "t2"]),
        leaf("t10", "append log.txt t10", parent="p"),
        leaf("t2", "append log.txt t2", parent="p", deps=["t3"]),
        leaf("t3", "append log.txt t3"),
    )
    stop = execute(demo)
    assert (stop.reason, stop.text) == (StopReason.COMPLETED, "every task is done")
    assert (demo / "log.txt").read_text() == "t10\nt3\nt2\n"
    assert status(demo, "p") == Status.DONE


def test_a_limit_bounds_the_starts(demo: Path) -> None:
    put_plan(demo, leaf("a", "write a.out x"), leaf("b", "write b.out x"))
    execute(demo, None, limit=1)
    assert [status(demo, task) for task in "ab"] == [Status.DONE, Status.TODO]


def test_a_failed_task_stops_only_its_dependents(demo: Path) -> None:
    put_plan(demo, leaf("a", "fail 7"), leaf("b", deps=["a"]), leaf("c", "write c.out x"))
    stop = execute(demo)
    assert (stop.reason, stop.text, dict(stop.blocked)) == (StopReason.FAILED, "failed: a", {"b": ("a",)})
    assert [status(demo, task) for task in "abc"] == [Status.FAILED, Status.TODO, Status.DONE]
    assert only_run(demo, "a").exit_code == 7


def test_execute_of_a_task_that_is_not_ready_is_refused_with_its_reasons(demo: Path) -> None:
    put_plan(demo, leaf("a"), leaf("b", deps=["a"]))
    with pytest.raises(RequestError) as refused:
        execute(demo, None, "b")
    assert refused.value.message == "b is not ready: its dependency a is todo, not done"
    assert not (demo / ".blackbird" / "runs").exists()


def test_nobody_here_leaves_the_decision_pending_and_starts_nothing_more(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    stop = execute(gated)
    assert (stop.reason, stop.exit_code, stop.task_id) == (StopReason.DECISION_REQUIRED, 3, "a")
    assert [status(gated, task) for task in "ab"] == [Status.WAITING_USER, Status.TODO]
    assert not (gated / "y").exists()


def test_no_checkpoint_is_made_for_who_shows_none(gated: Path) -> None:
    put_plan(gated, leaf("a", "write a.out x"))
    person = Person([APPROVE], shows_checkpoints=False)
    stop = execute(gated, person)
    assert (stop.reason, stop.task_id) == (StopReason.DECISION_REQUIRED, "a")
    assert (person.checkpoints, person.decisions) == ([], [APPROVE])


def test_a_decision_left_open_is_asked_again_before_anything_starts(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    assert execute(gated, Person([Unanswered()])).reason == StopReason.INTERRUPTED
    person = Person([APPROVE, APPROVE])
    assert execute(gated, person).reason == StopReason.COMPLETED
    assert [(one.task.id, one.run.task_id) for one in person.checkpoints] == [("a", "a"), ("b", "b")]


def test_approve_and_quit_ends_the_call(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    stop = execute(gated, Person([QUIT]))
    assert (stop.reason, stop.text) == (StopReason.COMPLETED, "a is approved")
    assert [status(gated, task) for task in "ab"] == [Status.DONE, Status.TODO]


def test_a_rejected_task_fails_and_others_go_on_and_no_file_changes(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"), leaf("c", "fail 2"))
    person = Person([REJECT, APPROVE, REJECT])
    stop = execute(gated, person)
    assert (stop.reason, stop.exit_code, stop.text) == (StopReason.FAILED, 1, "a, c were rejected")
    assert [status(gated, task) for task in "abc"] == [Status.FAILED, Status.DONE, Status.FAILED]
    assert [step.partition("  ")[0] for step in stop.next_steps] == [
        "git blackbird retry a",
        "git blackbird restart a -e",
        "git blackbird retry c",
        "git blackbird restart c -e",
    ]
    run = only_run(gated, "a")
    assert (run.decision_state, run.terminal_reason) == (DecisionState.REJECTED, TerminalReason.REJECTED)
    assert (gated / "x").read_text() == "1\n"
    undo = [text for text in person.notices() if text.startswith("to take the change back: ")]
    assert undo == ["to take the change back: git blackbird undo a"]
    assert execute(gated).reason == StopReason.COMPLETED


def followed(person: Person) -> list[tuple[str, str | None]]:
    return [(one.task.id, one.follows) for one in person.checkpoints]


def test_a_resume_that_a_person_lets_continue_goes_on_with_the_plan(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1", deps=["a"]), leaf("c", "write z 1"))
    execute(gated)
    person = Person([APPROVE, APPROVE, QUIT])
    stop = resume(gated, "a", person, message="more")
    assert followed(person) == [("a", "b"), ("b", "c"), ("c", None)]
    assert (stop.exit_code, stop.text) == (0, "c is approved")
    assert [status(gated, task) for task in "abc"] == [Status.DONE] * 3


@pytest.mark.parametrize("is_resumed", [True, False])
def test_a_call_that_is_not_let_continue_ends_with_its_task(gated: Path, is_resumed: bool) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    if is_resumed:
        execute(gated)
        resume(gated, "a", Person([QUIT]), message="more")
    else:
        person = Person([APPROVE])
        execute(gated, person, "a")
        assert followed(person) == [("a", None)]
    assert [status(gated, task) for task in "ab"] == [Status.DONE, Status.TODO]


def test_nothing_follows_once_so_many_tasks_were_started(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"), leaf("c", "write z 1"))
    person = Person([APPROVE, APPROVE])
    assert execute(gated, person, limit=2).exit_code == 0
    assert followed(person) == [("a", "b"), ("b", None)]
    assert status(gated, "c") is Status.TODO


def test_changes_go_to_the_same_session_and_the_checkpoint_comes_again(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    person = Person([changes("first\nsecond line"), APPROVE])
    assert execute(gated, person).reason == StopReason.COMPLETED
    first, second = runs_of(gated, "a")
    assert second.resumes == first.id
    assert second.provider_session_ref == first.provider_session_ref
    assert second.last_completion_status == RunStatus.SUCCESS
    assert second.context["feedback"] == "first\nsecond line"
    assert second.prompt == "first\nsecond line\n\nFiles of the change so far:\n- x\n"
    assert [one.runs for one in person.checkpoints] == [1, 2]
    assert person.checkpoints[1].summary.files == ("x",)
    assert person.checkpoints[1].summary.changes[0].status == "A"


def test_the_third_runs_summary_shows_the_third_run_only(demo: Path) -> None:
    put_plan(demo, leaf("a", "write a.out 1"), leaf("b", "append a.txt two"), leaf("c", "write c.out 1"))
    write(demo, {"a.txt": "edited by the user\n", "untracked.txt": "mine\n"})
    assert execute(demo).reason == StopReason.COMPLETED
    summary = only_run(demo, "c").review_summary
    assert summary is not None
    assert summary.files == ("c.out",)
    assert summary.diffstat == " c.out | 1 +\n 1 file changed, 1 insertion(+)"


def test_questions_are_asked_and_answered_in_the_same_session(demo: Path) -> None:
    put_plan(demo, leaf("a", "ask db Which? | postgres | mysql\nanswered db db.txt"), leaf("b", "write b x"))
    stop = execute(demo)
    assert (stop.reason, stop.exit_code) == (StopReason.WAITING_USER, 4)
    assert stop.next_steps == ("git blackbird resume a    # or --answer db=VALUE",)
    assert status(demo, "a") == Status.WAITING_USER
    assert execute(demo).reason == StopReason.COMPLETED
    assert status(demo, "b") == Status.DONE
    with pytest.raises(RequestError, match='invalid option 3 for question "db"'):
        resume(demo, "a", answers={"db": "3"})
    assert resume(demo, "a", answers={"db": "2"}).reason == StopReason.COMPLETED
    assert (demo / "db.txt").read_text() == "mysql\n"
    asked, answered = runs_of(demo, "a")
    assert answered.provider_session_ref == asked.provider_session_ref


@pytest.mark.parametrize(("words", "answer"), [("the cheap one", "the cheap one"), ("2", "mysql")])
def test_a_message_answers_the_one_question_that_is_open(demo: Path, words: str, answer: str) -> None:
    put_plan(demo, leaf("a", "ask db Which? | postgres | mysql\nanswered db db.txt"))
    execute(demo)
    assert resume(demo, "a", message=words).reason == StopReason.COMPLETED
    assert (demo / "db.txt").read_text() == f"{answer}\n"
    (answered,) = runs_of(demo, "a")[1:]
    assert (answered.message, [one.value for one in answered.answers]) == (None, [answer])


def test_words_for_a_task_that_waits_for_answers_are_kept(demo: Path) -> None:
    put_plan(demo, leaf("a", "ask db Which?\nask why Why?\nanswered db db.txt"))
    execute(demo)
    with pytest.raises(RequestError) as refused:
        resume(demo, "a", message="use the cheap one\n\nplease")
    options = "--answer db=VALUE --answer why=VALUE -e"
    assert refused.value.hint == f"git blackbird resume a    # asks; the text of -m is kept; or {options}"
    with pytest.raises(RequestError):
        resume(demo, "a", message="and be quick")
    assert [path.read_text() for _, path in text_drafts(open_at(demo).paths)] == [
        "use the cheap one\n\nplease\n\nand be quick"
    ]
    stop = resume(demo, "a", Person(answers=[Unanswered()]), message="and be quick")
    assert (stop.exit_code, stop.next_steps) == (130, (refused.value.hint,))
    assert (
        resume(demo, "a", Person(answers=[{"db": "2", "why": "so"}]), message="go on").reason
        == StopReason.COMPLETED
    )
    last = runs_of(demo, "a")[-1]
    assert (last.message, [one.value for one in last.answers]) == ("go on", ["2", "so"])


def test_an_execute_asks_the_questions_that_come_up_in_it(demo: Path) -> None:
    put_plan(demo, leaf("a", "ask db Which?\nanswered db db.txt"))
    assert execute(demo, Person(answers=[{"db": "sqlite"}])).reason == StopReason.COMPLETED
    assert (demo / "db.txt").read_text() == "sqlite\n"


def test_a_finished_task_is_not_run_again_by_resume(demo: Path) -> None:
    put_plan(demo, leaf("a", "ask db Which?\nanswered db db.txt"))
    execute(demo, Person(answers=[{"db": "sqlite"}]))
    with pytest.raises(RequestError, match="nothing to resume: a is done"):
        resume(demo, "a")
    assert len(runs_of(demo, "a")) == 2


def test_a_done_task_takes_a_further_word_in_its_session(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", "write x 1", parent="p"))
    execute(demo)
    assert resume(demo, "a", message="more").reason == StopReason.COMPLETED
    assert runs_of(demo, "a")[1].context["feedback"] == "more"
    assert (status(demo, "a"), status(demo, "p")) == (Status.DONE, Status.DONE)


def test_changes_cannot_be_requested_without_a_session_and_nothing_is_lost(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated)
    workspace = open_at(gated)
    with workspace.store.transaction() as transaction:
        run = workspace.store.records.history(leaf("a").id).runs[0]
        transaction.save_run(run.updated(provider_session_ref=None))
    with pytest.raises(RequestError) as refused:
        record_decision(open_at(gated), "a", changes("louder"))
    assert run.id in refused.value.message
    assert "restart" in (refused.value.hint or "")
    assert only_run(gated, "a").decision_state == DecisionState.PENDING
    assert restart(gated, "a", "louder", Person([APPROVE])).reason == StopReason.COMPLETED
    assert runs_of(gated, "a")[1].context["feedback"] == "louder"


FORGETFUL_CLAUDE = """#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
case "$*" in *--resume*) echo "No conversation found with session ID: x" >&2; exit 1;; esac
cat >/dev/null
while [ "$1" != --session-id ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$2"
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s"}\\n' "$2"
"""


def test_a_session_the_provider_lost_is_named_and_nothing_else_starts(gated: Path) -> None:
    fake_claude(gated, FORGETFUL_CLAUDE)
    put_plan(gated, leaf("a"), leaf("b"))
    execute(gated)
    record_decision(open_at(gated), "a", changes("louder"))
    person = Person([APPROVE])
    stop = execute(gated, person)
    first, lost = runs_of(gated, "a")
    assert (stop.reason, stop.exit_code) == (StopReason.AGENT_UNAVAILABLE, 8)
    lost_session = f"claude no longer knows session {first.provider_session_ref} of run {first.id}"
    assert stop.text == f"the change request on a cannot be delivered: {lost_session}"
    assert stop.next_steps == ("git blackbird restart a    # a new session, with everything pending",)
    assert (lost.terminal_reason, lost.superseded_by) == (TerminalReason.SESSION_LOST, "session-lost")
    assert person.notices() == []
    assert [status(gated, task) for task in "ab"] == [Status.WAITING_USER, Status.TODO]
    refused = resume(gated, "a")
    assert refused.exit_code == 8
    assert refused.text == f"a cannot be resumed: {lost_session}"
    assert restart(gated, "a", person=Person([APPROVE, APPROVE])).reason == StopReason.COMPLETED
    assert runs_of(gated, "a")[2].context["feedback"] == "louder"


def test_a_task_with_a_change_request_is_executed_by_its_name(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    execute(gated)
    record_decision(open_at(gated), "a", changes("louder"))
    assert execute(gated, Person([APPROVE]), "a").reason == StopReason.COMPLETED
    assert [run.resumes for run in runs_of(gated, "a")] == [None, runs_of(gated, "a")[0].id]
    assert status(gated, "b") == Status.TODO


def test_another_agent_that_begins_anew_is_named(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated, Person([REJECT]))
    configure(gated, agent="command", command__run="cat >/dev/null; echo y > y")
    person = Person([APPROVE])
    restart(gated, "a", person=person)
    assert "a was started with demo; the agent 'command' starts a new session" in person.notices()


BLOCKED_CLAUDE = """#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
grep -q "make it" && touch made
while [ "$1" != --session-id ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$2"
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s",' "$2"
printf '"permission_denials":[{"tool_name":"Write","tool_use_id":"x","tool_input":{}}]}\\n'
"""


def test_an_agent_that_was_kept_from_everything_has_not_succeeded(gated: Path) -> None:
    fake_claude(gated, BLOCKED_CLAUDE)
    put_plan(gated, leaf("a", "Do it."), leaf("b", "make it"))
    assert execute(gated, Person([APPROVE])).exit_code == 3
    (blocked,), (partly,) = runs_of(gated, "a"), runs_of(gated, "b")
    assert (blocked.status, blocked.exit_code) == (RunStatus.FAILED, 0)
    assert blocked.error == "nothing was changed: 1 tool call was denied: Write"
    assert (partly.status, partly.notes) == (RunStatus.SUCCESS, ("1 tool call was denied: Write",))


def test_a_copy_of_the_worktree_cannot_go_on_in_a_session_that_is_at_work(demo: Path, sealed: Path) -> None:
    put_plan(demo, leaf("a", "fail 2"))
    execute(demo)
    (run,) = runs_of(demo, "a")
    session = run.provider_session_ref or ""
    with session_lock(sealed / ".blackbird/sessions", run.provider, session, "run 1 of a in /there"):
        with pytest.raises(LockedError) as refused:
            resume(demo, "a", message="again")
        assert "is in use: run 1 of a in /there" in refused.value.message
    assert len(runs_of(demo, "a")) == 1
    resume(demo, "a", message="again")
    assert len(runs_of(demo, "a")) == 2
    assert not (sealed / ".blackbird").exists()


def test_a_session_that_is_none_is_never_handed_to_the_program(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated)
    workspace = open_at(gated)
    with workspace.store.transaction() as transaction:
        run = workspace.store.records.history(leaf("a").id).runs[0]
        transaction.save_run(
            run.updated(
                provider="claude",
                provider_session_ref="the last one",
                decision_state=DecisionState.CHANGES_REQUESTED,
                decision_feedback="more",
            )
        )
    fake_claude(gated, "#!/bin/sh\necho 2.1.329\n")
    stop = execute(gated)
    obstacle = f"'the last one' of run {run.id} is not a session of claude"
    assert (stop.exit_code, stop.text) == (8, f"the change request on a cannot be delivered: {obstacle}")
    assert len(runs_of(gated, "a")) == 1


def test_the_exit_code_tells_what_happened(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "fail 2"))
    assert execute(gated).exit_code == 3
    assert execute(gated, Person([Unanswered()])).exit_code == 130
    assert execute(gated, Person([REJECT, REJECT])).exit_code == 1
    assert execute(gated).exit_code == 0


def test_a_missing_agent_touches_nothing(demo: Path) -> None:
    put_plan(demo, leaf("a"), leaf("b"))
    configure(demo, agent="claude", claude__path="/nowhere/claude")
    before = (demo / "blackbird.plan.json").read_bytes()
    stop = execute(demo)
    assert (stop.reason, stop.exit_code) == (StopReason.AGENT_UNAVAILABLE, 8)
    assert (demo / "blackbird.plan.json").read_bytes() == before
    assert not (demo / ".blackbird" / "runs").exists()


LOGGED_OUT_CLAUDE = """#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
cat >/dev/null
while [ "$1" != --session-id ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$2"
printf '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in. Please run /login",'
printf '"session_id":"%s","usage":{"input_tokens":0,"output_tokens":0}}\\n' "$2"
exit 1
"""


def fake_claude(repo: Path, script: str) -> None:
    fake = repo.parent / "claude"
    fake.write_text(script)
    fake.chmod(0o755)
    configure(repo, agent="claude", claude__path=str(fake))


def test_an_agent_that_refuses_is_not_charged_to_the_task(demo: Path) -> None:
    put_plan(demo, leaf("a"), leaf("b"))
    fake_claude(demo, LOGGED_OUT_CLAUDE)
    stop = execute(demo)
    assert (stop.reason, stop.exit_code) == (StopReason.AGENT_UNAVAILABLE, 8)
    assert [status(demo, task) for task in "ab"] == [Status.TODO, Status.TODO]
    assert stop.next_steps == (
        "log in: claude auth login (or /login in claude); or set a valid ANTHROPIC_API_KEY",
        "git blackbird execute",
        "git blackbird agent    # says which agents there are, and how to take another",
    )
    run = only_run(demo, "a")
    assert (run.terminal_reason, run.superseded_by) == (TerminalReason.AGENT_UNAVAILABLE, "unavailable")
    configure(demo, agent="demo")
    assert execute(demo).reason == StopReason.COMPLETED


def interrupting(moment: str, times: int = 1) -> type[Person]:
    """A person who presses Ctrl+C when the agent is seen to do something."""

    class Impatient(Person):
        loop: Loop | None = None

        def notify(self, event: object) -> None:
            super().notify(event)  # type: ignore[arg-type]
            if moment in str(event) and self.loop is not None:
                for _ in range(times):
                    asyncio.get_running_loop().call_soon_threadsafe(self.loop.interrupt)

    return Impatient


def interrupted_run(repo: Path, times: int = 1) -> Stop:
    workspace = open_at(repo)
    person = interrupting("RunProgress", times)()
    loop = execute_loop(workspace, person, [], None)
    person.loop = loop  # type: ignore[attr-defined]
    return run_to_stop(workspace, loop)


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_run_is_paused_and_goes_on_in_its_session(demo: Path, times: int) -> None:
    put_plan(demo, leaf("a"))
    command(demo, 'cat >/dev/null; echo working; test -n "$BLACKBIRD_RESUME" || sleep 600')
    stop = interrupted_run(demo, times)
    assert (stop.reason, stop.exit_code) == (StopReason.INTERRUPTED, 130)
    assert stop.next_steps == ("git blackbird resume a",)
    run = only_run(demo, "a")
    assert (run.status, run.terminal_reason) == (RunStatus.PAUSED, TerminalReason.INTERRUPTED)
    assert status(demo, "a") == Status.WAITING_USER
    assert resume(demo, "a").reason == StopReason.COMPLETED
    assert runs_of(demo, "a")[1].resumes == run.id


def test_what_a_person_asked_for_is_decided_on_also_after_a_pause(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    command(gated, "cat >/dev/null; echo 1 >>x; echo working; [ $(wc -l <x) != 2 ] || sleep 600")
    execute(gated)
    record_decision(open_at(gated), "a", changes("louder"))
    configure(gated, execution__stopAfterEachTask="false")
    assert interrupted_run(gated).reason == StopReason.INTERRUPTED
    assert resume(gated, "a").reason == StopReason.DECISION_REQUIRED
    assert [run.status for run in runs_of(gated, "a")] == [
        RunStatus.SUCCESS,
        RunStatus.PAUSED,
        RunStatus.SUCCESS,
    ]


def test_what_was_said_before_an_interruption_is_told_again(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated, Person([changes("louder"), Unanswered()]))
    first, second = runs_of(gated, "a")
    workspace = open_at(gated)
    with workspace.store.transaction() as transaction:
        transaction.save_run(second.without_decision().updated(status=RunStatus.PAUSED))
    assert resume(gated, "a", Person([APPROVE])).reason == StopReason.COMPLETED
    third = runs_of(gated, "a")[2]
    assert third.context["feedback"] == "louder"
    assert "louder" in (third.prompt or "")
    assert first.decision_state == DecisionState.CHANGES_REQUESTED


def test_retry_resets_and_restart_tells_everything_owed(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated, Person([changes("louder"), REJECT]))
    reset = reset_task(open_at(gated), "a")
    assert (reset.status, len(reset.overtaken)) == (Status.TODO, 2)
    assert status(gated, "a") == Status.TODO
    assert {run.superseded_by for run in runs_of(gated, "a")} == {"retry"}
    assert restart(gated, "a", person=Person([APPROVE])).reason == StopReason.COMPLETED
    third = runs_of(gated, "a")[2]
    assert third.resumes is None
    assert third.context["feedback"] == "louder"
    assert third.provider_session_ref != runs_of(gated, "a")[0].provider_session_ref


def test_a_pending_decision_that_is_overtaken_says_by_what(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated)
    set_status(open_at(gated), "a", Status.SKIPPED)
    run = only_run(gated, "a")
    assert (run.decision_state, run.decision_feedback) == (
        DecisionState.REJECTED,
        "superseded by set-status:skipped",
    )
    assert execute(gated).reason == StopReason.COMPLETED
    assert status(gated, "a") == Status.SKIPPED


def test_a_leaf_that_leaves_done_reopens_its_parents_and_names_what_built_on_it(demo: Path) -> None:
    put_plan(
        demo, parent_of("p", ["a"]), leaf("a", "write x 1", parent="p"), leaf("b", "write y 1", deps=["p"])
    )
    execute(demo)
    reset = set_status(open_at(demo), "a", Status.TODO)
    assert (reset.reopened, reset.dependents) == (("p",), ("b",))
    assert [status(demo, task) for task in "pab"] == [Status.IN_PROGRESS, Status.TODO, Status.DONE]


@pytest.mark.parametrize("word", ["decide", "reset", "set"])
def test_an_agent_may_not_judge_itself(gated: Path, word: str) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated)
    workspace = open_at(gated, BLACKBIRD_RUN_ID="0" * 16)
    judging: dict[str, Callable[[], object]] = {
        "decide": lambda: record_decision(workspace, "a", APPROVE),
        "reset": lambda: reset_task(workspace, "a"),
        "set": lambda: set_status(workspace, "a", Status.DONE),
    }
    with pytest.raises(RequestError, match="agents do not judge themselves"):
        judging[word]()


def test_a_decision_from_elsewhere_is_taken_by_the_execute_that_waits(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))

    class Away(Person):
        cancelled = 0

        async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
            self.checkpoints.append(checkpoint)
            try:
                # What was recorded may be seen before we hear that it was.
                await asyncio.to_thread(record_decision, open_at(gated), checkpoint.task.id, APPROVE)
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return None

    person = Away()
    assert execute(gated, person).reason == StopReason.COMPLETED
    assert person.cancelled == 2


def test_what_is_done_elsewhere_with_a_task_that_is_decided_on_is_said_to_be_that(gated: Path) -> None:
    elsewhere: list[Callable[[Workspace], object]] = [
        lambda workspace: reset_task(workspace, "a"),
        lambda workspace: set_status(workspace, "a", Status.DONE),
        lambda workspace: set_status(workspace, "b", Status.SKIPPED),
        lambda workspace: delete_task(workspace, "c", force=True),
    ]
    put_plan(gated, *(leaf(name, f"write {name} 1") for name in "abc"))

    class Away(Person):
        async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
            await asyncio.to_thread(elsewhere.pop(0), open_at(gated))
            await asyncio.sleep(3600)
            raise AssertionError

    person = Away()
    assert execute(gated, person).reason == StopReason.COMPLETED
    assert person.notices() == [
        "a: set to todo from another terminal",
        "a: set to done from another terminal",
        "b: set to skipped from another terminal",
        "c: deleted from another terminal",
    ]
    assert not any(isinstance(event, Decided) for event in person.events)


def test_an_id_that_leaves_its_folder_is_refused_everywhere(demo: Path) -> None:
    put_plan(demo, leaf("../../../evil"))
    with pytest.raises(UnusableError, match=r"the task id starts with '\.'"):
        execute(demo)
    with pytest.raises(UnusableError, match="cannot name a folder"):
        open_at(demo).paths.task_runs(leaf("../x").id)


def test_a_corrupt_record_is_named_and_the_others_are_read(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"), leaf("b", "write y 1"))
    execute(gated)
    folder = gated / ".git" / "blackbird" / "runs" / "a"
    write(folder, {"0000000000000000.json": "{", "note.txt": "{}"})
    history = store_at(gated).records.history(leaf("a").id)
    assert len(history.runs) == 1
    assert [fault.path for fault in history.faults] == [str(folder / "0000000000000000.json")]
    assert execute(gated, Person([APPROVE, APPROVE])).reason == StopReason.UNREADABLE_RECORD
    assert [status(gated, task) for task in "ab"] == [Status.WAITING_USER, Status.DONE]


def test_what_the_agent_changes_in_the_plan_is_shown_at_the_checkpoint(gated: Path) -> None:
    put_plan(gated, leaf("a"), leaf("b", deps=["a"]))
    edit = "sed -i s/Task.b/Hacked/ blackbird.plan.json"
    command(gated, f"cat >/dev/null; {edit}")
    person = Person()
    execute(gated, person)
    assert person.checkpoints[0].run.plan_edits == ("b was edited: title",)


def test_records_are_private(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x 1"))
    execute(demo)
    for path in (demo / ".blackbird" / "runs").rglob("*"):
        if path.is_file() and path.name != ".gitignore":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_git_shows_what_a_run_changed(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x 1"))
    execute(demo)
    ref = f"refs/blackbird/runs/{only_run(demo, 'a').id}"
    assert git(demo, "diff", "--name-status", f"{ref}:base", f"{ref}:head") == "A\tx"


def test_a_request_that_was_heard_and_approved_is_not_owed_again(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated, Person([changes("louder"), APPROVE]))
    assert set_status(open_at(gated), "a", Status.TODO).pending == ()
    execute(gated, Person([APPROVE]))
    assert "feedback" not in runs_of(gated, "a")[2].context


def test_a_plan_that_is_a_link_to_nothing_is_not_written_through(demo: Path, tmp_path: Path) -> None:
    (demo / "blackbird.plan.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(UnusableError, match="which is outside the worktree"):
        init_plan(open_at(demo))
    assert not (tmp_path / "elsewhere.json").exists()
    (demo / "blackbird.plan.json").unlink()
    (demo / "blackbird.plan.json").symlink_to("elsewhere.json")
    with pytest.raises(UnusableError, match="is a symbolic link to nothing"):
        init_plan(open_at(demo))


def test_a_command_by_its_path_that_is_not_there_is_not_charged(demo: Path) -> None:
    put_plan(demo, leaf("a"), leaf("b"))
    for script in ("/nowhere/agent --go", "./missing-agent"):
        command(demo, script)
        assert execute(demo).exit_code == 8
        assert [status(demo, task) for task in "ab"] == [Status.TODO, Status.TODO]


def test_a_parent_follows_its_done_children_whatever_is_set(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", "write x 1", parent="p"))
    execute(demo)
    with pytest.raises(RequestError, match="p follows its children, and none of them is open"):
        set_status(open_at(demo), "p", Status.TODO)
    assert status(demo, "p") == Status.DONE


def test_what_someone_has_in_hand_does_not_become_a_parent(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x 1"))
    execute(gated)
    with pytest.raises(RequestError, match="a cannot become a parent yet: a decision on it is due"):
        add_task(open_at(gated), NewTask(title="B", id="b", parent="a"))
    record_decision(open_at(gated), "a", APPROVE)
    add_task(open_at(gated), NewTask(title="B", id="b", parent="a"))
    assert status(gated, "a") == Status.IN_PROGRESS


def test_what_failed_before_is_named_at_the_end(demo: Path) -> None:
    put_plan(demo, leaf("a", "fail 2"))
    assert execute(demo).exit_code == 1
    stop = execute(demo)
    assert (stop.exit_code, stop.next_steps) == (0, ("git blackbird retry a",))


def test_a_skipped_child_is_named_with_the_ways_on(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", parent="p"), leaf("z", deps=["p"]))
    set_status(open_at(demo), "a", Status.SKIPPED)
    plan = store_at(demo).plan()
    assert readiness(plan, plan.tasks[leaf("z").id]).hints == (
        "git blackbird set-status p done    # done without a",
        "git blackbird set-status a todo    # it still has to be done",
    )


def test_the_first_interrupt_is_answered_at_once(demo: Path) -> None:
    put_plan(demo, leaf("a"))
    command(demo, "cat >/dev/null; echo working; sleep 600")
    workspace = open_at(demo)
    person = interrupting("RunProgress")()
    loop = execute_loop(workspace, person, [], None)
    person.loop = loop  # type: ignore[attr-defined]
    run_to_stop(workspace, loop)
    assert "pausing a; a second Ctrl+C kills its agent" in person.notices()

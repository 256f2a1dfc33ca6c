import asyncio
import signal
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.choices import ChoiceItem
from tests.controller.support import (
    APPROVE,
    Person,
    agree_to_agent,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git
from tests.tui.driver import drive, is_over, screen_text, see, started, wait_for

PROMPT = "write a.txt one\nsay It is written.\non-feedback write a.txt two"


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n", "src/deep/name.py": "pass\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__acceptNoChange="true")
    put_plan(repo, leaf("alpha", PROMPT), leaf("beta", "write b.txt one", deps=["alpha"]))
    return repo


def asks(app: BlackbirdApp, screen: type[object]) -> bool:
    return isinstance(app.screen, screen)


def states(repo: Path, task_id: str) -> list[DecisionState | None]:
    return [run.decision_state for run in runs_of(repo, task_id)]


@pytest.mark.exhaustive
def test_rulings_stand_first_and_a_request_begins_with_them(planned: Path) -> None:
    question = '{"questions": [{"id": "db", "prompt": "Which db?", "destructive": false}]}'
    ruled = '{"rulings": [{"id": "db", "decision": "sqlite", "reason": "one user"}]}'
    script = f"cat >/dev/null; [ -n \"$BLACKBIRD_RESUME\" ] && echo '{ruled}' || echo '{question}'"
    configure(planned, agent="command", command__run=script, execution__questions="rule")
    agree_to_agent(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await see(app, pilot, "1 ruling by the agent:", "db: sqlite (one user)", "asked: Which db?")
        text = screen_text(app)
        assert text.index("1 ruling by") < text.index("Task: alpha")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await see(app, pilot, "Write your ruling below the quote")
        assert app.screen.query_one(TextArea).text == "> Which db?\n> You decided: sqlite\n\n"
        await pilot.press("ctrl+s")
        await see(app, pilot, "write your ruling below the quote of", "> You decided: sqlite")
        await pilot.press("escape")

    drive(planned, session)


def test_a_checkpoint_is_approved_and_the_next_one_ends_the_call(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await see(app, pilot, "ACTION REQUIRED", "  A a.txt ", " +1 -0", "5. View full diff")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: "Task: beta" in screen_text(app))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 40))
    assert states(planned, "alpha") == [DecisionState.APPROVED_CONTINUE]
    assert states(planned, "beta") == [DecisionState.APPROVED_CONTINUE]


@pytest.mark.exhaustive
def test_changes_are_requested_with_a_path_and_carried_out_in_the_session(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press("ctrl+s")
        assert asks(app, RequestScreen)
        await pilot.press(*"See @nam")
        await wait_for(pilot, lambda: "src/deep/name.py" in screen_text(app))
        await pilot.press("enter", *"too", "enter", *"and")
        assert app.screen.query_one(TextArea).text == "See @src/deep/name.py too\nand"
        await pilot.press("escape")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: "2 runs together" in screen_text(app))
        await pilot.press("4", "enter", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 40))
    first, second = runs_of(planned, "alpha")
    assert first.decision_feedback == "See @src/deep/name.py too\nand"
    assert (second.resumes, second.decision_state) == (first.id, DecisionState.REJECTED)
    assert (planned / "a.txt").read_text() == "two\n"


@pytest.mark.exhaustive
def test_the_whole_diff_is_shown_and_scrolled(planned: Path) -> None:
    many = "\\n".join(f"line {number}" for number in range(200))
    put_plan(planned, leaf("alpha", f"write a.txt {many}"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("5", "enter")
        await wait_for(pilot, lambda: "a.txt  +200 -0  added" in screen_text(app))
        await pilot.press(*["pagedown"] * 30)
        await see(app, pilot, "200 + line 199")
        await pilot.press("V")
        await see(app, pilot, "Run status: success")
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_the_second_checkpoint_shows_the_diff_since_the_request(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one\non-feedback append a.txt two"))
    execute(planned, Person([changes("Another line.")]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await see(app, pilot, "Changes requested:", "> Another line.", "M a.txt  +1 -0")
        await pilot.press("i")
        await wait_for(pilot, lambda: "@@ -1 +1,2 @@" in screen_text(app))
        await pilot.press("I")
        await wait_for(pilot, lambda: "@@ -0,0 +1,2 @@" in screen_text(app))
        await pilot.press("8", "enter")
        await wait_for(pilot, lambda: "@@ -1 +1,2 @@" in screen_text(app))
        # Asked for again, it stays.
        await pilot.press("8", "enter", "i")
        await see(app, pilot, "@@ -1 +1,2 @@", "━ since your request ━")
        await pilot.press("V")
        await see(app, pilot, "Changes requested:")
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 50))


@pytest.mark.exhaustive
def test_a_round_that_changes_nothing_more_is_told_from_a_task_that_changed_nothing(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one\non-feedback write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("i")
        await see(app, pilot, "nothing was requested yet", "Run status: success")
        await pilot.press("v", "I")
        await see(app, pilot, "nothing was requested yet", "1 + one")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press(*"Again", "ctrl+s")
        await see(app, pilot, "2 runs together")
        await pilot.press("i")
        await see(app, pilot, "nothing changed since the request")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "completed alpha: no further changes")
        latest = runs_of(planned, "alpha")[-1].id
        await pilot.press("3", "tab")
        await see(app, pilot, latest)
        await pilot.press("enter")
        await see(app, pilot, f"run {latest} changed nothing; 4 shows the task's whole change")
        await pilot.press("4")
        await see(app, pilot, "1 + one")

    drive(planned, session, (180, 30))


def test_what_is_asked_next_stays_when_a_question_and_what_is_over_it_are_closed(planned: Path) -> None:
    offers = [ChoiceItem(True, "Yes")]

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        first, over, second = (ChoiceModal[bool](title, offers) for title in ("First", "Over it", "Second"))

        is_asked_again = asyncio.Event()

        async def ask_twice() -> None:
            asking = app.ask(first)
            asked = asyncio.create_task(asking)
            await wait_for(pilot, lambda: app.screen is first)
            await app.push_screen(over)
            # On a loaded machine, the application handles its messages as late as this.
            app.call_later(is_asked_again.wait)
            asked.cancel()
            await asyncio.wait([asked])
            await app.ask(second)

        def note(screen: Screen[object]) -> None:
            if screen is second:
                is_asked_again.set()

        app.screen_change_signal.subscribe(app, note, immediate=True)
        app.run_worker(ask_twice())
        await see(app, pilot, "Second")
        await wait_for(pilot, lambda: app.screen_stack == [app.main, second])
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen_stack == [app.main])

    drive(planned, session)


def test_a_decision_from_elsewhere_closes_the_checkpoint_and_what_is_over_it(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        record_decision(open_at(planned), "alpha", APPROVE)
        await wait_for(pilot, lambda: "Task: beta" in screen_text(app))
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))
        assert app.screen is app.main

    drive(planned, session, (100, 40))
    assert states(planned, "alpha") == [DecisionState.APPROVED_CONTINUE]


def test_ctrl_c_at_a_checkpoint_ends_the_call_and_leaves_it_open(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))
        assert app.screen is app.main
        await wait_for(pilot, lambda: "Action required (1): [a] opens alpha: decision" in screen_text(app))

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_a_decision_is_taken_while_nothing_runs(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("4", "enter", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.FAILED)
        await see(
            app, pilot, "Rejected alpha.", "next step: U: take the task's change back out of your files"
        )
        ways = "U: take the task's change", "m: send", "b: set the task back to todo", "w: start the task"
        await see(app, pilot, "FAILED: rejected", *(f"   {way}" for way in ways))

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.REJECTED]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("key", "said"),
    [("d", "took back the change of alpha"), ("e", "the change of alpha is taken back")],
)
def test_what_is_rejected_is_taken_back(planned: Path, key: str, said: str) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await see(app, pilot, "9. Reject and take back")
        await pilot.press("space")
        await see(app, pilot, "no key does that here")
        await pilot.press("pagedown")
        await see(app, pilot, "? all keys")
        await pilot.press("9", "enter")
        await see(app, pilot, "would take back the change of alpha: 1 file", "a.txt | 1 -")
        await see(app, pilot, "Reject alpha, and take its change out of your files?", "1. Go back")
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        assert states(planned, "alpha") == [DecisionState.PENDING]
        await pilot.press("9", "enter")
        await see(app, pilot, "2. Reject it, and take it back")
        await pilot.press("2", "enter")
        await see(app, pilot, "Why is alpha rejected?")
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_over(app) and not (planned / "a.txt").exists())
        await pilot.press("2")
        await see(app, pilot, "Rejected alpha.", said)

    drive(planned, session, (140, 40))
    assert states(planned, "alpha") == [DecisionState.REJECTED]
    assert not (planned / "a.txt").exists()


@pytest.mark.exhaustive
def test_approving_on_another_branch_is_asked_about(planned: Path) -> None:
    execute(planned)
    git(planned, "switch", "-q", "-c", "side")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("2", "enter")
        await see(app, pilot, "Careful: the run worked on", "1. Go back")
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("enter")
        await see(app, pilot, "2. Approve on this branch anyway")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.APPROVED_QUIT]


@pytest.mark.exhaustive
def test_files_are_marked_as_read_and_left_out_of_an_approval(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one\nwrite b.txt two\nwrite src/deep/name.py other"))
    configure(planned, execution__commit="approved")
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 3 read", "  A a.txt ", "  A b.txt ", "  M src/deep/name.py")
        await pilot.press("right_square_bracket")
        await see(app, pilot, "1 + one")
        # Marked as read, a file is followed by the next one.
        await pilot.press("m", "o")
        await see(app, pilot, "1 of 3 read", "✓ A a.txt ", "✗ A b.txt ")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("d")
        # What was marked is kept.
        await see(app, pilot, "1 of 3 read", "✓ A a.txt ", "✗ A b.txt ")
        await pilot.press("tab", "end")
        await see(app, pilot, "1 + other")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (100, 30))
    assert git(planned, "show", "--name-only", "--format=").split() == ["a.txt", "src/deep/name.py"]
    assert git(planned, "status", "--short", "b.txt").strip() == "?? b.txt"


def test_a_change_begins_with_the_files_of_which_nothing_notices_lines(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.py one\nwrite b.py two\nwrite src/deep/name.py three"))
    configure(planned, check__command="grep one a.py && grep three src/deep/name.py", check__prove="true")
    configure(planned, execution__commit="approved")
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "noticed: 2 of 3 hunks, 1 by nothing", "0 of 3 read")
        listed = [row.split()[2] for row in screen_text(app).splitlines()[4:7]]
        assert listed == ["b.py", "a.py", "src/deep/name.py"]
        await pilot.press("right_square_bracket")
        await see(app, pilot, "file 1 of 3", "1?+ two")
        await pilot.press("m")
        await see(app, pilot, "1 of 3 read", "✓ A b.py ", "file 2 of 3")
        await pilot.press("v")
        # Without white space, and with it.
        for shown in ("white space is ignored", "? marks 1 line"):
            await pilot.press("W")
            await see(app, pilot, shown, "file 2 of 3")
        await pilot.press("left_square_bracket", "down", "o")
        await see(app, pilot, "✗ A b.py ")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (100, 30))
    assert git(planned, "show", "--name-only", "--format=").split() == ["a.py", "src/deep/name.py"]


@pytest.mark.exhaustive
def test_keys_that_come_fast_mark_one_file_each(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "\n".join(f"write {name}.txt one" for name in "abcdef")))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 6 read")
        await pilot.press("v")
        await see(app, pilot, "file 1 of 6")
        for _ in range(4):
            # As from a terminal that sent all of them at once.
            app.post_message(Key("m", "m"))
        await see(app, pilot, "4 of 6 read", "file 5 of 6")
        await pilot.press("left_square_bracket", "left_square_bracket", "m")
        await see(app, pilot, "3 of 6 read", "file 3 of 6")
        await pilot.press("left_square_bracket", "m", "m")
        await see(app, pilot, "3 of 6 read", "file 3 of 6")

    drive(planned, session, (140, 40))


@pytest.mark.exhaustive
def test_what_was_read_is_read_in_the_next_round_unless_it_is_another(planned: Path) -> None:
    prompt = "write a.txt one\\ntwo\nwrite b.txt two\ndelete README.md\non-feedback write a.txt four"
    put_plan(planned, leaf("alpha", prompt))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "0 of 3 read")
        await pilot.press("right_square_bracket", "m", "m", "m")
        await see(app, pilot, "3 of 3 read")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press(*"Four.", "ctrl+s")
        await see(app, pilot, "2 of 3 read", "✓ D README.md", "  A a.txt", "✓ A b.txt")
        await pilot.press("i")
        await see(app, pilot, "0 of 1 read")
        await pilot.press("m")
        await see(app, pilot, "1 of 1 read")
        await pilot.press("I")
        await see(app, pilot, "3 of 3 read")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 30))


@pytest.mark.exhaustive
def test_what_was_read_stays_so_when_the_screen_is_left_and_opened_again(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one\nwrite b.txt two\non-feedback write b.txt four"))
    execute(planned)

    async def read(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 2 read")
        await pilot.press("right_square_bracket", "m", "m")
        await see(app, pilot, "2 of 2 read")

    async def request(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "2 of 2 read")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press(*"Four.", "ctrl+s")
        await see(app, pilot, "1 of 2 read", "✓ A a.txt", "  A b.txt")
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    async def approve(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "1 of 2 read", "✓ A a.txt", "  A b.txt")
        await pilot.press("v")
        await see(app, pilot, "file 2 of 2")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    for session in (read, request, approve):
        drive(planned, session, (100, 30))
    assert not list((planned / ".git/blackbird").rglob("read-files*"))


def test_what_is_left_out_stays_so_through_a_round_and_when_the_screen_is_left(planned: Path) -> None:
    prompt = "write src/a.txt one\nwrite src/b.txt two\nwrite z.txt two\non-feedback write src/b.txt four"
    put_plan(planned, leaf("alpha", prompt))
    configure(planned, execution__commit="approved")
    execute(planned)

    async def leave_out(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 3 read")
        await pilot.press("tab", "down", "z", "o")
        await see(app, pilot, "✗ ▸ src/ 2 files")
        await pilot.press("m")
        await see(app, pilot, "2 of 3 read", "file 3 of 3")
        await pilot.press("up", "z", "o")
        await see(app, pilot, "✓ A src/a.txt", "✗ A src/b.txt", "  A z.txt")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        await pilot.press(*"Four.", "ctrl+s")
        await see(app, pilot, "round 2", "1 of 3 read", "✓ A src/a.txt", "✗ A src/b.txt")
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    async def approve(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "round 2", "✓ A src/a.txt", "✗ A src/b.txt")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    for session in (leave_out, approve):
        drive(planned, session, (100, 30))
    assert git(planned, "show", "--name-only", "--format=").split() == ["src/a.txt", "z.txt"]
    assert not list((planned / ".git/blackbird").rglob("read-files*"))


@pytest.mark.exhaustive
def test_hunks_are_left_out_of_an_approval_and_stay_so_when_the_screen_is_left(planned: Path) -> None:
    lines = [f"{number}\n" for number in range(60)]
    commit(planned, {"f": "".join(lines)})
    script = "sed -i 's/^[25]0$/new/' f; echo more >>rest"
    configure(planned, agent="command", command__run=script, execution__commit="approved")
    put_plan(planned, leaf("alpha"))
    execute(planned)

    async def leave_out(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 2 read", "  M f ", "  A rest ")
        await pilot.press("v", "n", "n", "o")
        await see(app, pilot, "◐ M f", "✗ @@ -48,7", "◐ in part")
        await pilot.press("N", "o")
        await see(app, pilot, "✗ M f", "✗ @@ -18,7", "✗ @@ -48,7")
        # With more context both are one hunk, of which a part is left out.
        await pilot.press("o", "r", "r")
        await see(app, pilot, "40 lines of context")
        await pilot.press("N")
        await see(app, pilot, "◐ @@ -1,60 +1,60 @@")
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    async def approve(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "◐ M f")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    for session in (leave_out, approve):
        drive(planned, session, (100, 40))
    assert git(planned, "show", "HEAD:f") + "\n" == "".join([*lines[:20], "new\n", *lines[21:]])
    assert git(planned, "status", "--short", "f", "rest") == " M f"
    assert (planned / "f").read_text().count("new") == 2


@pytest.mark.exhaustive
def test_what_is_left_out_is_so_too_where_only_the_last_changes_are_shown(planned: Path) -> None:
    prompt = "write a.txt one\nwrite b.txt two\nwrite c.txt three\non-feedback write a.txt four"
    put_plan(planned, leaf("alpha", prompt))
    configure(planned, execution__commit="approved")
    execute(planned, Person([changes("Four.")]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 3 read", "  A b.txt ")
        await pilot.press("right_square_bracket", "right_square_bracket", "o", "i")
        await see(app, pilot, "+ four", "0 of 1 read")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (100, 30))
    assert git(planned, "show", "--name-only", "--format=").split() == ["a.txt", "c.txt"]


@pytest.mark.exhaustive
def test_what_ignored_white_space_hides_is_approved_with_the_others(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write src/deep/name.py \tpass\nwrite a.txt one\nwrite b.txt two"))
    configure(planned, execution__commit="approved")
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "0 of 3 read", "  A b.txt ")
        await pilot.press("v", "W")
        await see(app, pilot, "0 of 2 read", "white space is ignored (W), which hides 1 file and 2 lines")
        await pilot.press("o", "1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (120, 30))
    assert git(planned, "show", "--name-only", "--format=").split() == ["b.txt", "src/deep/name.py"]


@pytest.mark.exhaustive
def test_a_status_set_elsewhere_closes_it_also_while_nothing_runs(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        set_status(open_at(planned), "alpha", Status.DONE)
        await see(app, pilot, "alpha: set to done from another terminal")
        assert app.screen is app.main

    drive(planned, session)


def test_an_approval_starts_no_other_task_than_it_named(planned: Path) -> None:
    put_plan(planned, *(leaf(name, f"write {name}.txt 1") for name in ("alpha", "beta", "gamma")))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "Approve and continue with beta")
        set_status(open_at(planned), "beta", Status.SKIPPED)
        await pilot.press("1", "enter")
        await see(app, pilot, "continues with gamma by now", "Approve and continue with gamma")
        assert states(planned, "alpha") == [DecisionState.PENDING]
        await pilot.press("escape")

    drive(planned, session, (120, 40))


@pytest.mark.exhaustive
def test_what_is_approved_while_nothing_runs_goes_on(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: "Task: beta" in screen_text(app))
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.APPROVED_CONTINUE]
    assert states(planned, "beta") == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_why_an_approval_was_not_committed_is_said_over_the_next_checkpoint(planned: Path) -> None:
    configure(planned, execution__commit="approved")
    hook = planned / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho Not on a Friday. >&2\nexit 1\n")
    hook.chmod(0o755)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        first = app.screen
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen) and app.screen is not first)
        await wait_for(pilot, lambda: "Not on a Friday." in screen_text(app))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: asks(app, RequestScreen))
        assert app.screen.query_one(TextArea).text.endswith("The hook said:\n\nNot on a Friday.\n")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (120, 40))
    assert states(planned, "alpha") == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_a_decision_that_another_process_waits_for_is_taken_here(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", "sleep 60"))
    execute(planned, None, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        with started(planned, "execute", "beta", "--no-input") as other:
            await wait_for(pilot, lambda: not app.is_possible("execute"))
            await pilot.press("d")
            await wait_for(pilot, lambda: asks(app, CheckpointScreen))
            await pilot.press("1", "enter")
            await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)
            other.send_signal(signal.SIGINT)

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.APPROVED_CONTINUE]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("key", ["b", "w"])
def test_what_waits_for_a_decision_is_not_given_up_by_one_key(planned: Path, key: str) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await wait_for(
            pilot, lambda: "alpha: WAITING_USER: decision" in screen_text(app) and asks(app, ChoiceModal)
        )
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)
        assert states(planned, "alpha") == [DecisionState.PENDING]
        await pilot.press(key)
        await wait_for(pilot, lambda: asks(app, ChoiceModal))
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: states(planned, "alpha")[0] is DecisionState.REJECTED)
        if key == "w":
            await wait_for(pilot, lambda: asks(app, CheckpointScreen))
            await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert len(states(planned, "alpha")) == (2 if key == "w" else 1)


def test_questions_are_answered_by_option_and_in_words(planned: Path) -> None:
    put_plan(
        planned,
        leaf("alpha", "ask tone Which tone? | friendly | formal\nask name Whose name?\nanswered tone t.txt"),
    )

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: "alpha asks (1 of 2)" in screen_text(app))
        await see(app, pilot, "Which tone?")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: "alpha asks (2 of 2)" in screen_text(app))
        await pilot.press("enter", *"Ada L.")
        assert app.screen.query_one(TextArea).text == "Ada L."
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    answers = [(answer.id, answer.value) for answer in runs_of(planned, "alpha")[1].answers]
    assert answers == [("tone", "formal"), ("name", "Ada L.")]


@pytest.mark.exhaustive
def test_a_question_left_open_is_asked_again_by_resume_and_by_the_key_for_what_waits(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask tone Which tone? | friendly | formal\nanswered tone tone.txt"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, QuestionScreen))
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))
        for key in ("u", "a"):
            await see(app, pilot, "Action required (1): [a] opens alpha: waits for answers")
            await pilot.press("escape", key)
            await wait_for(pilot, lambda: asks(app, QuestionScreen))
            if key == "u":
                await pilot.press("escape")
                await wait_for(pilot, lambda: is_over(app))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert status(planned, "alpha") is Status.DONE


@pytest.mark.exhaustive
def test_a_hostile_diff_is_shown_harmlessly_and_its_widest_line_to_the_end(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt \x1b[2J\\n" + "\u6f22\t" * 30 + "the end"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("v")
        await wait_for(pilot, lambda: "+ ^[[2J" in screen_text(app))
        assert "the end" not in screen_text(app)
        await pilot.press(*["right"] * 60)
        await see(app, pilot, "the end")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)


def test_an_agent_with_more_rights_starts_only_when_that_is_agreed_to(planned: Path) -> None:
    configure(planned, agent="command", command__run="cat >/dev/null; echo x >made")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "Start the agent 'command'?", "It stops for a decision after each task.")
        await pilot.press("enter")
        await see(app, pilot, "the agent 'command' was not started")
        assert runs_of(planned, "alpha") == ()
        await wait_for(pilot, lambda: is_over(app))
        await pilot.press("e")
        await see(app, pilot, "Start the agent 'command'?")
        await pilot.press("2", "enter")
        await see(app, pilot, "Task: alpha")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 40))
    assert status(planned, "alpha") == Status.DONE


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30), (200, 60)])
def test_an_approval_is_under_the_cursor_once_the_diff_was_shown_to_its_end(
    planned: Path, size: tuple[int, int]
) -> None:
    put_plan(planned, leaf("alpha", "write a.txt " + "\\n".join(["line"] * 99) + "\nwrite b.txt one"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, ">(choose)", "4. Reject changes")
        await pilot.press("enter", "enter")
        await see(app, pilot, "nothing is chosen: a digit or an arrow chooses; v shows")
        await pilot.press("v")
        await see(app, pilot, "a.txt  +99 -0", ">(choose)")
        # What is folded was not shown.
        await pilot.press("Z")
        await see(app, pilot, "▸ b.txt  +1 -0", ">(choose)")
        await pilot.press("Z", "G")
        await see(app, pilot, "1 + one", ">1. Approve")
        await pilot.press("V")
        await see(app, pilot, "Change: 2 files", ">1. Approve")
        await pilot.press("enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, size)
    assert states(planned, "alpha") == [DecisionState.APPROVED_CONTINUE]


@pytest.mark.exhaustive
def test_a_choice_stays_where_the_end_of_the_diff_is_shown_later(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, ">(choose)", "4. Reject changes")
        await pilot.press("4", "v")
        await see(app, pilot, "1 + one", ">4. Reject changes")
        # One key goes to the plan, wherever the focus is.
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session)
    assert states(planned, "alpha") == [DecisionState.PENDING]


def test_the_digit_of_a_choice_that_is_not_possible_says_why(planned: Path) -> None:
    execute(planned)
    with open_at(planned).store.transaction() as transaction:
        transaction.save_run(runs_of(planned, "alpha")[-1].updated(provider_session_ref=None))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("3")
        await see(app, pilot, "3 is not possible: run", "has no session to continue")
        await pilot.press("escape")

    drive(planned, session, (140, 30))
    assert states(planned, "alpha") == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_a_decision_that_is_left_open_names_its_key_once(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))
        await pilot.press("2")
        await see(app, pilot, "d on alpha: decide on the task's run")
        log = app.main.live.log_view.copied_text
        assert log.count("d on alpha: decide on the task's run") == 1

    drive(planned, session, (130, 40))

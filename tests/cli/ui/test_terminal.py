"""The terminal face: every key, every way out, and a terminal left as it was."""

import json
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.controller.core.environment import system_environment
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests import preloaded
from tests.cli.terminal import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    CTRL_S,
    DOWN,
    ENTER,
    ESCAPE,
    PROGRAM,
    TAB,
    UP,
    Terminal,
    program_environ,
)
from tests.controller.support import (
    Person,
    agree_to_agent,
    configure,
    leaf,
    open_at,
    put_plan,
    run_to_stop,
    runs_of,
)
from tests.support import Prepared, commit

PENDING = DecisionState.PENDING


@pytest.fixture
def demo_repo(repo: Path) -> Path:
    """A repository whose tasks the demo agent does."""
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    return repo


@pytest.fixture
def pending(demo_repo: Path, prepared: Prepared) -> Path:
    """A repository in which a decision on one finished task is due."""

    def execute_first() -> None:
        put_plan(demo_repo, leaf("a", "write src/one.py print(1)\nsay I wrote it."))
        execute_now(demo_repo)

    return prepared.bring(demo_repo, execute_first)


def execute_now(repo: Path) -> None:
    """Execute in this process with nobody here, by the real clock: the program goes on from there."""
    workspace = open_workspace(system_environment()._replace(cwd=repo))
    stop = run_to_stop(workspace, execute_loop(workspace, Person(), (), None))
    assert stop.exit_code == 3


def last_run(repo: Path, task_id: str = "a") -> Run:
    return runs_of(repo, task_id)[-1]


def decide_elsewhere(repo: Path, *args: str) -> None:
    completed = preloaded.run(
        [sys.executable, *PROGRAM, "decide", *args],
        cwd=repo,
        env=program_environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("keys", "is_approved"),
    [(DOWN + UP, True), (UP * 3, False), ("jk", True), ("jjjk", False), ("51", True), ("54", False)],
)
def test_every_key_moves_and_enter_chooses(pending: Path, keys: str, is_approved: bool) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type(keys, ENTER)
        if not is_approved:
            terminal.wait_for("Why is a rejected?")
            terminal.type(ENTER)
        assert terminal.end() == (0 if is_approved else 1)
        assert terminal.mode() == terminal.mode_before
    state = DecisionState.APPROVED_CONTINUE if is_approved else DecisionState.REJECTED
    assert last_run(pending).decision_state is state


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["looks wrong", "ok fix 2", "\x1b[200~looks wrong\x1b[201~", "no, 9"])
def test_text_that_is_typed_or_pasted_at_the_list_decides_nothing(pending: Path, text: str) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type(text, ENTER, ENTER)
        terminal.wait_for("no choice: press an arrow key before Enter; Ctrl+C leaves")
        assert last_run(pending).decision_state is DecisionState.PENDING
        terminal.type("1", DOWN, UP, ENTER)
        assert terminal.end() == 0
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE


def test_enter_where_nothing_is_chosen_says_so(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "write a.txt one\nfail 7"))
    with Terminal(demo_repo, "execute") as terminal:
        terminal.wait_for("(choose)")
        terminal.type(ENTER)
        terminal.wait_to_see("nothing is chosen: a digit or an arrow chooses")
        terminal.type("4", ENTER)
        terminal.wait_to_see("Why is a rejected?")
        terminal.type(ENTER)
        assert terminal.end() == 1
    assert last_run(demo_repo).decision_state is DecisionState.REJECTED


def test_a_choice_that_is_not_possible_says_why(pending: Path) -> None:
    with open_at(pending).store.transaction() as transaction:
        transaction.save_run(last_run(pending).updated(provider_session_ref=None))
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_to_see("Request changes is not possible: an arrow key moves, then Enter chooses")
        terminal.type(DOWN, UP, ENTER)
        assert terminal.end() == 0
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE


def test_a_rejection_takes_a_reason_and_the_call_goes_on_with_what_is_ready(pending: Path) -> None:
    put_plan(pending, leaf("a", "write src/one.py print(1)"), leaf("b", "write b.txt one"))
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("4", ENTER)
        terminal.wait_for("Why is a rejected?")
        terminal.type("not this", ESCAPE)
        terminal.wait_for_list(times=2)
        assert last_run(pending).decision_state is PENDING
        terminal.type("4", ENTER)
        terminal.wait_for("Why is a rejected?", times=2)
        terminal.type("Not needed.", ENTER)
        terminal.wait_to_see("Task: b - Task b")
        terminal.wait_for_list(times=3)
        terminal.type("1", ENTER)
        assert terminal.end() == 1
    assert "a was rejected\nnext step, one of:\n  git blackbird retry a" in terminal.text
    run = last_run(pending)
    assert (run.decision_state, run.decision_feedback) == (DecisionState.REJECTED, "Not needed.")
    assert last_run(pending, "b").decision_state is DecisionState.APPROVED_CONTINUE


def test_the_panel_shows_the_change_and_the_list_exactly_the_choices(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_to_see("9) Reject and take back")
        shown = re.sub(r"[0-9a-f]{16}", "0123456789abcdef", terminal.text)
        assert terminal.sent.count(b"\a") == 1
    assert shown == PANEL


PANEL = """\
┏━ Task review checkpoint ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ Task: a - Task a                                                             ┃
┃ Run status: success                                                          ┃
┃ Run 0123456789abcdef, demo                                                   ┃
┃ Agent says:                                                                  ┃
┃   I wrote it.                                                                ┃
┃ Review summary:                                                              ┃
┃   Files:                                                                     ┃
┃     A src/one.py  +1 -0                                                      ┃
┃   Snippets:                                                                  ┃
┃     src/one.py                                                               ┃
┃       @@ -0,0 +1 @@                                                          ┃
┃       +print(1)                                                              ┃
┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
? Select an action (arrows, j/k or digits; Enter chooses)
 > 1) Approve
   3) Request changes
   4) Reject changes
   5) View full diff
   9) Reject and take back"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D, ESCAPE])
def test_a_list_that_is_left_leaves_the_decision_open(pending: Path, keys: str) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type(keys)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
        assert "the decision on a is left open" in terminal.text
    assert last_run(pending).decision_state is PENDING


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_at_the_list_leaves_the_decision_open(pending: Path, number: signal.Signals) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        os.kill(terminal.pid, number)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
    assert last_run(pending).decision_state is PENDING


def test_the_full_diff_returns_to_the_list(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("5", ENTER)
        terminal.wait_for("diff --git a/src/one.py b/src/one.py")
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE


def test_ctrl_c_in_the_pager_is_the_pagers(pending: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(
        "#!/bin/sh\ntrap 'echo pager-was-interrupted' INT\ncat >/dev/null\n"
        "echo pager-is-up\nuntil read -r _ </dev/tty; do :; done\n"
    )
    pager.chmod(0o755)
    with Terminal(pending, "execute", environ={"GIT_PAGER": str(pager)}) as terminal:
        terminal.wait_for_list()
        terminal.type("5", ENTER)
        terminal.wait_for("pager-is-up")
        terminal.type(CTRL_C)
        terminal.wait_for("pager-was-interrupted")
        terminal.type("\n")
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE


@pytest.mark.sampled(1)
@pytest.mark.parametrize("send", [CTRL_S, ALT_ENTER])
def test_a_change_request_has_lines_and_completes_paths(pending: Path, send: str) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type(send)
        terminal.wait_for("change request cannot be empty")
        terminal.type("See @read")
        terminal.wait_for("README.md")
        terminal.type(TAB)
        terminal.wait_to_see("@README.md")
        terminal.type(" please", ENTER, "and  more ")
        terminal.wait_to_see("and  more")
        terminal.type(send)
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    first, second = runs_of(pending, "a")
    assert first.decision_state is DecisionState.CHANGES_REQUESTED
    assert first.decision_feedback == "See @README.md please\nand  more "
    assert second.provider_session_ref == first.provider_session_ref
    assert second.decision_state is DecisionState.APPROVED_CONTINUE


@pytest.mark.exhaustive
def test_enter_takes_the_match_of_a_path_that_is_being_named(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type("See @rea")
        terminal.wait_for("README.md")
        terminal.type(ENTER)
        terminal.wait_to_see("See @README.md")
        terminal.type("and @src/one.py:3.", ENTER, "More.", CTRL_S)
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
        assert "not there" not in terminal.plain
    assert runs_of(pending, "a")[0].decision_feedback == "See @README.md and @src/one.py:3.\nMore."


@pytest.mark.exhaustive
def test_a_path_of_the_tasks_own_worktree_is_offered(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__worktrees="true")
    put_plan(repo, leaf("a", "write made.txt x\non-feedback write made.txt y"))
    execute_now(repo)
    with Terminal(repo, "decide", "a") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        seen = terminal.plain.count("made.txt")
        terminal.type("See @mad")
        terminal.wait_for("made.txt", times=seen + 1)
        terminal.type(ENTER)
        terminal.wait_to_see("See @made.txt")
        terminal.type(ESCAPE)
        terminal.wait_for_list(times=2)
        terminal.type(ESCAPE)
        assert terminal.end() == 130


def test_a_path_that_is_not_there_is_asked_about_once(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type("See @gone.py, @README.md and @lost/one.", CTRL_S)
        terminal.wait_to_see("Careful: @gone.py, @lost/one are not there.")
        terminal.wait_to_see("2) Send it as it is")
        terminal.type(ENTER)
        terminal.wait_to_see("Ctrl+S sends", times=2)
        terminal.type(CTRL_S)
        terminal.wait_for_list(times=2)
        terminal.type("3", ENTER)
        terminal.wait_to_see("Ctrl+S sends", times=3)
        terminal.type("@new", CTRL_S)
        terminal.wait_to_see("Careful: @new is not there.")
        terminal.type("2", ENTER)
        terminal.wait_for_list(times=3)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    requests = [run.decision_feedback for run in runs_of(pending, "a")]
    assert requests == ["See @gone.py, @README.md and @lost/one.", "@new", None]


def test_a_change_request_begins_with_the_comments_on_lines(pending: Path) -> None:
    comment = {"path": "a.txt", "side": "new", "start": 1, "end": 1, "quoted": "+one", "text": "Two."}
    folder = pending / ".git/blackbird/drafts/texts/a"
    folder.mkdir(parents=True)
    comments = folder / f"comments-{last_run(pending).id}.md"
    comments.write_text(json.dumps({"comments": [comment]}))
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_to_see("Two.")
        terminal.type(" Now.", CTRL_S)
        terminal.wait_for_list(times=2)
        terminal.wait_for("a.txt:1: Two.")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    first = runs_of(pending, "a")[0]
    assert first.decision_feedback == "a.txt:1\n> +one\nTwo. Now."
    assert [one.to_json() for one in first.comments] == [comment]
    assert not comments.exists()


@pytest.mark.exhaustive
def test_escape_goes_back_to_the_list_and_keeps_what_was_written(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type("half a thought")
        terminal.wait_for("half a thought")
        terminal.type(ESCAPE)
        terminal.wait_for_list(times=2)
        terminal.type("3", ENTER)
        terminal.wait_to_see("Ctrl+S sends", times=2)
        terminal.type(", whole", CTRL_S)
        terminal.wait_for_list(times=3)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert runs_of(pending, "a")[0].decision_feedback == "half a thought, whole"


@pytest.mark.parametrize("is_composing", [False, True])
def test_a_decision_from_elsewhere_closes_the_question(pending: Path, *, is_composing: bool) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        if is_composing:
            terminal.type("3", ENTER)
            terminal.wait_for("Ctrl+S sends")
        decide_elsewhere(pending, "a", "--approve")
        assert terminal.end() == 0
        assert terminal.mode() == terminal.mode_before
        assert "a: approved from another terminal" in terminal.text


def test_questions_are_asked_one_by_one(demo_repo: Path) -> None:
    prompt = "ask tongue Which tongue? | English | Deutsch\nask name Whose name?\n"
    put_plan(demo_repo, leaf("a", prompt + "answered tongue t.txt\nanswered name n.txt"))
    with Terminal(demo_repo, "execute", "--no-stop") as terminal:
        terminal.wait_for("2) Deutsch")
        terminal.type("j", ENTER)
        terminal.wait_for("Whose name?")
        terminal.wait_for("name:")
        terminal.type(ENTER)
        terminal.wait_for("an answer is required")
        terminal.type("Ada", ENTER)
        assert terminal.end() == 0
        assert terminal.sent.count(b"\a") == 1
    assert (demo_repo / "t.txt").read_text() == "Deutsch\n"
    assert (demo_repo / "n.txt").read_text() == "Ada\n"


def test_a_question_with_options_takes_another_answer(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask tongue Which tongue? | English | Deutsch\nanswered tongue t.txt"))
    with Terminal(demo_repo, "execute", "--no-stop") as terminal:
        terminal.wait_for("3) Other...")
        terminal.type("3", ENTER)
        terminal.wait_for("tongue:")
        terminal.type("fra")
        terminal.wait_for("fra")
        terminal.type(ESCAPE)
        # What is typed before a prompt is there is dropped: wait for what only the next one shows.
        terminal.wait_to_see("3) Other...")
        terminal.type("3", ENTER)
        terminal.wait_to_see("tongue: fra", times=2)
        terminal.type("nçais, 2", ENTER)
        assert terminal.end() == 0
    assert (demo_repo / "t.txt").read_text() == "français, 2\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}], ids=["", "dumb"])
def test_an_answer_that_was_chosen_is_kept_where_the_next_is_left_open(
    demo_repo: Path, environ: dict[str, str]
) -> None:
    prompt = "ask tongue Which tongue? | English | Deutsch\nask name Whose name?\n"
    put_plan(demo_repo, leaf("a", prompt + "answered tongue t.txt\nanswered name n.txt"))
    with Terminal(demo_repo, "execute", "--no-stop", environ=environ) as terminal:
        terminal.wait_for("3) Other...")
        terminal.type("2", ENTER)
        terminal.wait_for("Whose name?")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    with Terminal(demo_repo, "resume", "a", "--no-stop", environ=environ) as terminal:
        if environ:
            terminal.wait_for("You answered before: Deutsch (Enter takes it again)")
        terminal.wait_for("3) Other...")
        terminal.type(ENTER)
        terminal.wait_for("Whose name?")
        terminal.type("Ada", ENTER)
        assert terminal.end() == 0
    assert (demo_repo / "t.txt").read_text() == "Deutsch\n"
    assert not [*(demo_repo / ".git/blackbird/drafts").rglob("answer-*")]


def test_what_is_said_besides_the_answers_goes_with_them(demo_repo: Path) -> None:
    configure(demo_repo, execution__acceptNoChange="true")
    put_plan(demo_repo, leaf("a", "ask name Whose name?\nask age How old?\nanswered name n.txt"))
    with Terminal(demo_repo, "execute") as terminal:
        terminal.wait_for("name:")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    with Terminal(demo_repo, "resume", "a", "--no-stop", "-m", "and be quick") as terminal:
        terminal.wait_for("name:")
        terminal.type("Ada", ENTER)
        terminal.wait_for("age:")
        terminal.type("36", ENTER)
        assert terminal.end() == 0
    last = last_run(demo_repo)
    assert (last.message, last.context["feedback"]) == ("and be quick", "and be quick")
    assert last.prompt is not None
    assert last.prompt.endswith("  36\n\nContinue with the task.\n\nand be quick\n")


def test_a_question_left_open_stops_with_130(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask name Whose name?"))
    with Terminal(demo_repo, "execute") as terminal:
        terminal.wait_for("name:")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
    assert last_run(demo_repo).status is RunStatus.WAITING_USER


def test_ctrl_c_during_a_run_pauses_it(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "write a.txt begun\nsleep 60"))
    with Terminal(demo_repo, "execute") as terminal:
        terminal.wait_for("waiting 60 s")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
        assert "a is paused" in terminal.text
    assert last_run(demo_repo).status is RunStatus.PAUSED


def test_what_was_typed_before_the_question_is_no_answer_to_it(demo_repo: Path, tmp_path: Path) -> None:
    go, hook = tmp_path / "go", demo_repo / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    put_plan(demo_repo, leaf("a", "write a.txt one\ncommit early"))
    with Terminal(demo_repo, "execute") as terminal:
        terminal.wait_for("git commit -m early")
        terminal.type(ENTER, ENTER)
        go.touch()
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert last_run(demo_repo).decision_state is PENDING


def test_a_prompt_sends_no_query_to_the_terminal(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        queries = rb"\x1b\[[>=?]?[0-9;]*[cn]|\x1b\][0-9;]*\?|\x1b\[[0-9;]*t|\x1bP[+$]q|\x05"
        assert re.findall(queries, terminal.sent) == []


@pytest.mark.exhaustive
def test_a_dumb_terminal_asks_about_a_path_too_and_keeps_the_text(pending: Path) -> None:
    with Terminal(pending, "execute", environ={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Select option: ")
        terminal.type("3\n")
        terminal.wait_for("/cancel to go back")
        terminal.type("See @gone.py\n\n")
        terminal.wait_for("Careful: @gone.py is not there.\r\nSend it as it is? [y/N] ")
        terminal.type("n\n")
        terminal.wait_for("Select option: ", times=2)
        terminal.type("3\n")
        terminal.wait_for("Send it? [y/N] ")
        terminal.type("y\n")
        terminal.wait_for("Select option: ", times=3)
        terminal.type("1\n")
        assert terminal.end() == 0
    assert runs_of(pending, "a")[0].decision_feedback == "See @gone.py"


def test_a_dumb_terminal_gets_lines(pending: Path) -> None:
    with Terminal(pending, "execute", environ={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Select option: ")
        terminal.type("1\n")
        assert terminal.end() == 0
        assert b"\x1b" not in terminal.sent
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE


@pytest.mark.sampled(1)
@pytest.mark.parametrize("environ", [{"NO_COLOR": None}, {"NO_COLOR": "1"}])
def test_colours_are_shown_only_where_they_are_wanted(pending: Path, environ: dict[str, str | None]) -> None:
    with Terminal(pending, "execute", environ=environ) as terminal:
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        colours = re.findall(rb"\x1b\[(?:[0-9;]*;)?[349][0-7](?:;[0-9;]*)?m", terminal.sent)
    assert bool(colours) == (environ["NO_COLOR"] is None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_what_an_agent_prints_cannot_steer_the_terminal(repo: Path, options: tuple[str, ...]) -> None:
    commit(repo, {"README.md": "# A project\n"})
    attack = r"\033]52;c;c3RvbGVu\007\033[2J\033]0;title\007\033[31mred\033P+q\033\\"
    script = (
        f"cat >/dev/null; printf '{attack}\\nspoken\\n'; "
        f"printf '{attack}' > \"$(printf 'a\\033]0;x\\007.txt')\""
    )
    configure(repo, agent="command", command__run=script, execution__stopAfterEachTask="true")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"))
    with Terminal(repo, "execute", *options) as terminal:
        terminal.wait_for_list()
        terminal.type("5", ENTER)
        terminal.wait_for_list(times=2)
        shown = terminal.sent[: terminal.sent.index(b"View full diff")]
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert b"spoken" in shown
        assert re.findall(rb"\x1b(?:\]|P|\[2J|\[31m)", shown) == []


SPENDER = r"""#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
cat >/dev/null
while [ "$1" != --session-id ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$2"
for step in 1 2; do
  printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text",' $step
  printf '"text":"Step %s\\n\\u001b[2Jof 2"}],"usage":{"input_tokens":6000,"output_tokens":100}}}\n' $step
done
until [ -e "go-$BLACKBIRD_TASK_ID" ]; do sleep 0.05; done
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s",' "$2"
printf '"total_cost_usd":0.5,"usage":{"input_tokens":12000,"output_tokens":900}}\n'
"""


@pytest.fixture
def spending(repo: Path, tmp_path: Path) -> Path:
    """A repository whose agent spends, and goes on when a file is there."""
    commit(repo, {"README.md": "# A project\n"})
    spender = tmp_path / "claude"
    spender.write_text(SPENDER)
    spender.chmod(0o755)
    configure(repo, agent="claude", claude__path=str(spender))
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    return repo


def test_stream_shows_steps_above_a_line_that_moves(spending: Path) -> None:
    steps = (
        "this call waits at usage limits until they are over (Ctrl+C ends the waiting)\n"
        "starting a (run 0000000000000000, claude)\n"
        "  says   Step 1\n         of 2\n"
        "  says   Step 2\n         of 2\n"
        "  spent  12.2k tokens\n"
    )
    with Terminal(spending, "execute", "a", "--stream") as terminal:
        terminal.wait_for("s 12.2k tokens  Task a")
        *shown, moving = re.sub(r"[0-9a-f]{16}", "0" * 16, terminal.text).splitlines(keepends=True)
        assert "".join(shown) == steps
        assert re.fullmatch(r"\S a \d+s 12.2k tokens  Task a", moving)
        (spending / "go-a").touch()
        assert terminal.end() == 0
        assert terminal.mode() == terminal.mode_before
        text = re.sub(r"\d+s$", "0s", re.sub(r"[0-9a-f]{16}", "0" * 16, terminal.text), flags=re.MULTILINE)
    assert text == (
        f"{steps}  spent  12.9k tokens, $0.50\ncompleted a: 1 file, +0 -0, $0.50, 0s\n"
        "this call is done; 1 task is ready\nnext step: git blackbird execute"
    )


def test_the_line_that_moves_counts_each_run_once_while_it_spends_and_after(spending: Path) -> None:
    with Terminal(spending, "execute") as terminal:
        terminal.wait_for("s 12.2k tokens  Step 2 of 2")
        (spending / "go-a").touch()
        terminal.wait_for("s 25.1k tokens, $0.50  Step 2 of 2")
        (spending / "go-b").touch()
        assert terminal.end() == 0
        assert re.sub(r"\d+s$", "0s", terminal.text, flags=re.MULTILINE) == (
            "this call waits at usage limits until they are over (Ctrl+C ends the waiting)\n"
            "completed a: 1 file, +0 -0, $0.50, 0s\ncompleted b: 1 file, +0 -0, $0.50, 0s\nevery task is done"
        )


def test_a_review_that_fails_is_seen_and_told_once(demo_repo: Path) -> None:
    parent = replace(leaf("p", "require a.txt well | a | Do it well."), children=(TaskId("a"),))
    put_plan(demo_repo, parent, replace(leaf("a", "write a.txt badly"), parent=TaskId("p")))
    with Terminal(demo_repo, "execute", "--no-stop") as terminal:
        assert terminal.end() == 5
        text = terminal.text
    assert text.count("running parent review for p") == 1
    assert text.count("parent review failed for p") == 1
    assert "resume tasks: a\n" in text
    assert "feedback: Do it well.\n" in text
    assert text.endswith("next step: git blackbird resume a --no-stop")


def test_a_review_is_stopped_by_ctrl_c_and_done_again(demo_repo: Path) -> None:
    parent = replace(leaf("p", "review-say Reading\nsleep 60"), children=(TaskId("a"),))
    put_plan(demo_repo, parent, replace(leaf("a", "write a.txt well"), parent=TaskId("p")))
    with Terminal(demo_repo, "execute", "--no-stop", "--stream") as terminal:
        terminal.wait_for("waiting 60 s")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        text = terminal.text
    assert "stopping the review of p; a second Ctrl+C kills its agent" in text
    assert "no verdict on p: the review was interrupted" in text
    assert text.endswith("next step: git blackbird execute --no-stop")
    (review,) = runs_of(demo_repo, "p")
    assert (review.status, review.parent_review_passed) == (RunStatus.FAILED, None)


def test_enter_starts_no_agent_that_may_do_more_than_edit(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="command", command__run="cat >/dev/null; echo x >$BLACKBIRD_TASK_ID")
    put_plan(repo, leaf("a"))
    with Terminal(repo, "execute", columns=40, environ={"COLUMNS": None}) as terminal:
        terminal.wait_for("Start the agent 'command'?")
        terminal.wait_for("2) Yes, start it")
        assert "It does not stop after each task\n(--stop-after-each stops it).\n" in terminal.text
        terminal.type(ENTER)
        assert terminal.end() == 130
        assert terminal.text.endswith("the agent 'command' was not started")
    assert runs_of(repo, "a") == ()
    with Terminal(repo, "execute") as terminal:
        terminal.wait_for("2) Yes, start it")
        terminal.type("2", ENTER)
        assert terminal.end() == 0
    put_plan(repo, leaf("b"))
    with Terminal(repo, "execute") as terminal:
        assert terminal.end() == 0
        assert "Start the agent 'command'?" not in terminal.plain


@pytest.mark.exhaustive
def test_enter_at_a_failed_run_does_nothing(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("a", "write a.out x\nfail-once 7"))
    with Terminal(repo, "execute") as terminal:
        terminal.wait_for("6) Retry in a new session")
        terminal.wait_for_list()
        terminal.type(ENTER, ENTER, "6", ENTER)
        terminal.wait_for("1) Approve")
        terminal.wait_for_list(times=2)
        terminal.type(ENTER)
        assert terminal.end() == 0
    assert [run.status for run in runs_of(repo, "a")] == [RunStatus.FAILED, RunStatus.SUCCESS]


def test_enter_approves_nothing_where_nothing_was_changed(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo")
    put_plan(repo, leaf("a", "say Which one do you want?"))
    with Terminal(repo, "execute") as terminal:
        terminal.wait_for("a decision is due: the agent changed nothing")
        terminal.wait_for("Which one do you want?")
        terminal.wait_for_list()
        terminal.type(ENTER, "3", ENTER)
        terminal.wait_for("What should change?")
        terminal.type(CTRL_C)
        assert terminal.end() == 130

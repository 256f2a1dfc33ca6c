"""What a person has typed for an agent survives every way in which the program can end before it is sent."""

import os
import shutil
import signal
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.states import DecisionState
from tests.cli.terminal import CTRL_C, CTRL_S, ENTER, ESCAPE, Terminal
from tests.cli.ui.test_terminal import decide_elsewhere, demo_repo, last_run, pending
from tests.controller.support import leaf, put_plan, runs_of, store_at
from tests.support import git, wait_until
from tests.tui.conftest import tmux
from tests.tui.tmux import Tmux

__all__ = ["demo_repo", "pending", "tmux"]

TEXT = "Say it twice.\nAnd @README.md"
CTRL_X, CTRL_E = "\x18", "\x05"


def message_file(repo: Path) -> Path:
    return repo / ".git/blackbird/drafts/texts/a/message.md"


def is_kept(repo: Path, text: str) -> bool:
    path = message_file(repo)
    return path.exists() and path.read_text() == text


def compose(terminal: Terminal, *, lists: int = 1) -> None:
    terminal.wait_for_list(times=lists)
    terminal.type("3", ENTER)
    terminal.wait_for("Ctrl+S sends")


def type_text(terminal: Terminal) -> None:
    terminal.type("Say it twice.", ENTER, "And @README.md")
    terminal.wait_to_see("And @README.md")


def send_signal(number: int) -> Callable[[Terminal], None]:
    def end(terminal: Terminal) -> None:
        os.kill(terminal.pid, number)
        assert terminal.end() == (130 if number != signal.SIGKILL else 128 + number)

    return end


def press(key: str) -> Callable[[Terminal], None]:
    def end(terminal: Terminal) -> None:
        terminal.type(key)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
        assert "Your text was not sent; it is kept" in terminal.text

    return end


def close_terminal(terminal: Terminal) -> None:
    terminal.hang_up()


ENDS: dict[str, Callable[[Terminal], None]] = {
    "SIGHUP": send_signal(signal.SIGHUP),
    "SIGTERM": send_signal(signal.SIGTERM),
    "SIGINT": send_signal(signal.SIGINT),
    "closed": close_terminal,
    "Ctrl+C": press(CTRL_C),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("end", ENDS)
def test_a_request_survives_the_end_and_is_offered_again(pending: Path, end: str) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        type_text(terminal)
        ENDS[end](terminal)
    wait_until(partial(is_kept, pending, TEXT))
    check_private(pending)
    send_what_is_kept(pending)


def check_private(repo: Path) -> None:
    path = message_file(repo)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((repo / ".git/blackbird/drafts").stat().st_mode) & 0o077 == 0
    assert git(repo, "status", "--porcelain", "--", "src").split() == ["??", "src/"]


def send_what_is_kept(repo: Path) -> None:
    with Terminal(repo, "execute") as terminal:
        terminal.wait_for("Your earlier text is kept")
        compose(terminal)
        terminal.wait_to_see("And @README.md")
        terminal.type(CTRL_S)
        terminal.wait_for_list(times=2)
        assert not message_file(repo).exists()
        assert "kept" not in terminal.text.split("Select an action")[-1]
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    first = runs_of(repo, "a")[0]
    assert (first.decision_state, first.decision_feedback) == (DecisionState.CHANGES_REQUESTED, TEXT)
    assert not message_file(repo).parent.exists()


def test_a_kill_loses_at_most_the_last_moment(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        type_text(terminal)
        # What is typed goes on for ever: it is saved all the same, while it is typed.
        wait_until(partial(is_kept, pending, TEXT))
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.end() == 128 + signal.SIGKILL
    send_what_is_kept(pending)


def test_escape_keeps_the_text_also_where_the_next_thing_is_a_kill(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.type("half a thought")
        terminal.wait_to_see("half a thought")
        terminal.type(ESCAPE)
        terminal.wait_for_list(times=2)
        assert is_kept(pending, "half a thought")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.end()
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.wait_to_see("half a thought")
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_a_decision_taken_here_instead_takes_the_draft_with_it(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.type("half a thought")
        terminal.wait_to_see("half a thought")
        terminal.type(ESCAPE)
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        terminal.wait_for("Careful: a change request is not sent; 3 sends it.")
        terminal.wait_for("2) Drop it")
        terminal.type(ENTER)
        terminal.wait_for_list(times=3)
        terminal.type("1", ENTER)
        terminal.wait_for("2) Drop it", times=2)
        terminal.type("2", ENTER)
        assert terminal.end() == 0
    assert last_run(pending).decision_state is DecisionState.APPROVED_CONTINUE
    assert not message_file(pending).exists()


@pytest.mark.exhaustive
def test_a_decision_from_elsewhere_leaves_the_text_for_a_message(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        type_text(terminal)
        decide_elsewhere(pending, "a", "--approve")
        assert terminal.end() == 0
        assert "it is kept, and `git blackbird resume a -e` continues it" in " ".join(terminal.text.split())
    assert is_kept(pending, TEXT)
    with Terminal(pending, "resume", "a", "-e", environ={"GIT_EDITOR": "true"}) as terminal:
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert last_run(pending).message == TEXT
    assert not message_file(pending).exists()


def test_two_who_write_at_once_have_a_file_each(pending: Path) -> None:
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.type("mine")
        wait_until(partial(is_kept, pending, "mine"))
        message_file(pending).write_text("theirs")
        terminal.type(" too")
        wait_until((message_file(pending).parent / "message.2.md").exists)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert is_kept(pending, "theirs")
    assert (message_file(pending).parent / "message.2.md").read_text() == "mine too"


@pytest.mark.parametrize("trap", ["link", "folder", "pipe", "huge"])
def test_what_stands_in_the_place_of_a_draft_harms_nobody(pending: Path, trap: str) -> None:
    path, secret = message_file(pending), pending.parent / "secret"
    secret.write_text("secret\n")
    path.parent.mkdir(parents=True)
    match trap:
        case "link":
            path.symlink_to(secret)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.write_bytes(b"x" * (2 * 1024 * 1024))
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.type("mine")
        second = path.parent / "message.2.md"
        wait_until(lambda: second.exists() and second.read_text() == "mine")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert secret.read_text() == "secret\n"


def test_a_hostile_draft_cannot_steer_the_terminal_and_is_sent_as_it_is(pending: Path) -> None:
    path = message_file(pending)
    path.parent.mkdir(parents=True)
    path.write_text("a\x1b]0;title\x07b\x1b[2J")
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.wait_to_see("b^[[2J")
        assert b"\x1b]0;" not in terminal.sent
        terminal.type(CTRL_S)
        terminal.wait_for_list(times=2)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert runs_of(pending, "a")[0].decision_feedback == "a\x1b]0;title\x07b\x1b[2J"


def test_a_disk_that_is_full_is_told(pending: Path) -> None:
    drafts = pending / ".git/blackbird/drafts"
    drafts.write_text("in the way")
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.type("mine")
        terminal.wait_to_see("mine")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert "warning: what you wrote could not be saved: cannot save" in terminal.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_answers_survive_as_well(demo_repo: Path, number: signal.Signals) -> None:
    put_plan(demo_repo, leaf("a", "ask one Which one?\nask name Whose name?\nanswered name n.txt"))
    with Terminal(demo_repo, "execute", "--no-stop") as terminal:
        terminal.wait_for("one:")
        terminal.type("Uno", ENTER)
        terminal.wait_for("name:")
        terminal.type("Ada Love")
        wait_until(lambda: answers(demo_repo) == {"Uno", "Ada Love"})
        os.kill(terminal.pid, number)
        terminal.end()
    with Terminal(demo_repo, "resume", "a", "--no-stop") as terminal:
        terminal.wait_for("one: Uno")
        terminal.type(ENTER)
        terminal.wait_for("name: Ada Love")
        terminal.type("lace", ENTER)
        assert terminal.end() == 0
    assert (demo_repo / "n.txt").read_text() == "Ada Lovelace\n"
    assert answers(demo_repo) == set()


def test_plain_lines_survive_as_well(pending: Path) -> None:
    dumb = {"TERM": "dumb"}
    with Terminal(pending, "execute", environ=dumb) as terminal:
        terminal.wait_for("Select option: ")
        terminal.type("3\n")
        terminal.wait_for("end with a blank line")
        terminal.type("Say it twice.\n", "And @README.md\n")
        wait_until(partial(is_kept, pending, TEXT))
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.end()
    with Terminal(pending, "execute", environ=dumb) as terminal:
        terminal.wait_for("Select option: ")
        terminal.type("3\n")
        terminal.wait_for("Send it? [y/N] ")
        assert "You wrote before:\r\nSay it twice.\r\nAnd @README.md\r\n" in terminal.plain
        terminal.type("y\n")
        terminal.wait_for("Select option: ", times=2)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert runs_of(pending, "a")[0].decision_feedback == TEXT
    assert not message_file(pending).exists()


def answers(repo: Path) -> set[str]:
    return {path.read_text() for path in (repo / ".git/blackbird/drafts/texts").glob("a/answer-*.md")}


def editor_at_the_terminal(repo: Path) -> str:
    """An editor that shows the file, writes a line to it, and waits for Enter."""
    path = repo.parent / "editor"
    path.write_text('#!/bin/sh\ncat "$1"\necho "from the editor" >>"$1"\nprintf "editor> "\nread -r _\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.exhaustive
def test_the_prompt_opens_the_draft_in_the_editor(pending: Path) -> None:
    environ = {"GIT_EDITOR": editor_at_the_terminal(pending)}
    with Terminal(pending, "execute", environ=environ) as terminal:
        compose(terminal)
        terminal.type("typed, then ")
        terminal.wait_to_see("typed, then")
        terminal.type(CTRL_X + CTRL_E)
        terminal.wait_for("editor> ")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.end()
    assert is_kept(pending, "typed, then from the editor\n")
    with Terminal(pending, "execute", environ=environ) as terminal:
        compose(terminal)
        terminal.type(CTRL_X + CTRL_E)
        terminal.wait_for("editor> ")
        terminal.type(ENTER)
        terminal.wait_to_see("editor>\n? What should change?")
        terminal.type(CTRL_S)
        terminal.wait_for_list(times=2)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    told = "typed, then from the editor\nfrom the editor\n"
    assert runs_of(pending, "a")[0].decision_feedback == told
    assert not message_file(pending).exists()


@pytest.mark.parametrize("command", [("resume", "a"), ("restart", "a")])
def test_a_message_in_the_editor_survives_a_kill(pending: Path, command: tuple[str, ...]) -> None:
    environ = {"GIT_EDITOR": editor_at_the_terminal(pending)}
    with Terminal(pending, *command, "-e", environ=environ) as terminal:
        terminal.wait_for("editor> ")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.end()
    assert is_kept(pending, "from the editor\n")
    with Terminal(pending, *command, "-e", environ=environ) as terminal:
        terminal.wait_for("from the editor")
        terminal.wait_for("editor> ")
        terminal.type(ENTER)
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        terminal.end()
    told = {run.decision_feedback for run in runs_of(pending, "a")} | {
        run.message for run in runs_of(pending, "a")
    }
    assert "from the editor\nfrom the editor\n" in told
    assert not message_file(pending).exists()


def test_what_cannot_be_decided_opens_no_editor(pending: Path) -> None:
    decide_elsewhere(pending, "a", "--approve")
    with Terminal(
        pending, "decide", "a", "--request-changes", "-e", environ={"GIT_EDITOR": "false"}
    ) as terminal:
        assert terminal.end() == 1
        assert "error: no decision is pending on a" in terminal.text
        assert "editor" not in terminal.text
    assert not message_file(pending).exists()


def test_a_form_in_the_editor_survives_a_kill_and_changes_of_others_stay(pending: Path) -> None:
    path = pending.parent / "retitle"
    path.write_text(
        '#!/bin/sh\nsed s/say/Say/ "$1" >"$1.new" && mv "$1.new" "$1"\nprintf "editor> "\nread -r _\n'
    )
    path.chmod(0o755)
    draft = pending / ".git/blackbird/drafts/a.md"
    with Terminal(pending, "edit", "a", environ={"GIT_EDITOR": str(path)}) as terminal:
        terminal.wait_for("editor> ")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.end()
    assert "Say I wrote it." in draft.read_text()
    assert stat.S_IMODE(draft.parent.stat().st_mode) == 0o700
    with Terminal(pending, "edit", "a", "--title", "Theirs") as terminal:
        assert terminal.end() == 0
    with Terminal(pending, "edit", "a", environ={"GIT_EDITOR": "head -n 1"}) as terminal:
        assert terminal.end() == 0
        assert "<!-- ! This is your earlier text, which was not accepted yet." in terminal.text
    done = store_at(pending).plan().tasks[TaskId("a")]
    assert (done.title, "Say I wrote it." in done.prompt) == ("Theirs", True)
    assert [path.name for path in draft.parent.rglob("*") if path.is_file()] == []


def test_who_edits_at_the_same_time_has_another_form(pending: Path) -> None:
    environ = {"GIT_EDITOR": editor_at_the_terminal(pending)}
    with Terminal(pending, "edit", "a", environ=environ) as first:
        first.wait_for("editor> ")
        with Terminal(pending, "edit", "a", environ={"GIT_EDITOR": "cat"}) as second:
            assert second.end() == 0
            assert "Another draft of it is kept in" in second.plain
            assert "from the editor" not in second.plain
        assert "from the editor" in (pending / ".git/blackbird/drafts/a.md").read_text()


needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")


@pytest.mark.exhaustive
@needs_tmux
def test_the_screen_and_the_prompt_offer_each_others_text(pending: Path, tmux: Tmux) -> None:
    tmux.open_controlled(pending)
    # The server outlives its windows.
    tmux.do("set-option", "-s", "exit-empty", "off")
    tmux.wait_for("Action required (1)", "q Quit")
    tmux.press("d")
    tmux.wait_for("esc leaves it open")
    tmux.press("3", "Enter")
    tmux.wait_for("What should change?")
    tmux.press("From the screen.")
    wait_until(partial(is_kept, pending, "From the screen."))
    tmux.kill_program(signal.SIGKILL)
    with Terminal(pending, "execute") as terminal:
        compose(terminal)
        terminal.wait_to_see("From the screen.")
        terminal.type(" And the prompt.")
        terminal.wait_to_see("And the prompt.")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    tmux.do("kill-session")
    tmux.open(pending)
    tmux.wait_for("Action required (1)", "q Quit")
    tmux.press("d")
    tmux.wait_for("esc leaves it open")
    tmux.press("3", "Enter")
    tmux.wait_for("From the screen. And the prompt.")
    tmux.press(" And the screen.")
    tmux.wait_for("And the screen.")
    # Its terminal goes with it at once.
    tmux.do("kill-session")
    told = "From the screen. And the prompt. And the screen."
    wait_until(partial(is_kept, pending, told))
    tmux.open(pending)
    tmux.wait_for("Action required (1)", "q Quit")
    tmux.press("d")
    tmux.wait_for("esc leaves it open")
    tmux.press("3", "Enter")
    tmux.wait_for("And the screen.")
    tmux.press("C-s")
    wait_until(lambda: runs_of(pending, "a")[0].decision_feedback == told)
    wait_until(lambda: not message_file(pending).exists())

"""A change is reviewed, sent back and approved in terminals of four sizes, each with other colours."""

import shutil
from pathlib import Path

import pytest

from git_blackbird.model.run.states import DecisionState
from tests.controller.support import configure, execute, leaf, put_plan, runs_of
from tests.support import commit, git
from tests.tui.tmux import Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
WRITES = "write a.txt one\nwrite b.txt two\non-feedback write a.txt three"


@pytest.fixture
def pending(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", WRITES), leaf("beta", "write c.txt three", deps=["alpha"]))
    execute(repo)
    return repo


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("columns", "lines", "theme"), [(60, 20, ""), (80, 24, "ansi"), (100, 30, "light"), (200, 60, "dark")]
)
def test_a_change_is_reviewed_by_line(
    pending: Path, tmux: Tmux, columns: int, lines: int, theme: str
) -> None:
    if theme:
        configure(pending, tui__theme=theme)
    else:
        git(pending, "config", "color.ui", "never")
    tmux.open(pending)
    tmux.resize(columns, lines)
    tmux.wait_for("] 0/2 · demo · 1 waits", "[a] opens alpha", "q Quit", "demo")
    tmux.press("a")
    tmux.wait_for("ACTION REQUIRED  your decision on alpha", "0 of 2 read", "1. Approve")
    tmux.press("]", "m")
    # The cursor has gone on to the next file.
    tmux.wait_for("1 of 2 read", "file 2 of 2", "✓ A a.txt", "b.txt  +1 -0  added")
    tmux.press("Tab", "Tab", "[", "Down", "Down")
    tmux.wait_for("file 1 of 2", "c comments, v range")
    tmux.press("c")
    tmux.wait_for("Comment on a.txt:1")
    tmux.press("Why not three?", "C-s")
    tmux.wait_for("you: Why not three?", "1 of 2 read, 1 comment", "✓*A a.txt", without="Comment on")
    tmux.press("3", "Enter")
    tmux.wait_for("What should change?", "a.txt:1", "Why not three?")
    tmux.press("C-s")
    tmux.wait_for("ACTION REQUIRED", "round 2", "8. View changes since", "enter chooses")
    tmux.press("i", "+")
    tmux.wait_for("1 + three", without="b.txt  +1")
    tmux.press("2", "Enter")
    tmux.wait_for("] 1/2 · ", without="ACTION REQUIRED")
    for tab, text in (("5", "Unblocks 1 task"), ("3", "execute  success  approved"), ("4", "b.txt  +1 -0")):
        tmux.press(tab)
        tmux.wait_for(text)
    tmux.press("?")
    tmux.wait_for("Keys", "/ searches, esc goes back")
    tmux.press("/", "copy")
    tmux.wait_for("Copy: copy the task's id")
    tmux.press("Escape")
    tmux.wait_for("q Quit", without="Keys")
    tmux.press("q")
    tmux.wait_for_end(0)
    first, second = runs_of(pending, "alpha")
    assert [(one.path, one.text) for one in first.comments] == [("a.txt", "Why not three?")]
    assert second.decision_state is DecisionState.APPROVED_QUIT

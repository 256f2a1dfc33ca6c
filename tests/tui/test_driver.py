"""The real program in a real terminal: keys sent, the screen read."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus, TerminalReason
from tests.controller.support import configure, leaf, put_plan, runs_of, store_at
from tests.support import commit, git, wait_until
from tests.tui.tmux import AS_THE_SHELL_HAS_THEM, Tmux

TAKES_KEYS = "esc leaves it open"
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"), leaf("beta", "say Working on it.\nsleep 60"))
    return repo


def test_a_task_is_run_and_approved_in_a_terminal(planned: Path, tmux: Tmux) -> None:
    tmux.open(planned)
    tmux.wait_for("] 0/2 · ")
    tmux.execute()
    tmux.wait_for("A a.txt ", TAKES_KEYS)
    # Pressed twice, both are read at once.
    tmux.press("1", "Enter", "Enter")
    tmux.wait_for("Working on it.")
    tmux.press("q")
    tmux.wait_for("beta is at work", "2. Pause it and quit")
    tmux.press("2", "Enter")
    tmux.wait_for("paused beta; `git blackbird execute` goes on")
    tmux.wait_for_end(0)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.APPROVED_CONTINUE]
    assert [run.status for run in runs_of(planned, "beta")] == [RunStatus.PAUSED]


def test_the_shell_is_gone_back_to_and_left_again(planned: Path, tmux: Tmux) -> None:
    tmux.open_below_git(planned)
    tmux.wait_for("] 0/2 · ")
    tmux.press("o")
    tmux.wait_for("Agent for new runs")
    # Pressed twice, both are read at once.
    tmux.press("C-z", "C-z")
    tmux.wait_for("stopped", without="] 0/2 · ")
    assert tmux.flags() == AS_THE_SHELL_HAS_THEM
    tmux.press("Enter")
    # What was typed at the shell is not meant for the application.
    tmux.wait_for("Agent for new runs", "enter chooses")
    tmux.press("Escape")
    tmux.wait_for("q Quit", without="Agent for new runs")
    tmux.press("q")
    tmux.wait_for_end(0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("keys", [("q",), ("C-c", "C-c")])
def test_leaving_stops_both_reviewers_of_a_change(planned: Path, tmux: Tmux, keys: tuple[str, ...]) -> None:
    configure(planned, reviews__mode="parallel", execution__stopGraceSeconds="0")
    put_plan(planned, leaf("alpha", "write a.txt one\nspec-sleep 600\ncode-sleep 600"))
    tmux.open(planned)
    tmux.wait_for("] 0/1 · ")
    tmux.execute()
    tmux.wait_for("  spec review of alpha  ", "  code review of alpha  ")
    for key in keys:
        tmux.press(key)
        if key == "q":
            tmux.wait_for("are at work", "2. Pause them and quit")
            tmux.press("2", "Enter")
        elif key != keys[-1]:
            tmux.wait_for("no agent is at work")
    tmux.wait_for_end(0)
    left = store_at(planned).records.reviews(leaf("alpha").id).runs
    interrupted = RunStatus.FAILED, TerminalReason.INTERRUPTED
    assert [(one.status, one.terminal_reason) for one in left] == [interrupted] * 2
    assert [signals.marked(one.id) for one in left] == [[], []]
    (run,) = runs_of(planned, "alpha")
    assert (run.status, run.review_state) == (RunStatus.SUCCESS, ReviewState.DUE)


@pytest.mark.exhaustive
def test_the_commit_of_an_approval_is_interrupted_and_has_no_terminal(planned: Path, tmux: Tmux) -> None:
    configure(planned, execution__commit="approved")
    hook = planned / ".git" / "hooks" / "pre-commit"
    hook.write_text(
        "#!/bin/sh\n(: </dev/tty) 2>/dev/null && exit 1\ntrap '' INT\necho $$ >.git/at-work\nsleep 600\n"
    )
    hook.chmod(0o755)
    before = git(planned, "rev-parse", "HEAD")
    tmux.open_controlled(planned)
    tmux.wait_for("] 0/2 · ")
    for key, said in (("e", "not approved: its commit"), ("d", "interrupting the commit")):
        if key == "e":
            tmux.execute()
        else:
            tmux.press(key)
        tmux.wait_for("A a.txt ", TAKES_KEYS)
        tmux.press("1", "Enter")
        pid = int(wait_for_file(planned / ".git" / "at-work"))
        tmux.wait_for("committing alpha", without="d Decide")
        tmux.press("C-c")
        tmux.wait_for(said, "d Decide", without="committing alpha")
        wait_until(partial(is_over, pid))
    assert git(planned, "rev-parse", "HEAD") == before
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.PENDING]
    # Interrupted in a hook that git runs after the commit: the commit stays, and nothing is started.
    hook.rename(hook.with_name("post-commit"))
    tmux.press("d")
    tmux.wait_for("A a.txt ", TAKES_KEYS)
    tmux.press("1", "Enter")
    wait_for_file(planned / ".git" / "at-work")
    tmux.wait_for("committing alpha")
    tmux.press("C-c")
    tmux.wait_for("] 1/2 · ", without="committing alpha")
    assert runs_of(planned, "beta") == ()
    tmux.press("q")
    tmux.wait_for_end(0)
    assert git(planned, "show", "--format=%s", "--name-only") == "Task alpha\n\na.txt"


def is_over(pid: int) -> bool:
    return signals.identity(pid) is None


def wait_for_file(path: Path) -> str:
    """Wait for the text of a file and return it."""
    wait_until(lambda: path.exists() and path.read_text().strip() != "")
    text = path.read_text()
    path.unlink()
    return text


@pytest.mark.exhaustive
def test_a_window_that_changes_its_size_keeps_what_is_asked(planned: Path, tmux: Tmux) -> None:
    tmux.open(planned)
    tmux.wait_for("] 0/2 · ")
    tmux.execute()
    tmux.wait_for("A a.txt ", TAKES_KEYS)
    for columns, lines in ((120, 40), (40, 12), (80, 24)):
        tmux.resize(columns, lines)
        tmux.wait_for("ACTION REQUIRED", "4. Reject changes", "─" * (columns - 40))
    tmux.press("3", "Enter")
    tmux.wait_for("What should change?")
    tmux.press("Say two.")
    for columns, lines in ((120, 40), (80, 24), (40, 12)):
        tmux.resize(columns, lines)
        # The frame is as wide as the window, less a margin.
        tmux.wait_for("What should change?", "Say two.", f"┗{'━' * (columns * 96 // 100 - 3)}")
    tmux.press("Escape")
    tmux.wait_for("4. Reject changes", without="What should change?")
    tmux.press("4", "Enter")
    tmux.wait_for("Drop it?")
    tmux.press("2", "Enter")
    tmux.wait_for("Why is alpha rejected?")
    tmux.press("Enter")
    tmux.wait_for("* Task beta", "IN_PROGRESS")
    tmux.press("q")
    tmux.wait_for("2. Pause it and quit")
    tmux.press("2", "Enter")
    tmux.wait_for_end(0)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.REJECTED]


@pytest.mark.exhaustive
def test_what_is_typed_in_one_go_is_for_what_the_first_key_opens(planned: Path, tmux: Tmux) -> None:
    tmux.open(planned)
    tmux.wait_for("] 0/2 · ", "q Quit")
    tmux.press("/", "bet")
    tmux.wait_for("search bet: ")
    tmux.press("Escape")
    tmux.wait_for("alpha", without="search bet: ")
    tmux.press("o", "e")
    tmux.wait_for("Agent for new runs")
    tmux.press("Escape")
    tmux.wait_for("q Quit", without="Agent for new runs")
    tmux.press("q")
    tmux.wait_for_end(0)
    assert runs_of(planned, "alpha") == ()

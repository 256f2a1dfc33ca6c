"""The real program in a real terminal: keys sent, the screen read."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.model.run import DecisionState, RunStatus
from tests.cli.terminal import program_environ
from tests.controller.support import configure, leaf, put_plan, runs_of
from tests.support import commit

PATIENCE_SECONDS = 60.0
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")


class Tmux:
    """One window of 80 columns and 24 lines, of a server of its own."""

    def __init__(self, place: Path) -> None:
        self._socket = str(place / "tmux")

    def do(self, *args: str) -> str:
        command = ["tmux", "-f", "/dev/null", "-S", self._socket, *args]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=program_environ()
        ).stdout

    def open(self, cwd: Path, *args: str) -> None:
        command = [sys.executable, "-m", "git_blackbird", *args]
        self.do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(cwd), *command)
        self.do("set-option", "-g", "remain-on-exit", "on")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in (shown := self.do("capture-pane", "-p")):
            assert time.monotonic() < deadline, shown
            time.sleep(0.05)


@pytest.fixture
def tmux(temporary: Path) -> Iterator[Tmux]:
    window = Tmux(temporary)
    yield window
    window.do("kill-server")


def test_a_task_is_run_and_approved_in_a_terminal(repo: Path, tmux: Tmux) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"), leaf("beta", "say Working on it.\nsleep 60"))
    tmux.open(repo)
    tmux.wait_for("2 tasks: 2 todo (2 ready)")
    tmux.do("send-keys", "e")
    tmux.wait_for("A a.txt  +1 -0")
    tmux.do("send-keys", "Enter")
    tmux.wait_for("Working on it.")
    tmux.do("send-keys", "q")
    tmux.wait_for("Pane is dead")
    assert [run.decision_state for run in runs_of(repo, "alpha")] == [DecisionState.APPROVED_CONTINUE]
    assert [run.status for run in runs_of(repo, "beta")] == [RunStatus.PAUSED]

"""``resume --interactive``: a session opened by hand at the terminal, with the record of a run around it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.agents.process.signals import marked
from git_blackbird.controller.core.environment import system_environment
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, RunStatus, TerminalReason
from tests import preloaded
from tests.cli.terminal import CTRL_C, PROGRAM, Terminal, program_environ
from tests.controller.support import (
    Person,
    agree_to_agent,
    configure,
    leaf,
    put_plan,
    run_to_stop,
    runs_of,
    status,
)
from tests.support import commit, git

# Alone, it works as it is told to; with a terminal it does what is typed there.
CLAUDE = r"""#!/bin/sh
case "$1" in --version) echo "2.1.332 (Claude Code)"; exit 0;; esac
if [ "$1" = -p ]; then
  cat >/dev/null
  echo one >one.txt
  while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done
  printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$2"
  printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s",' "$2"
  printf '"total_cost_usd":0.5,"usage":{"input_tokens":12000,"output_tokens":900}}\n'
  exit 0
fi
[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || { echo "no terminal"; exit 9; }
trap 'echo interrupted' INT
printf '%s\n' "$*" >"$ARGV"
printf '%s %s\n' "$PWD" "$BLACKBIRD_RUN_ID" >>"$ARGV"
stty -echo
echo "claude here"
while :; do
  printf 'you: '
  read -r word rest || { [ -t 0 ] && continue; exit 1; }
  case "$word" in
    write) echo "$rest" >two.txt; echo "written";;
    leave) exit "$rest";;
    *) echo "said $word";;
  esac
done
"""


@pytest.fixture
def worked(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a task that claude has done once."""
    commit(repo, {"README.md": "# A project\n"})
    claude = tmp_path / "bin/claude"
    claude.parent.mkdir()
    claude.write_text(CLAUDE)
    claude.chmod(0o755)
    monkeypatch.setenv("ARGV", str(tmp_path / "argv"))
    configure(repo, agent="claude", claude__path=str(claude), claude__permissionMode="acceptEdits")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    execute_a(repo)
    return repo


def execute_a(repo: Path) -> None:
    workspace = open_workspace(system_environment()._replace(cwd=repo))
    run_to_stop(workspace, execute_loop(workspace, Person(), ("a",), None))


def argv(tmp_path: Path) -> list[str]:
    return (tmp_path / "argv").read_text().splitlines()


def called(repo: Path, *args: str) -> tuple[int, str]:
    """Call the program without a terminal; return its exit code and all it says."""
    done = preloaded.run(
        [sys.executable, *PROGRAM, *args],
        cwd=repo,
        env=program_environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_session_is_opened_by_hand_and_its_work_decided_on(worked: Path, tmp_path: Path) -> None:
    with Terminal(worked, "resume", "a", "--interactive") as terminal:
        terminal.wait_for("you: ")
        # It is its own: this program goes on.
        terminal.type(CTRL_C)
        terminal.wait_for("interrupted")
        terminal.type("\nwrite second\n")
        terminal.wait_for("written")
        terminal.type("leave 0\n")
        terminal.wait_for_list()
        terminal.wait_to_see("A two.txt  +1 -0")
        assert "opened by hand" in terminal.plain
        terminal.type("2", "\r")
        assert terminal.end() == 0
        assert terminal.mode() == terminal.mode_before
    first, second = runs_of(worked, "a")
    called, where = argv(tmp_path)
    assert called == f"--resume {first.provider_session_ref} --permission-mode acceptEdits"
    assert where == f"{worked} {second.id}"
    assert (second.resumes, second.provider_session_ref) == (first.id, first.provider_session_ref)
    assert (second.status, second.decision_state) == (RunStatus.SUCCESS, DecisionState.APPROVED_QUIT)
    assert (second.exit_code, second.cost_usd, second.stdout) == (0, None, None)
    assert (second.by_hand, second.prompt) == (True, "")
    assert second.raw_totals == first.raw_totals
    assert [change.path for change in second.review_summary.changes] == ["two.txt"]  # type: ignore[union-attr]
    assert status(worked, "a") is Status.DONE
    assert marked(second.id) == []


def test_what_waits_to_be_sent_stays_so_and_what_was_left_open_is_decided_later(worked: Path) -> None:
    configure(worked, execution__stopAfterEachTask="true")
    with Terminal(worked, "resume", "a", "-m", "Two.", "--stop-after-each") as terminal:
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    code, said = called(worked, "resume", "a", "--interactive", "-m", "x")
    assert (code, "you speak with its agent yourself" in said) == (2, True)
    code, _ = called(worked, "decide", "a", "--request-changes", "-m", "By hand.")
    assert code == 0
    with Terminal(worked, "resume", "a", "--interactive") as terminal:
        terminal.wait_for("you: ")
        terminal.type("write third\nleave 0\n")
        terminal.wait_for_list()
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    code, shown = called(worked, "show", "a")
    assert (code, "sent with the next start\n  By hand.\n" in shown) == (0, True), shown
    last = runs_of(worked, "a")[-1]
    assert (last.is_pending, last.by_hand) == (True, True)
    code, said = called(worked, "resume", "a", "--no-input")
    assert (code, f"a decision is due on a (run {last.id})" in said) == (1, True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("typed", "state"), [("leave 3\n", None), ("write x\nleave 3\n", RunStatus.PAUSED)])
def test_a_program_that_fails_leaves_the_task_as_it_was_or_paused(
    worked: Path, typed: str, state: RunStatus | None
) -> None:
    with Terminal(worked, "resume", "a", "--interactive") as terminal:
        terminal.wait_for("you: ")
        terminal.type(typed)
        assert terminal.end() == 8
        assert "claude: its program ended with exit status 3" in terminal.text
    last = runs_of(worked, "a")[-1]
    assert last.terminal_reason is TerminalReason.AGENT_UNAVAILABLE
    assert (None if last.is_superseded else last.status) is state
    assert status(worked, "a") is (Status.DONE if state is None else Status.WAITING_USER)


@pytest.mark.exhaustive
def test_it_is_opened_in_the_worktree_of_its_task(worked: Path, tmp_path: Path) -> None:
    configure(worked, execution__worktrees="true", execution__stopAfterEachTask="true")
    with Terminal(worked, "execute", "b") as terminal:
        terminal.wait_for_list()
        terminal.type("1", "\r")
        terminal.end()
    with Terminal(worked, "resume", "b", "--interactive") as terminal:
        terminal.wait_for("you: ")
        terminal.type("write there\nleave 0\n")
        terminal.wait_for_list()
        assert not (worked / "two.txt").exists()
        terminal.type("1", "\r")
        assert terminal.end() == 0
    last = runs_of(worked, "b")[-1]
    assert argv(tmp_path)[-1] == f"{last.worktree_path} {last.id}"
    assert (worked / "two.txt").read_text() == "there\n"


def test_it_needs_a_terminal_and_a_task_alone(worked: Path) -> None:
    for options in ((), ("--no-input",)):
        code, said = called(worked, "resume", "a", "--interactive", *options)
        assert (code, said.splitlines()) == (
            2,
            [
                "error: --interactive needs a terminal",
                "hint: git blackbird resume a -e    # sends your text instead; or -m TEXT",
            ],
        )
    for more in (("--all",), ("-m", "x"), ("--answer", "a=b"), ("--cluster", ""), ("--stream",), ("--json",)):
        code, said = called(worked, "resume", "a", "--interactive", *more)
        assert (code, "goes with one TASK alone" in said) == (2, True)
    assert len(runs_of(worked, "a")) == 1


def test_an_agent_without_such_a_program_is_called(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo")
    put_plan(repo, leaf("a", "write a.txt one"))
    execute_a(repo)
    with Terminal(repo, "resume", "a", "--interactive") as terminal:
        assert terminal.end() == 1
        assert "demo opens no session by hand; it worked on a" in terminal.text
    assert len(runs_of(repo, "a")) == 1


def test_a_signal_waits_for_the_program_and_leaves_the_decision_open(worked: Path) -> None:
    with Terminal(worked, "resume", "a", "--interactive") as terminal:
        terminal.wait_for("you: ")
        os.kill(terminal.pid, signal.SIGTERM)
        terminal.type("write more\n")
        terminal.wait_for("written")
        terminal.type("leave 0\n")
        assert terminal.end() == 130
    last = runs_of(worked, "a")[-1]
    assert last.is_pending, (last, terminal.text)
    assert git(worked, "status", "--porcelain", "two.txt") == "?? two.txt"

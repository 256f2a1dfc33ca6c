"""Approvals that commit, as each face tells of them, and commits as readers list them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.cli.json_values import encode
from git_blackbird.cli.printed.events import CheckpointReached
from git_blackbird.messages.display.checkpoint import render_checkpoint
from git_blackbird.messages.display.events import render_event
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.model.run.summary import Outside, Summary
from git_blackbird.model.views.checkpoint import ApprovalCommit, Checkpoint, CommitPreview
from git_blackbird.model.views.events import Decided
from tests import preloaded
from tests.cli.golden_harness import Program, program
from tests.cli.terminal import (
    CTRL_C,
    ENTER,
    PATIENCE_SECONDS,
    PROGRAM,
    Terminal,
    program_environ,
)
from tests.controller.support import configure, leaf, put_plan, runs_of, store_at
from tests.support import commit, git, write

__all__ = ["program"]

REFUSING_ONCE = 'rm "$0"; echo "x.txt: bad style"; exit 1'


@pytest.fixture
def gated(repo: Path) -> Path:
    """A repository in which the first task waits to be done and approvals are committed."""
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__commit="approved")
    put_plan(repo, leaf("a", "write x.txt 1"))
    return repo


def hook(repo: Path, name: str, script: str) -> None:
    path = repo / ".git/hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(repo: Path, *args: str, told: str = "") -> subprocess.CompletedProcess[str]:
    return preloaded.run(
        [sys.executable, *PROGRAM, *args],
        cwd=repo,
        env=program_environ(),
        input=told,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


@pytest.mark.exhaustive
def test_line_mode_says_what_is_committed_and_asks_again_when_it_is_not(gated: Path) -> None:
    hook(gated, "pre-commit", REFUSING_ONCE)
    completed = run(gated, "execute", told="1\n1\n")
    assert completed.stdout.count("\nApproving commits 1 path on main\n") == 2
    assert completed.stdout.endswith(
        f"Select option: 1\napproved a; committed {head(gated)[:12]} (1 path)\nevery task is done\n"
    )
    assert completed.stderr == (
        "error: a is not approved: git did not commit its change\n"
        "x.txt: bad style\n"
        "hint: resolve that and approve again; what HEAD already has is not committed again\n"
        "hint: or commit by hand, and approve without a commit: "
        "`git blackbird decide a --approve --no-commit`\n"
        "hint: or have the agent fix it: `git blackbird decide a --request-changes`"
        " sends what the hook printed\n"
    )
    assert completed.returncode == 0


def test_what_the_hook_said_is_sent_to_the_agent_by_a_script(gated: Path) -> None:
    put_plan(gated, leaf("a", "write x.txt 1\non-feedback write x.txt 2"))
    hook(gated, "pre-commit", REFUSING_ONCE)
    run(gated, "execute", "--no-input")
    hint = run(gated, "decide", "a", "--approve").stderr.splitlines()[-1]
    command = hint.removeprefix("hint: or have the agent fix it: `git blackbird ").split("`")[0]
    assert run(gated, *command.split()).returncode == 0
    assert run(gated, "execute", "--no-input").returncode == 3
    assert run(gated, "decide", "a", "--approve").returncode == 0
    assert git(gated, "show", "HEAD:x.txt") == "2"


@pytest.mark.exhaustive
def test_a_hook_may_ask_at_the_terminal(gated: Path) -> None:
    hook(gated, "pre-commit", 'exec </dev/tty; printf "really? " >/dev/tty; read -r said; [ "$said" = yes ]')
    with Terminal(gated, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type(ENTER)
        terminal.wait_for("really?")
        terminal.type("yes\r")
        assert terminal.end() == 0
    assert git(gated, "log", "--format=%s") == "Task a\na commit"


def test_ctrl_c_ends_a_hook_and_leaves_the_decision_open(gated: Path, tmp_path: Path) -> None:
    hook(gated, "pre-commit", "echo held >/dev/tty; sleep 600")
    before = git(gated, "ls-files", "-s")
    with Terminal(gated, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type(ENTER)
        terminal.wait_for("held")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.mode() == terminal.mode_before
    (only,) = runs_of(gated, "a")
    assert only.is_pending
    assert (git(gated, "log", "--format=%s"), git(gated, "ls-files", "-s")) == ("a commit", before)
    hook(gated, "pre-commit", "exit 0")
    assert run(gated, "decide", "a", "--approve").returncode == 0
    assert git(gated, "status", "--porcelain") == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_ctrl_c_while_a_hook_runs_ends_a_decision_from_elsewhere(gated: Path, name: str) -> None:
    assert run(gated, "execute", "--no-input").returncode == 3
    write(gated, {"a.txt": "staged\n"})
    git(gated, "add", "a.txt")
    before = git(gated, "ls-files", "-s"), git(gated, "status", "--porcelain")
    hook(gated, name, "echo held >/dev/tty; sleep 600")
    with Terminal(gated, "decide", "a", "--approve") as terminal:
        terminal.wait_for("held")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert "error: a is not approved: its commit was interrupted" in terminal.plain
        assert "hint: git blackbird decide a --approve" in terminal.plain
    (only,) = runs_of(gated, "a")
    assert only.is_pending
    assert git(gated, "log", "--format=%s") == "a commit"
    assert (git(gated, "ls-files", "-s"), git(gated, "status", "--porcelain")) == before
    assert "cut off" not in run(gated, "status").stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", [("execute",), ("decide", "a", "--approve")])
def test_ctrl_c_in_a_hook_after_the_commit_finds_the_commit(gated: Path, command: tuple[str, ...]) -> None:
    put_plan(gated, leaf("a", "write x.txt 1"), leaf("b", "write y.txt 1", deps=["a"]))
    if command[0] == "decide":
        assert run(gated, "execute", "--no-input").returncode == 3
    hook(gated, "post-commit", "echo held >/dev/tty; sleep 600")
    with Terminal(gated, *command) as terminal:
        if command[0] == "execute":
            terminal.wait_for_list()
            terminal.type(ENTER)
        terminal.wait_for("held")
        terminal.type(CTRL_C)
        assert terminal.end() == (130 if command[0] == "execute" else 0)
    assert f"approved a; committed {head(gated)[:12]} (1 path)" in terminal.plain
    (only,) = runs_of(gated, "a")
    assert (only.is_pending, only.commits) == (False, (head(gated),))
    assert runs_of(gated, "b") == ()
    assert (git(gated, "log", "--format=%s"), git(gated, "status", "--porcelain")) == (
        "Task a\na commit",
        "",
    )
    assert "cut off" not in run(gated, "status").stdout


def test_programs_are_told_what_would_be_and_what_was_committed(gated: Path) -> None:
    events = [json.loads(line) for line in run(gated, "execute", "--json").stdout.splitlines()]
    (told,) = [event for event in events if event["event"] == "checkpoint"]
    assert told["commit"] == {"paths": 1, "branch": "main", "obstacles": [], "withStatus": False}
    write(gated, {"x.txt": "mine\n"})
    refused = json.loads(run(gated, "decide", "a", "--approve", "--json").stdout)
    assert refused["error"]["message"] == (
        "a is not approved: its change cannot be committed yet\n"
        "- x.txt: it was edited after the run, by hand or by another task"
    )
    write(gated, {"x.txt": "1\n"})
    data = json.loads(run(gated, "decide", "a", "--approve", "--json").stdout)["data"]
    assert (data["state"], data["commit"]) == ("approved_continue", head(gated))


def test_the_way_out_that_is_named_works(gated: Path) -> None:
    run(gated, "execute", "--no-input")
    write(gated, {"x.txt": "mine\n"})
    assert run(gated, "decide", "a", "--approve").returncode == 1
    approved = run(gated, "decide", "a", "--approve", "--no-commit")
    assert approved.stdout == "approved a\n  the worktree differs from the change in x.txt\n"
    assert git(gated, "log", "--format=%s") == "a commit"


@pytest.mark.exhaustive
def test_later_edits_are_set_aside_and_brought_back_by_the_commands_that_are_named(gated: Path) -> None:
    commit(gated, {"old.txt": "one\ntwo\n", "gone.txt": "1\n"})
    prompt = "append old.txt by the agent\nwrite new.txt 1\ndelete gone.txt\nwrite sub/x.txt 1"
    put_plan(gated, leaf("a", prompt))
    run(gated, "execute", "--no-input")
    mine = {
        "old.txt": "mine\none\ntwo\nby the agent\n",
        "new.txt": "1\nmine\n",
        "gone.txt": "mine\n",
    }
    write(gated, mine)
    (gated / "sub/x.txt").unlink()
    where = gated / "sub"
    tree = git(gated, "rev-parse", f"refs/blackbird/runs/{runs_of(gated, 'a')[0].id}:head")
    refused = run(where, "decide", "a", "--approve")
    assert (refused.returncode, refused.stdout) == (1, "")
    restore = f"git restore --source={tree} --worktree --"
    commands = [
        "mv -i -- ../gone.txt ../gone.txt.later",
        f"mv -i -- ../new.txt ../new.txt.later && {restore} ../new.txt",
        f"mv -i -- ../old.txt ../old.txt.later && {restore} ../old.txt",
        f"{restore} x.txt",
        "git blackbird decide a --approve",
        "mv -- ../gone.txt.later ../gone.txt",
        "mv -- ../new.txt.later ../new.txt",
        "mv -- ../old.txt.later ../old.txt",
        "rm -- x.txt",
    ]
    later = "it was edited after the run, by hand or by another task"
    assert refused.stderr.splitlines() == [
        "error: a is not approved: its change cannot be committed yet",
        *(f"- {path}: {later}" for path in ("gone.txt", "new.txt", "old.txt", "sub/x.txt")),
        (
            "hint: set the later edits aside as below and approve again; "
            "what HEAD already has is not committed again"
        ),
        *(f"hint:   {command}" for command in commands),
        (
            "hint: or commit by hand, and approve without a commit: "
            "`git blackbird decide a --approve --no-commit`"
        ),
    ]
    alias = f"!PYTHONPATH={Path(__file__).parents[2]} {sys.executable} -m git_blackbird"
    git(gated, "config", "alias.blackbird", alias)
    script = "\n".join(["set -e", *commands])
    completed = subprocess.run(["sh", "-c", script], cwd=where, capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert git(gated, "show", "--no-renames", "--format=%s", "--name-status", "HEAD").splitlines() == [
        "Task a",
        "",
        "D\tgone.txt",
        "A\tnew.txt",
        "M\told.txt",
        "A\tsub/x.txt",
    ]
    assert git(gated, "show", "HEAD:old.txt") == "one\ntwo\nby the agent"
    assert {name: (gated / name).read_text() for name in mine} == mine
    assert git(gated, "status", "--porcelain").splitlines() == [
        " M new.txt",
        " M old.txt",
        " D sub/x.txt",
        "?? gone.txt",
    ]


RUN = Run(
    id=RunId("0123456789abcdef"),
    task_id=TaskId("a"),
    started_at="2026-01-02T02:00:00Z",
    status=RunStatus.SUCCESS,
    decision_state=DecisionState.PENDING,
)


PLAIN = render_checkpoint(Checkpoint(leaf("a"), RUN, Summary(), None, Outside()))


def commit_lines(outlook: CommitPreview | None) -> list[Line]:
    return render_checkpoint(Checkpoint(leaf("a"), RUN, Summary(), None, Outside(), commit=outlook))[
        len(PLAIN) :
    ]


def test_a_checkpoint_says_what_approving_means() -> None:
    refusal = "Cannot commit this change yet:"
    assert commit_lines(None) == []
    assert commit_lines(CommitPreview(2, None)) == [
        styled("Approving commits 2 paths on a detached HEAD", Style.FAINT)
    ]
    assert commit_lines(CommitPreview(0, "main")) == [
        styled("Approving commits nothing: HEAD already has the whole change", Style.FAINT)
    ]
    assert commit_lines(CommitPreview(1, "main", ("a\x1b[31m: why", "a merge is in progress"))) == [
        styled(refusal, Style.WARNING),
        styled("  a: why", Style.WARNING),
        styled("  a merge is in progress", Style.WARNING),
    ]
    shown = Checkpoint(leaf("a"), RUN, Summary(), None, Outside())
    assert encode(CheckpointReached(shown))["commit"] is None


def test_a_decision_says_what_it_committed() -> None:
    def decided_text(commit: ApprovalCommit | None) -> str | None:
        state = DecisionState.APPROVED_CONTINUE
        return render_event(Decided(TaskId("a"), RUN.id, state, elsewhere=False, commit=commit))

    assert decided_text(None) == "approved a"
    assert decided_text(ApprovalCommit()) == "approved a; nothing was left to commit"
    assert decided_text(ApprovalCommit("12" * 20)) == "approved a; nothing was left to commit"
    assert decided_text(ApprovalCommit("12" * 20, 3)) == "approved a; committed 121212121212 (3 paths)"


@pytest.mark.exhaustive
def test_commits_are_listed_and_traced_back(program: Program, repo: Path) -> None:
    git(repo, "config", "blackbird.execution.commit", "approved")
    git(repo, "config", "blackbird.execution.stopAfterEachTask", "true")
    git(repo, "config", "blackbird.agent", "demo")
    program.hidden = {**program.hidden}
    program.run("init")
    program.run("add", "--id", "a", "--title", "Say hello", "--prompt", "write x.txt hello\nfail 1")
    program.run("add", "--id", "b", "--title", "Wait", "--prompt", "say nothing", "--dep", "a")
    program.run("execute", "--no-input")
    program.run("decide", "a", "--approve")
    program.run("decide", "a", "--approve")
    first = runs_of(repo, "a")[0]
    hide(program, head(repo), "1111")
    program.run("runs", "a", first.id)
    program.run("show", "a")
    program.run("show", "--commit", "HEAD")
    program.run("show", "--commit", "HEAD", "--json")
    program.run("show", "a", "--json")
    program.remark("amended: no record lists it, its trailers say it")
    git(repo, "commit", "-q", "--amend", "--no-edit", "--allow-empty", "--author", "Bo <bo@x>")
    hide(program, head(repo), "2222")
    program.run("show", "--commit", ":/hello")
    program.run("show", "--commit", "HEAD", "--json")
    program.remark("a commit of a run that nobody knows, and one of tasks alone")
    hide(program, commit(repo, {"y": "1"}, "strange\n\nBlackbird-Task: z\nBlackbird-Run: ffff\n"), "3333")
    program.run("show", "--commit", "HEAD")
    hide(program, commit(repo, {"y": "2"}, "two\n\nBlackbird-Task: a\nBlackbird-Task: b\n"), "4444")
    program.run("show", "--commit", "HEAD")
    program.remark("commits that are nobody's")
    hide(program, commit(repo, {"y": "3"}, "by hand"), "5555")
    program.run("show", "--commit", "HEAD")
    program.run("show", "--commit", "HEAD", "--json")
    program.run("show", "--commit", "--all")
    program.run("show", "--commit", "nowhere")
    program.run("show", "a", "--commit", "HEAD")
    program.run("show")
    program.remark("a commit that is gone")
    with store_at(repo).transaction() as transaction:
        transaction.save_run(first.updated(commits=tuple(f"{n:040x}" for n in range(12, 0, -1))))
    program.run("show", "a")
    program.check("commits")


def hide(program: Program, oid: str, digits: str) -> None:
    program.hidden = {**program.hidden, oid: digits * 10, oid[:12]: digits * 3}


def test_no_text_of_a_commit_reaches_the_terminal_raw(repo: Path) -> None:
    commit(repo, {"x": "1"}, "\x1b]0;title\x07red\x1b[31m\n\nBlackbird-Task: a\x1b[2J\n")
    put_plan(repo, leaf("a"))
    output = run(repo, "show", "--commit", "HEAD").stdout
    assert "\x1b" not in output
    assert re.sub("[0-9a-f]{12}", "1" * 12, output).splitlines()[0] == "commit 111111111111  red"


@pytest.mark.exhaustive
def test_commits_of_an_agent_at_work_are_listed(repo: Path) -> None:
    configure(repo, agent="command", execution__acceptNoChange="true")
    configure(
        repo,
        command__run="git commit -q --allow-empty -m made\n"
        'echo "$BLACKBIRD_RUN_ID $(git rev-parse HEAD) 1" >>.git/blackbird/commits\n'
        "git bb show a >shown\ngit bb runs a $BLACKBIRD_RUN_ID >told\ngit bb show --commit HEAD >origin",
    )
    git(repo, "config", "alias.bb", f"!{sys.executable} {' '.join(PROGRAM)}")
    put_plan(repo, leaf("a"))
    completed = run(repo, "execute", "--no-input")
    assert completed.returncode == 0, completed
    made = git(repo, "rev-parse", "HEAD")[:12]
    assert (repo / "shown").read_text().endswith(f"\ncommits\n  {made}  made\n")
    assert f"\ncommitted\n  {made}  made\n" in (repo / "told").read_text()
    assert (repo / "origin").read_text().startswith(f"commit {made}  made\n  task a  run ")

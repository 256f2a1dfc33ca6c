"""The demo: by itself and by hand, from nothing, touching nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.findings import FollowUp
from git_blackbird.model.run.states import DecisionState, Requester, RunStatus
from tests import preloaded
from tests.cli.golden_harness import Program, program
from tests.cli.review_order import in_order
from tests.cli.terminal import CTRL_S, ENTER, PATIENCE_SECONDS, PROGRAM, Terminal, program_environ
from tests.controller.support import runs_of, store_at
from tests.support import git

__all__ = ["program"]

LEAVES = ("check", "greet", "guide-faq", "guide-usage", "release")


def run(cwd: Path, *args: str, **environ: str | None) -> subprocess.CompletedProcess[str]:
    return preloaded.run(
        [sys.executable, *PROGRAM, *args],
        cwd=cwd,
        env=program_environ(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def statuses(repo: Path) -> set[Status]:
    return {task.status for task in store_at(repo).plan().tasks.values()}


def test_everything_it_says(program: Program, tmp_path: Path) -> None:
    program.environ["PATH"] += f":{Path(sys.executable).parent}"
    program.cwd = tmp_path / "somewhere"
    program.cwd.mkdir()
    program.run("demo", "--auto")
    program.run("demo", "--auto")
    # Which of two reviewers is told of first is nobody's promise either.
    program.transcript[:] = ["".join(in_order("".join(program.transcript)))]
    # When a run began depends on how often the clock was looked at, which is nobody's promise.
    runs = dict.fromkeys(re.findall(r"\b[0-9a-f]{16}\b", program.text()))
    program.hidden = {**program.hidden, **{run_id: f"RUN{number}" for number, run_id in enumerate(runs, 1)}}
    program.check("demo")


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which git was never configured."""
    home = tmp_path / "fresh"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    for role in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL", "DATE"):
            monkeypatch.delenv(f"GIT_{role}_{what}")
    return home


@pytest.mark.exhaustive
def test_by_itself_it_finishes_on_a_fresh_machine_beside_another_repository_and_tells_programs(
    repo: Path, empty_home: Path, tmp_path: Path
) -> None:
    before = sorted(path.relative_to(repo) for path in repo.rglob("*"))
    environ = {"GIT_DIR": str(repo / ".git"), "GIT_WORK_TREE": str(repo), "BLACKBIRD_AGENT_CMD": "false"}
    completed = run(tmp_path, "demo", "--auto", "--json", "--dir", "there", **environ)
    there = tmp_path / "there"
    assert (completed.returncode, completed.stderr) == (0, "")
    assert statuses(there) == {Status.DONE}
    assert sorted(path.relative_to(repo) for path in repo.rglob("*")) == before
    assert list(empty_home.iterdir()) == []
    assert git(there, "log", "--format=%an <%ae>") == "git-blackbird demo <demo@example.invalid>"
    assert "sys.argv[1:]" in (there / "greet.py").read_text()
    assert (there / "docs/tone.txt").read_text() == "friendly\n"
    assert "Called without a name" in (there / "docs/usage.md").read_text()
    assert_shows_everything(there)
    lines = [json.loads(line) for line in completed.stdout.splitlines()]
    names = {line.get("event", line.get("command")) for line in lines}
    assert {"run_started", "checkpoint", "questions", "decided", "stop", "status"} <= names


def assert_shows_everything(repo: Path) -> None:
    """Check that the records hold each thing that the demo is there to show."""
    runs = {task_id: runs_of(repo, task_id) for task_id in (*LEAVES, "guide")}
    greet, changed = runs["greet"]
    assert (greet.decision_state, greet.requested_by) == (DecisionState.CHANGES_REQUESTED, None)
    assert (changed.decision_state, changed.resumes) == (DecisionState.APPROVED_CONTINUE, greet.id)
    release, fixed = runs["release"]
    merged = merged_or_none(fixed)
    assert (release.requested_by, fixed.resumes) == (Requester.REVIEWERS, release.id)
    assert merged is not None
    assert merged.action is FollowUp.PROCEED
    asked, answered = runs["guide-faq"]
    assert (asked.status, answered.resumes) == (RunStatus.WAITING_USER, asked.id)
    assert [(answer.id, answer.value) for answer in answered.answers or ()] == [("tone", "friendly")]
    failed, again = runs["check"]
    assert (failed.status, failed.decision_state) == (RunStatus.FAILED, DecisionState.REJECTED)
    assert (again.status, again.resumes) == (RunStatus.SUCCESS, None)
    assert [run.parent_review_passed for run in runs["guide"]] == [False, True]
    usage, described = runs["guide-usage"]
    assert (runs["guide"][0].parent_review_resume_task_ids, described.resumes) == (
        ("guide-usage",),
        usage.id,
    )
    for first, later in ((greet, changed), (release, fixed), (asked, answered), (usage, described)):
        assert first.provider_session_ref == later.provider_session_ref
    assert failed.provider_session_ref != again.provider_session_ref
    assert not [run for task_runs in runs.values() for run in task_runs if run.is_pending]


def test_with_nobody_there_it_stops_and_what_git_is_configured_to_do_stays_out_of_it(
    sealed: Path, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{name}'\nexit 1\n")
        (hooks / name).chmod(0o755)
    with (sealed / ".gitconfig").open("a") as config:
        config.write(
            f"[core]\n\thooksPath = {hooks}\n\texcludesFile = {tmp_path}/ignored\n"
            f"[init]\n\ttemplateDir = {tmp_path}\n[commit]\n\tgpgSign = true\n"
            "[user]\n\tuseConfigOnly = true\n"
        )
    (tmp_path / "ignored").write_text("*\n")
    before = (sealed / ".gitconfig").read_bytes()
    completed = run(tmp_path, "demo", "--no-input")
    assert (completed.returncode, completed.stderr) == (3, "")
    assert "  git blackbird decide greet --approve    # approves it; the task is done" in completed.stdout
    assert "  git blackbird execute    # goes on with whatever is due" in completed.stdout
    assert git(tmp_path / "blackbird-demo", "ls-files").splitlines() == [
        "README.md",
        "blackbird.plan.json",
        "greet.py",
    ]
    assert list(tmp_path.glob("ran-*")) == []
    assert (sealed / ".gitconfig").read_bytes() == before


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("precious")
    completed = run(tmp_path, "demo", "--auto", "--dir", "mine")
    assert (completed.returncode, completed.stdout) == (1, "")
    assert completed.stderr == (
        f"error: {tmp_path / 'mine'} is not empty\nhint: --dir D names another place for the demo\n"
    )
    completed = run(tmp_path, "demo", "--dir", "mine/file")
    assert completed.returncode == 128
    assert completed.stderr.startswith(f"fatal: cannot make {tmp_path / 'mine' / 'file'}: ")
    assert (tmp_path / "mine" / "file").read_text() == "precious"


@pytest.mark.exhaustive
def test_by_hand_it_is_the_real_thing(tmp_path: Path) -> None:
    with Terminal(tmp_path, "demo") as terminal:
        terminal.wait_for_list()
        terminal.type("1", ENTER)
        terminal.wait_for("2) formal")
        terminal.type("2", ENTER)
        for times in (2, 3):
            terminal.wait_for_list(times=times)
            terminal.type("1", ENTER)
        assert terminal.end() == 5
        assert "next step: git blackbird resume guide-usage\n" in terminal.text
        assert "look further:" in terminal.text
    repo = tmp_path / "blackbird-demo"
    with Terminal(repo, "resume", "guide-usage") as terminal:
        terminal.wait_for_list()
        terminal.type("1", ENTER)
        assert terminal.end() == 0
        assert "next step: git blackbird execute\n" in terminal.text
    with Terminal(repo, "execute") as terminal:
        terminal.wait_for("Run status: failed")
        terminal.wait_for_list()
        terminal.type("3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type("Try again.", CTRL_S)
        for times in (2, 3):
            terminal.wait_for_list(times=times)
            terminal.type("1", ENTER)
        code = terminal.end()
    assert (repo / "docs/tone.txt").read_text() == "formal\n"
    assert statuses(repo) == {Status.DONE}
    assert code == 0
    assert [len(runs_of(repo, task_id)) for task_id in LEAVES] == [2, 1, 2, 2, 2]
    assert [one.parent_review_passed for one in runs_of(repo, "guide")] == [False, True]
    usage = runs_of(repo, "guide-usage")
    assert usage[0].provider_session_ref == usage[1].provider_session_ref


@pytest.mark.exhaustive
def test_its_last_lines_work_where_only_its_virtual_environment_has_the_program(tmp_path: Path) -> None:
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    said = run(tmp_path, "demo", "--auto", **plain).stdout
    lines = said[said.index("look further:\n") :].splitlines()[1:]
    assert f"  export PATH={Path(sys.executable).parent}:$PATH    # until it is installed for good" in lines
    typed = subprocess.run(
        ["sh", "-e"],
        cwd=tmp_path,
        env=program_environ(plain),
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (typed.returncode, typed.stderr) == (0, "")
    assert "guide-faq" in typed.stdout
    found = {"PATH": f"{Path(sys.executable).parent}:{plain['PATH']}"}
    assert "export PATH" not in run(tmp_path, "demo", "--auto", "--dir", "another", **found).stdout

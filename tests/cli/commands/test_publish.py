"""``branch --push`` and ``--pr``: the branch goes to a remote, and a request has the task's words."""

import json
from pathlib import Path

import pytest

from tests.controller.support import agree_to_agent, configure, leaf, put_plan
from tests.support import commit, git
from tests.trial.program import Trial

GH = """#!/bin/sh
for arg; do printf '%s\\0' "$arg"; done >"$0.args"
[ -e "$0.fails" ] && { echo 'no permission' >&2; exit 1; }
echo https://example.org/pull/1
"""


@pytest.fixture
def trial(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote.git"))
    configure(repo, agent="command", command__run="cat >/dev/null; echo 1 >new.txt; echo done")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"))
    trial = Trial(repo)
    trial.expect(0, "edit", "a", "--title", "Add `new`", "--ac", "it is there", "--description", "-x")
    trial.expect(3, "execute", "--no-input", "--stop-after-each")
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{trial.environ.get('PATH', '/usr/bin:/bin')}")
    return trial


def put_gh(tmp_path: Path) -> Path:
    program = tmp_path / "programs" / "gh"
    program.write_text(GH)
    program.chmod(0o755)
    return program


def test_a_branch_is_pushed_and_followed(trial: Trial, tmp_path: Path) -> None:
    assert "pushed blackbird/a to origin\n" in trial.expect(0, "branch", "a", "--push")
    assert git(tmp_path / "remote.git", "show", "blackbird/a:new.txt") == "1"
    assert git(trial.repo, "config", "branch.blackbird/a.remote") == "origin"


def test_a_request_has_title_criteria_and_what_is_known(trial: Trial, tmp_path: Path) -> None:
    program = put_gh(tmp_path)
    trial.expect(0, "decide", "a", "--approve")
    envelope = json.loads(trial.expect(0, "branch", "a", "--pr", "--json"))
    assert envelope["data"]["request"] == "https://example.org/pull/1"
    *args, body = program.with_name("gh.args").read_text().rstrip("\0").split("\0")
    assert args == ["pr", "create", "--head", "blackbird/a", "--title=Add `new`"]
    assert body.startswith(
        "--body=-x\n\nWhat must hold:\n\n- it is there\n\nWhat is known of it:\n\n- approved by a person\n"
    )
    assert "\n> done\n" in body


def test_what_the_programs_refuse_is_said(trial: Trial, tmp_path: Path) -> None:
    put_gh(tmp_path).with_name("gh.fails").touch()
    said = trial.expect(1, "branch", "a", "one", "--pr")
    assert "error: gh opened no request for one: no permission\n" in said
    said = trial.expect(1, "branch", "a", "two", "--push", "--remote", "nowhere")
    assert "error: the branch two is there, and git did not push it to nowhere: fatal: 'nowhere'" in said
    assert said.endswith("hint: git blackbird branch a two --push --remote origin\n")
    trial.expect(0, *said.rpartition("git blackbird ")[2].split())
    assert git(trial.repo, "rev-parse", "--verify", "two")
    assert "--remote goes with" in trial.expect(2, "branch", "a", "three", "--remote", "nowhere")


def test_a_remote_is_no_name_for_a_branch(trial: Trial, tmp_path: Path) -> None:
    git(trial.repo, "remote", "rename", "origin", "up")
    # Nor is that of one which is not here yet.
    assert '"origin" names a remote' in trial.expect(1, "branch", "a", "origin", "--push")
    before = git(trial.repo, "rev-parse", "HEAD")
    for options, instead in (
        ("--push", " --push --remote up"),
        ("--pr --onto HEAD", " --onto HEAD --pr --remote up"),
        ("", ""),
    ):
        said = trial.expect(1, "branch", "a", "up", *options.split())
        command = f"git blackbird branch a{instead}"
        assert said == f'error: "up" names a remote, and no branch\nhint: {command}\n'
    assert git(trial.repo, "branch", "--list", "up", "blackbird/*") == ""
    said = trial.expect(1, "branch", "a", "--push")
    assert said.endswith("\nhint: git blackbird branch a blackbird/a --push --remote up\n")
    assert "pushed blackbird/a to up\n" in trial.expect(0, *said.rpartition("git blackbird ")[2].split())
    assert git(tmp_path / "remote.git", "rev-parse", "blackbird/a^") == before


def test_without_a_program_nothing_is_pushed(trial: Trial, tmp_path: Path) -> None:
    said = trial.expect(1, "branch", "a", "--pr")
    assert "neither gh nor glab is here" in said
    assert git(tmp_path / "remote.git", "branch", "--list") == ""


def test_a_branch_that_was_made_before_is_pushed(trial: Trial, tmp_path: Path) -> None:
    trial.expect(0, "branch", "a")
    commit(trial.repo, {"old.txt": "newer\n"})
    assert "pushed blackbird/a to origin\n" in trial.expect(0, "branch", "a", "--push")
    git(trial.repo, "branch", "-f", "blackbird/a", "HEAD")
    said = trial.expect(1, "branch", "a", "--push")
    refused = "error: the branch blackbird/a is there already, with something else\n"
    assert said.startswith(f"{refused}hint: git blackbird branch a blackbird/a-2")


@pytest.mark.exhaustive
def test_a_change_that_head_has_is_named_with_its_commit(trial: Trial) -> None:
    configure(trial.repo, execution__commit="approved")
    trial.expect(0, "decide", "a", "--approve")
    oid = git(trial.repo, "rev-parse", "HEAD")[:12]
    assert f"HEAD has the change of a already, in commit {oid}\n" in trial.expect(1, "branch", "a")


def test_a_request_says_whether_its_commit_is_what_was_decided_on(trial: Trial, tmp_path: Path) -> None:
    program = put_gh(tmp_path)
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(0, "records", "publish")
    trial.expect(0, "branch", "a", "--pr")
    body = program.with_name("gh.args").read_text()
    parent, oid = (git(trial.repo, "rev-parse", name) for name in ("HEAD", "blackbird/a"))
    assert "\n\n**Verified: yes** (1 commit as decided; no signatures were asked for)\n" in body
    assert f"\n| yes | {oid[:12]} | a | approved, published by " in body
    assert f"\ngit blackbird verify {parent}..{oid}\n" in body
    # A file of who may sign that a commit could edit says nothing, and is in no request's way.
    git(trial.repo, "config", "gpg.ssh.allowedSignersFile", ".signers")
    said = trial.expect(0, "branch", "a", "--pr")
    assert "warning: the request does not say what was decided on: who may sign is said by" in said
    assert "Verified" not in program.with_name("gh.args").read_text()

"""Links that a clone brings or an agent makes: nothing outside the worktree is read or written by them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial

SECRET = "PRIVATE-KEY-0451"
NAMES = ("README.md", "OVERVIEW.md", ".blackbird/snapshot.md")


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    (repo.parent / "secret").write_text(f"{SECRET}\n")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command("cat >told; echo x >a.py")
    return trial


def link(trial: Trial, name: str, target: str | Path) -> Path:
    path = trial.repo / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)
    return path


def everything(repo: Path) -> str:
    """All that the program keeps and that agents were told."""
    files = [path for path in repo.rglob("*") if path.is_file() and not path.is_symlink()]
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["relative", "absolute", "by a folder", "by two links"])
def test_no_file_of_the_users_gets_into_the_prompt_or_the_record(trial: Trial, name: str, kind: str) -> None:
    secret = trial.repo.parent / "secret"
    path = trial.repo / name
    path.parent.mkdir(exist_ok=True)
    target: str | Path = os.path.relpath(secret, path.parent) if kind == "relative" else secret
    if kind == "by a folder":
        link(trial, "folder", trial.repo.parent)
        target = trial.repo / "folder" / "secret"
    if kind == "by two links":
        target = link(trial, "between", secret)
    link(trial, name, target)
    trial.expect(0, "execute", "--no-input")
    assert "a.py" in os.listdir(trial.repo)
    assert SECRET not in everything(trial.repo)
    assert SECRET not in trial.expect(0, "show", "a")


def test_nor_does_the_configuration_of_the_repository(trial: Trial) -> None:
    git(trial.repo, "config", "remote.origin.url", f"https://me:{SECRET}@example.com/r")
    link(trial, "README.md", ".git/config")
    trial.expect(0, "execute", "--no-input")
    assert SECRET not in (trial.repo / "told").read_text()
    assert SECRET not in json.dumps(trial.records("a"))


def test_a_link_that_stays_in_the_worktree_is_followed(trial: Trial) -> None:
    (trial.repo / "docs").mkdir()
    (trial.repo / "docs/start.md").write_text("the words of the project\n")
    link(trial, "README.md", "docs/start.md")
    trial.expect(0, "execute", "--no-input")
    assert "the words of the project" in (trial.repo / "told").read_text()


def test_a_worktree_that_is_itself_reached_by_a_link_is_no_stranger(trial: Trial) -> None:
    (trial.repo / "README.md").write_text("the words of the project\n")
    way = trial.repo.parent / "way"
    way.symlink_to(trial.repo)
    trial.expect(0, "execute", "--no-input", cwd=way)
    assert "the words of the project" in (trial.repo / "told").read_text()


def test_a_plan_outside_is_neither_read_nor_written(trial: Trial) -> None:
    plan, theirs = trial.repo / "blackbird.plan.json", trial.repo.parent / "plan.json"
    plan.rename(theirs)
    before = theirs.read_bytes()
    plan.symlink_to("../plan.json")
    for args in (["list"], ["status"], ["add", "--title", "B"], ["execute", "--no-input"], ["validate"]):
        output = trial.expect(128, *args)
        assert f"fatal: {plan} is a link to {theirs}, which is outside the worktree\n" in output
        assert (
            "hint: links out of the worktree are not followed: put the plan itself in the link's place"
            in output
        )
    assert theirs.read_bytes() == before
    assert plan.is_symlink()


def test_a_configuration_outside_is_named_and_stops_what_starts(trial: Trial) -> None:
    theirs = trial.repo.parent / "config.json"
    theirs.write_text('{"execution": {"stopAfterEachTask": false}}')
    path = link(trial, ".blackbird/config.json", "../../config.json")
    output = trial.expect(0, "config")
    assert f"warning: {path}: the file: leads out of the worktree, to {theirs}\n" in output
    assert "leads out of the worktree" in trial.expect(128, "execute", "--no-input")
    output = trial.expect(128, "config", "execution.idleMinutes", "3", "--project")
    assert "leads out of the worktree" in output
    assert theirs.read_text() == '{"execution": {"stopAfterEachTask": false}}'


def test_an_agent_choice_outside_is_none(trial: Trial) -> None:
    (trial.repo.parent / "agent.json").write_text('{"selectedAgent": "codex"}')
    link(trial, ".blackbird/agent.json", "../../agent.json")
    git(trial.repo, "config", "--unset", "blackbird.agent")
    assert trial.expect(0, "config", "agent").splitlines()[0] == "agent  claude  default"


def test_the_users_own_configuration_may_be_a_link(trial: Trial) -> None:
    home = Path(os.environ["HOME"])
    (home / "dotfiles").mkdir()
    (home / "dotfiles/bb.json").write_text('{"execution": {"idleMinutes": 7}}')
    (home / ".blackbird").mkdir()
    (home / ".blackbird/config.json").symlink_to("../dotfiles/bb.json")
    assert "7" in trial.expect(0, "config", "execution.idleMinutes").split("\n")[0]


def test_a_message_that_a_person_names_may_be_anywhere(trial: Trial) -> None:
    (trial.repo / "words").symlink_to(trial.repo.parent / "secret")
    trial.command("cat >told; exit 1")
    trial.expect(1, "execute", "--no-input")
    trial.expect(1, "restart", "a", "-F", "words", "--no-input")
    assert SECRET in (trial.repo / "told").read_text()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_log_that_an_agent_makes_a_link_is_not_read_into_the_record(trial: Trial, stream: str) -> None:
    script = (
        f"cat >/dev/null; cd .git/blackbird/streams && ln -sf ../../../../secret *.{stream}; kill -9 $PPID"
    )
    trial.command(script)
    trial.run("execute", "--no-input")
    trial.run("execute", "--no-input")
    (record,) = trial.records("a")
    assert record["status"] != "running"
    assert SECRET not in json.dumps(record)
    assert SECRET not in trial.run("runs", "a", record["id"], "--logs")[1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name", ["", "runs", "runs/a", "tmp", "streams", "snapshot", "compare", "drafts", "scratch"]
)
def test_no_folder_of_ours_is_written_through_a_link(trial: Trial, name: str) -> None:
    outside, folder = trial.repo.parent / "outside", trial.repo / ".git/blackbird" / name
    outside.mkdir()
    if folder.is_dir():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(outside)
    _, said = trial.run("execute", "--no-input")
    trial.run("decide", "a", "--approve")
    trial.run("add", "--title", "b")
    assert os.listdir(outside) == []
    if name not in {"compare", "drafts"}:
        assert f"{folder} is a symbolic link, not a folder\nhint: move it away" in said
    found = trial.run("doctor")[1]
    way = f"mv -i {folder} {folder}.set-aside"
    assert way in found
    subprocess.run(way.removesuffix("    ").split(), check=True)
    assert "folders:" not in trial.run("doctor")[1]

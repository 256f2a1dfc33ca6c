"""An agent that removes or replaces the program's own folder: the run is recorded, nothing is stuck."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    (repo.parent / "elsewhere").mkdir()
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("script", "obstacle"),
    [
        ("rm -rf .blackbird", None),
        ("rm -rf .blackbird; echo mine >.blackbird", ".blackbird is a file"),
        ("rm -rf .blackbird; ln -s ../elsewhere .blackbird", ".blackbird is a symbolic link"),
        ("rm -rf .blackbird/tmp; ln -s ../../elsewhere .blackbird/tmp", ".blackbird/tmp is a symbolic link"),
        ("rm -rf .blackbird/runs; touch .blackbird/runs", ".blackbird/runs is a file"),
        ("rm -rf .blackbird/runs/a; touch .blackbird/runs/a", ".blackbird/runs/a is a file"),
        ("for each in .blackbird/runs/a/*.json; do echo '{' >$each; done", None),
    ],
)
def test_the_run_is_recorded_and_what_stands_in_the_way_of_its_copy_is_named(
    trial: Trial, script: str, obstacle: str | None
) -> None:
    trial.command(f"{script}; echo done >f.txt")
    output = trial.expect(3, "execute", "--no-input")
    (path,) = (trial.repo / ".git/blackbird/runs/a").glob("*.json")
    record = json.loads(path.read_bytes())
    assert (record["status"], record["decision_state"]) == ("success", "pending")
    assert [change["path"] for change in record["review_summary"]["changes"]] == ["f.txt"]
    copy = f"{trial.repo}/.blackbird/runs/a/{path.name}"
    if obstacle is None:
        assert Path(copy).read_bytes() == path.read_bytes()
    else:
        why = f"{trial.repo}/{obstacle}, not a folder"
        assert f"warning: cannot write {copy}: {why}\nhint: it is a copy: nothing is lost\n" in output
        (trial.repo / obstacle.split()[0]).unlink()
    assert list((trial.repo.parent / "elsewhere").iterdir()) == []
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}


def test_a_task_whose_records_were_deleted_is_named_with_the_way_on(trial: Trial) -> None:
    trial.command("true")
    trial.expect(3, "execute", "--no-input")
    shutil.rmtree(trial.repo / ".git/blackbird/runs")
    shutil.rmtree(trial.repo / ".blackbird")
    output = trial.expect(0, "status")
    assert "  a  A: waiting user, but it has no run\n      git blackbird retry a\n" in output
    (due,) = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    assert (due["kind"], due["task"], due["command"]) == ("stuck", "a", "git blackbird retry a")
    assert (due["run"], due["since"], due["details"], due["unblocks"]) == (None, None, None, 0)
    assert "next step: git blackbird retry a" in trial.expect(0, "execute", "--no-input")
    trial.expect(0, "retry", "a")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}


def test_an_agent_that_removes_its_worktree_is_asked_again(trial: Trial) -> None:
    trial.configure({"execution.worktrees": "true"})
    trial.command('git config some.key value; here=$PWD; cd /; rm -rf "$here"')
    trial.expect(3, "execute", "--no-input")
    trial.expect(3, "restart", "a", "--no-input")
    trial.expect(0, "decide", "a", "--request-changes", "-m", "again")
    said = trial.expect(3, "execute", "--no-input")
    assert "completed a: changes unknown, 0s\na decision is due on a\n" in said

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


@pytest.mark.parametrize(
    ("script", "moved"),
    [
        ("rm -rf .blackbird", None),
        ("rm -rf .blackbird; echo mine >.blackbird", ".blackbird"),
        ("rm -rf .blackbird; ln -s ../elsewhere .blackbird", ".blackbird"),
        ("rm -rf .blackbird/tmp; ln -s ../../elsewhere .blackbird/tmp", ".blackbird/tmp"),
        ("rm -rf .blackbird/runs; touch .blackbird/runs", ".blackbird/runs"),
        ("rm -rf .blackbird/runs/a; touch .blackbird/runs/a", ".blackbird/runs/a"),
        ("for each in .blackbird/runs/a/*.json; do echo '{' >$each; done", None),
    ],
)
def test_the_run_is_recorded_and_what_stood_in_the_way_is_kept(
    trial: Trial, script: str, moved: str | None
) -> None:
    trial.command(f"{script}; echo done >f.txt")
    output = trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("a")
    assert (record["status"], record["decision_state"]) == ("success", "pending")
    assert [change["path"] for change in record["review_summary"]["changes"]] == ["f.txt"]
    if moved is not None:
        aside = trial.repo / f"{moved}.set-aside-{record['id']}"
        assert f"{trial.repo / moved} was replaced during the run: what is there now is kept as" in output
        assert aside.is_symlink() or aside.is_file()
    assert list((trial.repo.parent / "elsewhere").iterdir()) == []
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}


def test_a_task_whose_records_were_deleted_is_named_with_the_way_on(trial: Trial) -> None:
    trial.command("true")
    trial.expect(3, "execute", "--no-input")
    shutil.rmtree(trial.repo / ".blackbird")
    output = trial.expect(0, "status")
    assert "  a  A: waiting user, but it has no run\n      git blackbird retry a\n" in output
    due = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    assert due == [{"kind": "stuck", "task": "a", "command": "git blackbird retry a"}]
    assert "next step: git blackbird retry a" in trial.expect(0, "execute", "--no-input")
    trial.expect(0, "retry", "a")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}

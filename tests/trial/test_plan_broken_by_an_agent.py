"""An agent that breaks the plan file, whether or not the program lives to see it: the plan comes back."""

import os
from pathlib import Path

import pytest

from tests.support import commit, wait_until
from tests.trial.program import Trial

BREAKS = {
    "invalid": ("echo '{' >blackbird.plan.json", "the plan was made invalid during the run"),
    "deleted": ("rm blackbird.plan.json", "the plan file was deleted during the run; it has been restored"),
    "folder": ("rm blackbird.plan.json; mkdir blackbird.plan.json", "the plan file was replaced by a folder"),
    "pipe": (
        "rm blackbird.plan.json; mkfifo blackbird.plan.json",
        "the plan file was replaced by not a file",
    ),
    "link": ("ln -sf ../outside blackbird.plan.json", "the plan file was replaced by a link to "),
}


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    (repo.parent / "outside").write_text("someone else's\n")
    trial = Trial(repo)
    trial.plan({"a": ()})
    return trial


@pytest.mark.parametrize("kind", BREAKS)
def test_the_plan_comes_back_at_the_end_of_the_run(trial: Trial, kind: str) -> None:
    script, said = BREAKS[kind]
    trial.command(script)
    output = trial.expect(0, "execute", "--no-input")
    assert said in output
    assert "every task is done" in output
    assert trial.statuses() == {"a": "done"}
    assert (trial.repo.parent / "outside").read_text() == "someone else's\n"
    kept = list((trial.repo / ".blackbird").glob("plan-set-aside-*.json"))
    assert len(kept) == (kind != "deleted")
    assert all(f"kept as .blackbird/{path.name}" in output for path in kept)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["invalid", "deleted", "folder"])
def test_the_plan_comes_back_when_the_program_was_killed(trial: Trial, kind: str) -> None:
    script, said = BREAKS[kind]
    trial.command(f"{script}; touch broken; sleep 600")
    process = trial.start("execute", "--no-input")
    wait_until((trial.repo / "broken").exists)
    process.kill()
    process.communicate()
    output = trial.expect(128, "status")
    assert "hint: this happened while an agent was working: the plan is restored" in output
    assert trial.run("init")[0] != 0 or kind == "invalid"
    trial.command("true")
    output = trial.expect(0, "execute", "--no-input")
    assert "is still running" in output
    assert said in output
    assert "resuming a" in output
    assert trial.statuses() == {"a": "done"}


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_plan_made_unreadable_comes_back(trial: Trial) -> None:
    trial.command("chmod 000 blackbird.plan.json")
    output = trial.expect(0, "execute", "--no-input")
    assert "the plan file was replaced by a file that cannot be read" in output
    assert trial.statuses() == {"a": "done"}


def test_a_plan_that_is_its_owners_link_stays_one(trial: Trial) -> None:
    plan, home = trial.repo / "blackbird.plan.json", Path("plans", "mine.json")
    (trial.repo / "plans").mkdir()
    plan.rename(trial.repo / home)
    plan.symlink_to(home)
    trial.command("echo '{' >blackbird.plan.json")
    assert "the plan was made invalid during the run" in trial.expect(0, "execute", "--no-input")
    assert plan.readlink() == home
    assert trial.statuses() == {"a": "done"}


def test_a_copy_left_by_a_crash_after_the_end_does_not_bring_an_old_plan_back(trial: Trial) -> None:
    private = trial.repo / ".git" / "blackbird"
    old = (trial.repo / "blackbird.plan.json").read_bytes()
    trial.command("true")
    trial.expect(0, "add", "--id", "b", "--title", "B")
    (private / "plan-known.json").write_bytes(old)
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert not (private / "plan-known.json").exists()

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


APPROVES = (
    "<$kind-review><verdict>APPROVED</verdict><confidence>high</confidence><issues></issues>"
    "<summary>Good.</summary></$kind-review>"
)


def reviewing(trial: Trial, script: str) -> None:
    """Have reviewers that run a script in the worktree, and approve; the task's agent changes a file."""
    trial.command(
        "prompt=$(cat); case $prompt in *'<spec-review>'*) kind=spec;; *'<code-review>'*) kind=code;;"
        f' *) echo x >x; exit;; esac\n(cd {trial.repo}; {script}); echo "{APPROVES}"'
    )


def test_the_plan_comes_back_at_the_end_of_the_reviews_of_a_change(trial: Trial) -> None:
    reviewing(trial, BREAKS["invalid"][0])
    trial.configure({"reviews.mode": "parallel"})
    output = trial.expect(0, "execute", "--no-input")
    assert "the plan was made invalid during the run" in output
    (kept,) = (trial.repo / ".blackbird").glob("plan-set-aside-*.json")
    assert f"kept as .blackbird/{kept.name}" in output
    (record,) = trial.records("a")
    assert "the plan was made invalid during the run" in trial.expect(0, "runs", "a", record["id"])
    assert trial.statuses() == {"a": "done"}


def test_what_reviewers_write_into_the_plan_of_a_change_that_is_done_is_set_aside(trial: Trial) -> None:
    reviewing(trial, "sed -i 's/Write a.py/rm -rf/' blackbird.plan.json")
    trial.expect(0, "execute", "--no-input")
    output = trial.expect(0, "review", "run", "a")
    assert "the plan was edited during the run; that is kept as .blackbird/plan-set-aside-" in output
    assert "Write a.py" in (trial.repo / "blackbird.plan.json").read_text()


@pytest.mark.sampled(1)
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

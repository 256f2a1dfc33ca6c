"""An agent that writes into the plan while it works: a person decides on that, with the run."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Trial

PLAN = "blackbird.plan.json"
# It says of t2 that it is done, as one would with an editor.
JUDGES = """python3 - <<'END'
import json, os
home = os.environ.get("HOME_OF_PLAN", ".")
path = f"{home}/blackbird.plan.json"
plan = json.load(open(path))
plan["items"]["t2"]["status"] = "done"
json.dump(plan, open(path, "w"), indent=2)
END
"""
EDITS = """python3 - <<'END'
import json
plan = json.load(open("blackbird.plan.json"))
items = plan["items"]
items["t2"].update(title="Other", prompt="rm -rf", deps=[])
items["t9"] = {**items["t3"], "id": "t9", "title": "New", "deps": []}
del items["t4"]
json.dump(plan, open("blackbird.plan.json", "w"), indent=2)
END
"""
WORKS = "echo x >$BLACKBIRD_TASK_ID.txt"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.init("--statuses", "all")
    trial.plan({"t1": (), "t2": ("t1",), "t3": ("t2",), "t4": ()})
    return trial


def judging(trial: Trial, script: str = JUDGES) -> None:
    trial.command(f"if [ $BLACKBIRD_TASK_ID = t1 ]; then\n{script}fi\n{WORKS}")


def items(trial: Trial) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((trial.repo / PLAN).read_bytes())["items"]
    return found


def held(trial: Trial) -> list[Path]:
    return [*(trial.repo / ".git" / "blackbird" / "plan-edits").glob("*")]


def test_a_status_that_an_agent_wrote_counts_once_its_run_is_approved(trial: Trial) -> None:
    judging(trial)
    said = trial.expect(3, "execute", "t1", "--no-input")
    assert "the plan was edited during the run: t2 was set from todo to done" in said
    reached = json.loads(trial.expect(3, "execute", "--json").splitlines()[0])
    assert reached["planChanges"] == ["t2 was set from todo to done"]
    assert reached["reasons"] == ["the plan was edited while the agent worked"]
    assert trial.statuses() == {"t1": "waiting_user", "t2": "todo", "t3": "todo", "t4": "todo"}
    assert "t2  BLOCKED" in trial.expect(0, "list", "--all")
    assert "with its edits of the plan" in trial.expect(0, "decide", "t1", "--approve")
    assert trial.statuses() == {"t1": "done", "t2": "done", "t3": "todo", "t4": "todo"}
    assert not (trial.repo / ".git" / "blackbird" / "plan-edits").exists()
    assert "starting t3" in trial.expect(0, "execute", "--no-input")


@pytest.mark.exhaustive
def test_a_status_that_an_agent_wrote_is_left_out_where_its_run_is_rejected(trial: Trial) -> None:
    judging(trial)
    trial.expect(3, "execute", "t1", "--no-input")
    said = trial.expect(0, "decide", "t1", "--reject")
    (aside,) = (trial.repo / ".blackbird").glob("plan-set-aside-*.json")
    assert f"its edits of the plan are left out: they are kept as .blackbird/{aside.name}" in said
    assert trial.statuses() == {"t1": "failed", "t2": "todo", "t3": "todo", "t4": "todo"}
    assert held(trial) == []
    trial.command(WORKS)
    trial.expect(0, "retry", "t1")
    assert "starting t2" in trial.expect(0, "execute", "--no-input")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("decision", ["--approve", "--reject"])
def test_all_that_an_agent_wrote_goes_with_the_decision(trial: Trial, decision: str) -> None:
    before = items(trial)
    judging(trial, EDITS)
    said = trial.expect(3, "execute", "t1", "--no-input")
    for edit in ("t2 was edited: title, prompt, deps", "t4 was removed", "t9 was added"):
        assert f"the plan was edited during the run: {edit}" in said
    assert {task: items(trial)[task] for task in ("t2", "t3", "t4")} == {
        task: before[task] for task in ("t2", "t3", "t4")
    }
    trial.expect(0, "decide", "t1", decision)
    if decision == "--approve":
        assert items(trial).keys() == {"t1", "t2", "t3", "t9"}
        assert (items(trial)["t2"]["title"], items(trial)["t2"]["deps"]) == ("Other", [])
    else:
        assert items(trial).keys() == before.keys()
        assert items(trial)["t2"] == before["t2"]


@pytest.fixture
def at_work(trial: Trial) -> Iterator[subprocess.Popen[str]]:
    """Let the agent of t1 work on after its edit, until it is let go."""
    go = trial.repo / ".git" / "go"
    judging(trial, f"{JUDGES}touch .git/edited; while [ ! -e {go} ]; do sleep 0.05; done\n")
    process = trial.start("execute", "t1", "--no-input")
    wait_until((trial.repo / ".git" / "edited").exists)
    yield process
    process.kill()


def finish(trial: Trial, process: subprocess.Popen[str]) -> str:
    (trial.repo / ".git" / "go").touch()
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 3, said
    return said


def test_what_commands_write_while_an_agent_works_counts_at_once(
    trial: Trial, at_work: subprocess.Popen[str]
) -> None:
    assert items(trial)["t2"]["status"] == "done"
    listed = trial.expect(0, "list", "--all")
    assert "t2  BLOCKED" in listed
    assert "edited in the plan while an agent works: t2 was set from todo to done" in listed
    trial.expect(0, "set-status", "t4", "skipped")
    trial.expect(0, "add", "--id", "t5", "--title", "Five")
    assert (items(trial)["t2"]["status"], items(trial)["t4"]["status"]) == ("done", "skipped")
    assert "t5  READY" in trial.expect(0, "list")
    said = finish(trial, at_work)
    assert said.count("the plan was edited during the run: ") == 1
    wanted = {"t1": "waiting_user", "t2": "todo", "t3": "todo", "t4": "skipped", "t5": "todo"}
    assert trial.statuses() == wanted
    trial.expect(0, "decide", "t1", "--approve")
    assert trial.statuses() == wanted | {"t1": "done", "t2": "done"}


@pytest.mark.exhaustive
def test_what_git_brings_while_an_agent_works_counts_at_once(trial: Trial) -> None:
    trial.expect(0, "hooks", "install")
    git(trial.repo, "add", PLAN)
    git(trial.repo, "commit", "-qm", "plan")
    git(trial.repo, "switch", "-qc", "side")
    trial.expect(0, "edit", "t4", "--title", "Of the side")
    git(trial.repo, "commit", "-qam", "side")
    git(trial.repo, "switch", "-q", "main")
    go = trial.repo / ".git" / "go"
    judging(trial, f"touch .git/edited; while [ ! -e {go} ]; do sleep 0.05; done\n{JUDGES}")
    process = trial.start("execute", "t1", "--no-input")
    wait_until((trial.repo / ".git" / "edited").exists)
    git(trial.repo, "stash")
    git(trial.repo, "merge", "-q", "--no-edit", "side")
    git(trial.repo, "stash", "pop")
    assert "Of the side" in trial.expect(0, "list", "--all")
    said = finish(trial, process)
    assert said.count("the plan was edited during the run: ") == 1
    assert (items(trial)["t4"]["title"], items(trial)["t2"]["status"]) == ("Of the side", "todo")


@pytest.mark.exhaustive
@pytest.mark.parametrize("has_hook", [True, False])
@pytest.mark.parametrize("then", ["", "git rebase -q --force-rebase HEAD~1\n"])
def test_a_commit_of_the_agents_makes_no_difference(trial: Trial, has_hook: bool, then: str) -> None:
    if has_hook:
        trial.expect(0, "hooks", "install")
    git(trial.repo, "add", PLAN)
    git(trial.repo, "commit", "-qm", "plan")
    judging(trial, f"{JUDGES}git commit -qam judged\n{then}")
    said = trial.expect(3, "execute", "t1", "--no-input")
    assert "t2 was set from todo to done" in said
    assert trial.statuses()["t2"] == "todo"
    trial.expect(0, "decide", "t1", "--approve")
    assert trial.statuses()["t2"] == "done"


def test_an_agent_in_a_worktree_of_its_own_does_not_judge_either(trial: Trial) -> None:
    trial.environ["HOME_OF_PLAN"] = str(trial.repo)
    judging(trial)
    said = trial.expect(3, "execute", "--worktrees", "--no-input")
    assert "t2 was set from todo to done" in said
    assert "starting t2" not in said
    assert trial.statuses()["t2"] == "todo"
    trial.expect(0, "decide", "t1", "--approve")
    assert trial.statuses()["t2"] == "done"


def test_a_killed_program_keeps_what_an_agent_wrote_out_of_the_plan(
    trial: Trial, at_work: subprocess.Popen[str]
) -> None:
    at_work.kill()
    at_work.communicate()
    assert "t2  BLOCKED" in trial.expect(0, "list", "--all")
    trial.command(WORKS)
    said = trial.expect(3, "execute", "t1", "--no-input")
    assert "the plan was edited during the run: t2 was set from todo to done" in said
    assert trial.statuses()["t2"] == "todo"
    trial.expect(0, "decide", "t1", "--approve")
    assert trial.statuses()["t2"] == "done"


@pytest.mark.exhaustive
def test_what_is_edited_during_the_review_of_a_parent_is_set_aside(trial: Trial) -> None:
    trial.expect(0, "add", "--id", "p", "--title", "Parent")
    trial.expect(0, "move", "t1", "--parent", "p")
    verdict = json.dumps({"passed": True, "resumeTaskIds": [], "feedbackForResume": "", "reviewResults": []})
    trial.command(f"if [ $BLACKBIRD_TASK_ID = p ]; then\n{JUDGES}echo '{verdict}'; else {WORKS}; fi")
    trial.configure({"command.schema": "true"})
    trial.environ["HOME_OF_PLAN"] = str(trial.repo)
    said = trial.run("execute", "t1", "--no-input")[1]
    assert "the plan was edited during the run; that is kept as .blackbird/plan-set-aside-" in said
    assert trial.statuses()["t2"] == "todo"

"""Git takes the plan back: what was done stays done, and what was reviewed is not paid for again."""

import json
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial

PLAN = "blackbird.plan.json"


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A parent with two children, whose review has passed; its first plan is committed."""
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\n"}, "start")
    trial = Trial(repo)
    trial.init("--statuses", "all")
    trial.configure({"agent": "demo"})
    trial.expect(0, "add", "--id", "p", "--title", "Parent")
    for name in "ab":
        trial.expect(
            0, "add", "--id", name, "--title", name, "--parent", "p", "--prompt", f"write {name}.py 1"
        )
    git(repo, "add", PLAN)
    git(repo, "commit", "-qm", "plan")
    trial.expect(0, "execute", "--no-input")
    assert [one["parent_review_passed"] for one in trial.records("p")] == [True]
    git(repo, "add", "a.py", "b.py")
    git(repo, "commit", "-qm", "work")
    return trial


def require_done(trial: Trial) -> None:
    """Every reader says so, and writes nothing."""
    before = (trial.repo / PLAN).read_bytes()
    assert trial.expect(0, "list") == "no task is open: all are done or skipped; --all lists them\n"
    assert trial.expect(0, "status").startswith("2 tasks and 1 parent: 2 done\n")
    assert trial.expect(0, "execute", "--dry-run") == "nothing would be started\n"
    for name in "pab":
        assert json.loads(trial.expect(0, "show", name, "--json"))["data"]["task"]["status"] == "done"
    assert (trial.repo / PLAN).read_bytes() == before


def require_healed(trial: Trial, plan: bytes) -> None:
    """An execute writes the plan as it was, and starts nobody."""
    records = {name: trial.records(name) for name in "pab"}
    assert trial.expect(0, "execute", "--no-input").endswith("every task is done\n")
    assert (trial.repo / PLAN).read_bytes() == plan
    assert {name: trial.records(name) for name in "pab"} == records


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "taken_back", [("stash",), ("reset", "--hard"), ("checkout", "--", PLAN), ("restore", PLAN)], ids=" ".join
)
def test_what_is_done_stays_done_and_is_reviewed_once(trial: Trial, taken_back: tuple[str, ...]) -> None:
    plan, changed = (trial.repo / PLAN).read_bytes(), git(trial.repo, "status", "--porcelain")
    git(trial.repo, *taken_back)
    assert trial.statuses() == {"a": "todo", "b": "todo", "p": "todo"}
    require_done(trial)
    if taken_back == ("stash",):
        # It could not come back over a plan that was written meanwhile.
        stashed = (trial.repo / PLAN).read_bytes()
        require_healed(trial, stashed)
        git(trial.repo, "stash", "pop")
    require_healed(trial, plan)
    assert git(trial.repo, "status", "--porcelain") == changed


@pytest.mark.exhaustive
def test_what_was_taken_back_and_brought_back_is_reviewed_once_more(trial: Trial) -> None:
    git(trial.repo, "commit", "-qam", "done")
    first = (trial.repo / PLAN).read_bytes()
    trial.expect(0, "undo", "a")
    undone = (trial.repo / PLAN).read_bytes()
    git(trial.repo, "checkout", "--", PLAN)
    assert trial.statuses() == {"a": "done", "b": "done", "p": "done"}
    assert [line.split()[1] for line in trial.expect(0, "list", "--all").splitlines()] == [
        "IN_PROGRESS",
        "FAILED",
        "DONE",
    ]
    trial.expect(0, "redo", "a")
    trial.expect(0, "execute", "--no-input")
    assert [one["parent_review_passed"] for one in trial.records("p")] == [True, True]
    plan = (trial.repo / PLAN).read_bytes()
    for older in (first, undone):
        (trial.repo / PLAN).write_bytes(older)
        require_done(trial)
        require_healed(trial, plan)


@pytest.mark.exhaustive
def test_what_a_person_sets_stands(trial: Trial) -> None:
    trial.expect(0, "set-status", "b", "todo")
    assert trial.statuses() == {"a": "done", "b": "todo", "p": "in_progress"}
    assert trial.expect(0, "list") == "b  READY  b\n"
    plan = (trial.repo / PLAN).read_bytes()
    assert trial.expect(0, "execute", "--dry-run").startswith("1. b  b  [demo]\n2. review of p  Parent\n")
    (trial.repo / PLAN).write_bytes(plan.replace(b'"todo"', b'"blocked"'))
    assert trial.expect(0, "list") == "b  BLOCKED  b\n"

"""``prune`` removes records and logs of old runs that nothing needs, and asks first."""

import json
from pathlib import Path

import pytest

from tests.cli.commands.history import bring_history
from tests.records import fact
from tests.support import Prepared, git
from tests.trial.program import Trial

OLD = "2025-06-01T00:00:00Z"
STALE = "refs/blackbird/runs/0195000000000000"


@pytest.fixture
def trial(repo: Path, prepared: Prepared) -> Trial:
    """The history with all its runs long ago, and a reference of a run without a record."""
    trial = bring_history(repo, prepared)
    git(repo, "update-ref", STALE, "HEAD^{tree}")
    for path in repo.glob(".git/blackbird/runs/*/*.json"):
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"completedAt": OLD}))
    return trial


def names(trial: Trial) -> list[str]:
    """What is kept of runs: records, copies, logs and references, by the place of the run in its task."""
    places = {run["id"]: f"{task}{at}" for task in "ab" for at, run in enumerate(trial.records(task), 1)}
    files = (*trial.repo.glob(".git/blackbird/**/*.*"), *trial.repo.glob(".blackbird/runs/**/*.*"))
    refs = git(trial.repo, "for-each-ref", "--format=%(refname)", "refs/blackbird").splitlines()
    found = [*(str(path.relative_to(trial.repo)) for path in files), *refs]
    for run, place in places.items():
        found = [name.replace(run, place) for name in found]
    return sorted(name for name in found if any(place in name for place in places.values()) or STALE in name)


def facts(trial: Trial) -> list[str]:
    """What commands say that rest on the records of tasks."""
    said = [trial.run(*args)[1] for args in (("status",), ("undo", "a", "--dry-run"), ("show", "b"))]
    return [*said, trial.expect(0, "branch", "a", "of-a", "--json")]


def test_what_nothing_needs_goes_after_a_question_and_all_else_stays(trial: Trial) -> None:
    before, said = names(trial), facts(trial)
    first = trial.records("a")[0]["id"]
    listed = (
        "1 run of 1 task, with records and references\n"
        "5 logs of old runs, 11 bytes\n"
        "1 reference of runs that no worktree has a record of\n"
    )
    assert trial.expect(0, "prune", "--dry-run") == listed
    refused = trial.expect(2, "prune")
    hint = "hint: git blackbird prune --keep 90 --yes\n"
    assert refused == f"{listed}error: nobody can be asked whether to remove this\n{hint}"
    assert names(trial) == before
    data = json.loads(trial.expect(0, "prune", "--yes", "--json"))["data"]
    assert (data["removed"], data["runs"]) == (True, [first])
    assert (len(data["logs"]), data["references"]) == (5, [STALE])
    assert not any(first in str(path) for path in trial.repo.rglob("*"))
    assert [name for name in names(trial) if "b1" in name] == [name for name in before if "b1" in name]
    assert names(trial)[-2:] == ["refs/blackbird/runs/a1", "refs/blackbird/runs/b1"]
    assert facts(trial) == said
    assert trial.expect(0, "prune", "--yes") == "nothing to remove of runs that ended more than 90 days ago\n"
    trial.expect(0, "undo", "a")
    trial.expect(0, "redo", "a")
    assert (trial.repo / "a.txt").read_text() == "a\n"


@pytest.mark.exhaustive
def test_what_is_young_stays(trial: Trial) -> None:
    before = names(trial)
    assert trial.expect(0, "prune", "--keep", "36500", "--yes").startswith("1 reference of runs")
    assert names(trial) == [name for name in before if name != STALE]


def test_a_record_that_cannot_be_read_keeps_its_task_and_its_reference(trial: Trial) -> None:
    broken, whole = trial.repo.glob(".git/blackbird/runs/a/*.json")
    assert fact(json.loads(whole.read_bytes()), "head_tree")
    broken.rename(f"{broken}.unreadable")
    whole.write_text("{")
    assert trial.expect(0, "prune", "--dry-run").startswith("1 reference of runs")


def test_no_link_below_the_worktree_is_followed(trial: Trial, tmp_path: Path) -> None:
    logs = trial.repo / ".blackbird/runs/a/logs"
    logs.rename(tmp_path / "elsewhere")
    logs.symlink_to(tmp_path / "elsewhere")
    kept = sorted(path.name for path in (tmp_path / "elsewhere").iterdir())
    trial.expect(0, "prune", "--yes")
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == kept

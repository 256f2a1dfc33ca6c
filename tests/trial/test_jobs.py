"""Several tasks at once through the program as its user starts it, by the real clock."""

from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.plan({"one": (), "two": ()})
    return trial


def test_what_was_made_before_a_conflict_lands_as_well(trial: Trial) -> None:
    names = " ".join(f"{trial.repo.parent}/{name}.here" for name in ("one", "two"))
    meet = f"touch {trial.repo.parent}/$BLACKBIRD_TASK_ID.here; for it in {names}; do {{}}; done; "
    until = 'until [ -e "$it" ]; do sleep 0.01; done'
    begin = meet.format(until) + "echo $BLACKBIRD_TASK_ID | tee own.$BLACKBIRD_TASK_ID >shared.txt"
    trial.command(f'if [ "$BLACKBIRD_RESUME" ]; then echo both >shared.txt; else {begin}; fi')
    output = trial.expect(0, "execute", "--no-input", "--no-stop", "--jobs", "2")
    assert output.count("goes back to its agent: it conflicts with your worktree in shared.txt") == 1
    assert git(trial.repo, "status", "--short").split() == [
        "??",
        "own.one",
        "??",
        "own.two",
        "??",
        "shared.txt",
    ]
    assert (trial.repo / "shared.txt").read_text() == "both\n"

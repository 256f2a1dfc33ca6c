"""Tasks that change the same lines side by side: who resolves a conflict lands before others."""

from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial

# Its own line in the place of the one that all change; what a merge left in conflict it takes whole. The
# lines are about one thing, so that two that are only added conflict too.
EDIT = "sed -i 's/^start$/by('$BLACKBIRD_TASK_ID')/' x"
RESOLVE = "if grep -q '^<<<<<<<' x; then sed -i '/^[<=>]\\{7\\}/d' x; else %s; fi"
TASKS = ("a", "b", "c", "d")


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"x": "1\nstart\n3\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.plan(dict.fromkeys(TASKS, ()))
    trial.configure({"landing.maxRounds": "1"})
    return trial


def requests(trial: Trial) -> list[int]:
    """How often each task was sent back."""
    return [sum(fact(run, "requested_by") == "landing" for run in trial.records(task)) for task in TASKS]


@pytest.mark.exhaustive
def test_nobody_who_resolves_is_overtaken(trial: Trial) -> None:
    trial.command(RESOLVE % EDIT)
    trial.expect(0, "execute", "--jobs", "4", "--no-input")
    assert sorted(requests(trial)) == [0, 1, 1, 1]
    assert sorted((trial.repo / "x").read_text().split()) == ["1", "3", *(f"by({task})" for task in TASKS)]
    assert git(trial.repo, "status", "--porcelain") == " M x"


@pytest.mark.exhaustive
def test_who_waits_for_a_person_is_overtaken_and_pays_no_round(trial: Trial) -> None:
    trial.command(RESOLVE % EDIT)
    trial.configure({"execution.worktrees": "true", "execution.stopAfterEachTask": "true"})
    for task in ("a", "b", "c"):
        trial.expect(3, "execute", task, "--no-input")
    trial.approve("a")
    trial.expect(0, "execute", "a", "--no-input")
    trial.approve("b")
    trial.expect(3, "execute", "b", "--no-input")
    trial.approve("c")
    assert (
        "  c  C: to land\n      b lands before: it resolves a conflict in the same files\n"
    ) in trial.expect(0, "status")
    trial.expect(3, "execute", "c", "--no-input")
    trial.approve("c")
    trial.expect(0, "execute", "c", "--no-input")
    for mine in ("", "by(me)\n"):
        text = (trial.repo / "x").read_text()
        (trial.repo / "x").write_text(text.replace("by(c)\n", f"by(c)\n{mine}"))
        trial.approve("b")
        trial.expect(3, "execute", "b", "--no-input")
    trial.approve("b")
    trial.expect(0, "execute", "b", "--no-input")
    assert requests(trial)[:3] == [0, 3, 1]

"""Branches with one plan, merged by git through the program's merge driver."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\n"})
    trial = Trial(repo)
    trial.expect(0, "init", "--hooks", "--statuses", "lasting")
    for name in ("a", "b", "c"):
        trial.expect(0, "add", "--title", name)
    git(repo, "add", "blackbird.plan.json")
    commit(repo, {})
    return trial


def branch_off(trial: Trial, *edit: str) -> None:
    """Edit the plan on a branch, and be back on main."""
    git(trial.repo, "checkout", "-q", "-b", "side")
    trial.expect(0, *edit)
    commit_plan(trial)
    git(trial.repo, "checkout", "-q", "main")


def commit_plan(trial: Trial) -> None:
    git(trial.repo, "commit", "-q", "-m", "plan", "blackbird.plan.json")


def merge(trial: Trial, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        ["git", *words],
        cwd=trial.repo,
        capture_output=True,
        text=True,
        check=False,
        env=trial.all_variables(),
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [("merge", "-q", "--no-edit", "side"), ("cherry-pick", "side")])
def test_what_both_sides_did_is_kept(trial: Trial, words: tuple[str, ...]) -> None:
    branch_off(trial, "edit", "b", "--title", "B of the side")
    trial.expect(0, "set-status", "a", "done")
    trial.expect(0, "add", "--title", "d", "--dep", "b")
    commit_plan(trial)
    assert merge(trial, *words)[0] == 0
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "todo", "d": "todo"}
    assert "B of the side" in trial.expect(0, "show", "b")
    assert trial.expect(0, "validate") == "OK\n"


@pytest.mark.exhaustive
def test_a_conflict_without_the_driver_is_merged_as_the_plan_says(trial: Trial) -> None:
    trial.expect(0, "hooks", "uninstall")
    branch_off(trial, "add", "--title", "d")
    trial.expect(0, "add", "--title", "e")
    commit_plan(trial)
    assert merge(trial, "merge", "-q", "--no-edit", "side")[0] == 1
    said = trial.expect(128, "status")
    assert (
        "after `git blackbird hooks install`, `git checkout --merge :/blackbird.plan.json` merges it" in said
    )
    trial.expect(0, "hooks", "install")
    git(trial.repo, "checkout", "--merge", ":/blackbird.plan.json")
    assert set(trial.statuses()) == {"a", "b", "c", "d", "e"}


@pytest.mark.exhaustive
def test_a_true_conflict_is_left_readable(trial: Trial) -> None:
    branch_off(trial, "edit", "b", "--title", "theirs")
    trial.expect(0, "edit", "b", "--title", "mine")
    trial.expect(0, "set-status", "c", "skipped")
    commit_plan(trial)
    code, said = merge(trial, "merge", "-q", "--no-edit", "side")
    assert (code, "git-blackbird: conflict in b: title" in said) == (1, True)
    text = (trial.repo / "blackbird.plan.json").read_text()
    start = text.index("<<<<<<<")
    assert [line.strip() for line in text[start:].splitlines()[:5]] == [
        "<<<<<<< ours",
        '"title": "mine",',
        "=======",
        '"title": "theirs",',
        ">>>>>>> theirs",
    ]
    resolved = text.replace("<<<<<<< ours\n", "").replace(
        '=======\n      "title": "theirs",\n>>>>>>> theirs\n', ""
    )
    assert json.loads(resolved)["items"]["c"]["status"] == "skipped"


@pytest.mark.exhaustive
def test_a_plan_that_is_broken_is_merged_as_text_and_the_driver_goes_with_the_program(trial: Trial) -> None:
    git(trial.repo, "checkout", "-q", "-b", "side")
    (trial.repo / "blackbird.plan.json").write_text("{")
    commit_plan(trial)
    git(trial.repo, "checkout", "-q", "main")
    trial.expect(0, "edit", "b", "--title", "mine")
    commit_plan(trial)
    code, said = merge(trial, "merge", "-q", "--no-edit", "side")
    assert (code, "merged as text, since theirs is no valid plan: " in said) == (1, True)
    git(trial.repo, "merge", "--abort")
    assert "merge driver for the plan" in trial.expect(0, "deinit", "--yes")
    assert not (trial.repo / ".git/info/attributes").exists()
    assert "blackbird" not in (trial.repo / ".git/config").read_text()


REFUSED = {
    "a dependency on none": ('"deps": []', '"deps": ["none"]', 'deps[0]: unknown dep id "none"'),
    "a key twice": ('"title": "c",', '"title": "c",\n      "title": "c",', 'key "title" appears twice'),
    "nothing": ("", "", "Expecting value"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_that_validate_refuses_is_named_and_leaves_a_conflict(
    trial: Trial, side: str, case: str
) -> None:
    old, new, fault = REFUSED[case]
    plan = trial.repo / "blackbird.plan.json"
    head, mark, last = plan.read_text().rpartition('    "c": {')
    broken = head + mark + last.replace(old, new) if old else ""
    trial.expect(0, "edit", "a", "--title", "A")
    texts = {"ours": plan.read_text(), "theirs": plan.read_text(), side: broken}
    git(trial.repo, "branch", "side")
    for branch, text in (("side", texts["theirs"]), ("main", texts["ours"])):
        git(trial.repo, "checkout", "-q", "-f", branch)
        plan.write_text(text)
        commit_plan(trial)
    code, said = merge(trial, "merge", "-q", "--no-edit", "side")
    assert code == 1
    assert f"git-blackbird: merged as text, since {side} is no valid plan: $" in said
    assert fault in said
    assert git(trial.repo, "diff", "--name-only", "--diff-filter=U") == "blackbird.plan.json"

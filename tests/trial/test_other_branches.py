"""An agent that goes to another branch in the worktree of its task: the change is what it did there."""

from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

COMMIT = "git add -A; git commit -q -m"


@pytest.fixture
def trial(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """A user with a commit from long ago, an edit, and a file that git does not have."""
    commit(repo, {"x": "1\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.delenv(name)
    write(repo, {"x": "1\nmine\n", "untracked": "mine\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.configure({"execution.worktrees": "true"})
    return trial


def files(trial: Trial) -> dict[str, str]:
    """What the user has, but for what is ignored."""
    names = git(trial.repo, "ls-files", "-co", "--exclude-standard").splitlines()
    return {name: (trial.repo / name).read_text() for name in names if (trial.repo / name).exists()}


def recorded(trial: Trial) -> list[str]:
    return list(trial.records("a")[-1]["review_summary"]["files"])


MINE = {".gitignore": ".blackbird\nblackbird.plan.json\n", "x": "1\nmine\n", "untracked": "mine\n"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "there",
    [
        f"git checkout -q -b feature main; echo new >new; {COMMIT} new",
        f"git checkout -q -b feature main; echo new >new; {COMMIT} a; echo >>x; {COMMIT} b; git revert HEAD",
        "git checkout -q main --detach; echo new >new",
        "git reset -q --hard HEAD~1; echo new >new",
        f"git checkout -q -b feature main; echo new >new; {COMMIT} new; git gc -q --prune=now",
        "echo new >new; git add new; git commit -q --amend -m better",
        f"git checkout -q -b feature; echo new >new; {COMMIT} new",
        f"git checkout -q -b side main; echo new >new; {COMMIT} new; git merge -q --no-edit ORIG_HEAD || :",
    ],
)
def test_nothing_that_is_mine_goes(trial: Trial, there: str) -> None:
    trial.command(there)
    trial.expect(0, "execute", "a", "--no-input")
    assert recorded(trial) == ["new"]
    assert files(trial) == {**MINE, "new": "new\n"}
    trial.expect(0, "undo", "a")
    assert files(trial) == MINE


def test_the_branch_is_named_where_one_decides(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(f"git checkout -q -b feature main; echo new >new; {COMMIT} new")
    trial.expect(3, "execute", "a", "--no-input")
    said = trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    since = git(trial.repo, "rev-parse", "main")[:10]
    assert (
        "\nthe agent left what the task began with\n"
        f"  it went to branch feature; the change is what is new there since commit {since}\n"
    ) in said


def test_a_later_run_goes_on_from_there(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(
        f"git checkout -q feature 2>/dev/null || git checkout -q -b feature main; echo >>new; {COMMIT} x"
    )
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(3, "restart", "a", "--no-input", "-m", "again")
    trial.approve("a")
    trial.expect(0, "execute", "a", "--no-input")
    assert files(trial) == {**MINE, "new": "\n\n"}


def test_work_of_others_that_a_remote_has_is_no_part_of_the_change(trial: Trial) -> None:
    other = trial.repo.parent / "other"
    git(trial.repo, "clone", "-q", ".", str(other))
    git(trial.repo, "remote", "add", "origin", str(other))
    theirs = commit(other, {"theirs": "theirs\n"}, "theirs")
    git(trial.repo, "fetch", "-q", "origin")
    trial.command(f"git checkout -q -b feature origin/main; echo new >new; {COMMIT} new")
    trial.expect(0, "execute", "a", "--no-input")
    assert trial.records("a")[0]["review_summary"]["switched"] == {
        "branch": "feature",
        "since": theirs,
        "unmerged": [],
    }
    assert files(trial) == {**MINE, "new": "new\n"}


def test_what_does_not_merge_is_decided_on_also_with_stops_off(trial: Trial) -> None:
    trial.command(f"git checkout -q -b feature main; echo theirs >>x; {COMMIT} x")
    trial.expect(3, "execute", "a", "--no-input")
    said = trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    assert "that does not merge with what the task began with in x" in said
    assert files(trial) == MINE


def test_a_history_of_its_own_is_decided_on(trial: Trial) -> None:
    trial.command(f"git checkout -q --orphan new; git rm -q -rf .; echo new >new; {COMMIT} new")
    trial.expect(3, "execute", "a", "--no-input")
    said = trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    assert "where nothing is older than its run; the change is all that differs" in said
    assert files(trial) == MINE


def test_edits_that_it_takes_back_are_named(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("git checkout -q main -- x; rm untracked; echo new >new")
    trial.expect(3, "execute", "a", "--no-input")
    said = trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    assert (
        "\ntakes back edits of yours, or of tasks that have landed, that are in no commit\n  untracked\n  x\n"
    ) in said


def test_commits_that_it_left_behind_are_kept(trial: Trial) -> None:
    made = trial.repo.parent / "made"
    trial.command(
        f"for n in 1 2; do echo $n >new; {COMMIT} $n; git rev-parse HEAD >>{made}; "
        "git reset -q --hard HEAD~1; done; echo new >new"
    )
    trial.expect(0, "execute", "a", "--no-input")
    git(trial.repo, "gc", "-q", "--prune=now")
    for oid in made.read_text().split():
        assert git(trial.repo, "cat-file", "-t", oid) == "commit"

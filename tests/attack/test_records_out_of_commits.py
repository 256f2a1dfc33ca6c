"""Rules that a clone brings: whatever they say, ``git add -A`` stages nothing of what is kept here."""

from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

OURS = (".blackbird/runs/", ".blackbird/parent-review-feedback/", ".blackbird/tmp/")
NEGATED = "!*\n!runs/\n!runs/**\n!tmp/\n!tmp/**\n!parent-review-feedback/\n"
BROUGHT = {
    "empty": {".blackbird/.gitignore": ""},
    "negated": {".blackbird/.gitignore": NEGATED, ".gitignore": "!.blackbird/**\n!*.json\n"},
    "negated everywhere": {
        ".gitignore": "!*\n",
        ".blackbird/.gitignore": NEGATED,
        ".blackbird/runs/.gitignore": "!*\n",
        ".blackbird/runs/a/.gitignore": "!*\n",
        ".blackbird/tmp/.gitignore": "",
    },
}


def tried(repo: Path) -> None:
    """Let an agent work, and a parent review leave nothing unseen."""
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command("echo x >a.py")
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done"}
    write(repo, {".blackbird/tmp/left.tmp": "x"})


def staged(repo: Path) -> list[str]:
    git(repo, "add", "-A")
    return git(repo, "diff", "--cached", "--name-only", "--no-renames").splitlines()


def assert_nothing_of_ours(repo: Path, brought: set[str]) -> None:
    status = git(repo, "status", "--porcelain", "-uall").splitlines()
    seen = {line[3:] for line in status} | set(staged(repo))
    assert {path for path in seen if path.startswith(OURS)} <= brought
    assert "a.py" in seen


@pytest.mark.parametrize("kind", BROUGHT)
def test_rules_brought_by_a_clone_stage_no_record(repo: Path, kind: str) -> None:
    commit(repo, BROUGHT[kind])
    tried(repo)
    assert_nothing_of_ours(repo, set(BROUGHT[kind]))


@pytest.mark.parametrize("kind", ["a folder", "a link"])
def test_what_is_no_file_in_place_of_the_rules(repo: Path, kind: str) -> None:
    ignore = repo / ".blackbird" / ".gitignore"
    if kind == "a folder":
        write(repo, {".blackbird/.gitignore/x": "x"})
    else:
        ignore.parent.mkdir()
        ignore.symlink_to("../rules")
        write(repo, {"rules": "!*\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "brought")
    tried(repo)
    assert_nothing_of_ours(repo, set())
    assert not (repo / "rules").exists() or (repo / "rules").read_text() == "!*\n"


def test_a_users_own_rule_for_the_whole_folder_is_not_touched(repo: Path) -> None:
    commit(repo, {".gitignore": ".blackbird\n"})
    tried(repo)
    assert git(repo, "status", "--porcelain", "-uall").splitlines() == ["?? a.py", "?? blackbird.plan.json"]


def test_a_linked_worktree_of_such_a_clone(repo: Path) -> None:
    commit(repo, BROUGHT["negated"])
    git(repo, "worktree", "add", "-q", "../linked")
    tried(repo.parent / "linked")
    assert_nothing_of_ours(repo.parent / "linked", set())
    assert git(repo, "status", "--porcelain") == ""


def test_nothing_is_left_of_it_after_deinit(repo: Path) -> None:
    commit(repo, {"f": "x"})
    exclude = (repo / ".git/info/exclude").read_text() if (repo / ".git/info/exclude").exists() else None
    tried(repo)
    Trial(repo).expect(0, "deinit", "--yes")
    (repo / "blackbird.plan.json").unlink()
    assert git(repo, "status", "--porcelain", "--ignored") == "?? a.py"
    assert exclude is None or (repo / ".git/info/exclude").read_text() == exclude

"""What lies outside the places of runs, as it is read from the files of a repository."""

import os
import subprocess
from pathlib import Path

from git_blackbird.git.worktree.linked import add_task_worktree
from git_blackbird.git.worktree.surroundings import take_surroundings
from git_blackbird.model.run.summary import Subject, differences
from tests.support import commit, git, repository_at


def test_upkeep_and_our_own_work_change_nothing(repo: Path) -> None:
    at = commit(repo, {"a": "1\n"})
    git(repo, "branch", "deep/er")
    git(repo, "tag", "v1")
    there = repository_at(repo, dict(os.environ))
    before = take_surroundings(there)
    assert before[Subject.BRANCH] == {"main": at, "deep/er": at}
    git(repo, "pack-refs", "--all")
    git(repo, "gc", "-q")
    git(repo, "update-server-info")
    git(repo, "update-ref", "refs/blackbird/runs/x", at)
    git(repo, "update-ref", "refs/prefetch/remotes/origin/main", at)
    git(repo, "config", "blackbird.agent", "demo")
    add_task_worktree(there, "a", repo.parent / "a")
    assert not list(differences(before, take_surroundings(there)))


def test_nothing_that_lies_there_is_waited_for_or_followed(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    there = repository_at(repo, dict(os.environ))
    before = take_surroundings(there)
    heads = repo / ".git/refs/heads"
    os.mkfifo(heads / "pipe")
    (heads / "link").symlink_to("/")
    (heads / "empty").touch()
    # Python's own way would recurse.
    subprocess.run(["mkdir", "-p", heads / "/".join("d" * 1500)], check=True)
    (heads / "main.lock").write_text("0" * 40)
    os.mkfifo(repo / ".git/hooks/pre-push")
    (repo / ".git/info/attributes").symlink_to("/etc/passwd")
    after = take_surroundings(there)
    subprocess.run(["rm", "-r", heads / "d"], check=True)
    found = [(change.subject, change.name, change.after) for change in differences(before, after)]
    assert sorted(found) == [
        (Subject.GIT_FILE, "hooks/pre-push", "not a file"),
        (Subject.GIT_FILE, "info/attributes", "-> /etc/passwd"),
    ]


def test_values_that_nobody_is_told_of_are_not_kept(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    git(repo, "config", "http.extraHeader", "Authorization: secret")
    git(repo, "config", "core.bare", "false")
    settings = take_surroundings(repository_at(repo, dict(os.environ)))[Subject.SETTING]
    assert settings["core.bare"] == "false"
    assert "secret" not in settings["http.extraheader"]

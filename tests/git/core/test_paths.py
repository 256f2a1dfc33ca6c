import os
from pathlib import Path

from git_blackbird.git.core.repository import discover, list_all_tracked, list_paths
from tests.support import commit, git, write


def test_every_name_is_there_once_and_those_git_knows_apart(repo: Path) -> None:
    commit(repo, {"a b/c 'd'.py": "", "é": "", "both": "", "gone": ""})
    write(repo, {"new/file": "", ".gitignore": "*.log\n", "x.log": "", "both": "changed"})
    (repo / os.fsdecode(b"not-\xff-utf8")).write_text("")
    (repo / "gone").unlink()
    known = ["a b/c 'd'.py", "both", "gone", "é"]
    assert sorted(list_all_tracked(discover(repo, dict(os.environ)))) == known
    new = [".gitignore", "new/file", "not-\udcff-utf8"]
    assert sorted(list_paths(discover(repo, dict(os.environ)))) == sorted([*known, *new])


def test_a_conflicted_path_is_there_once(repo: Path) -> None:
    commit(repo, {"a": "one\n"})
    git(repo, "checkout", "-q", "-b", "other")
    commit(repo, {"a": "two\n"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"a": "three\n"})
    conflict = "git merge -q other >/dev/null 2>&1 || true"
    os.system(f"cd '{repo}' && {conflict}")
    assert list_paths(discover(repo, dict(os.environ))) == ["a"]

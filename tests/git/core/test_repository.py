import os
import shlex
import shutil
from pathlib import Path

import pytest

from git_blackbird.errors import ExitCode, UnusableError
from git_blackbird.git.core.repository import Head, discover, head, open_libgit2
from git_blackbird.git.core.trees import TreeStore
from tests.support import commit, git

WAY_BACK = "git config --unset core.worktree"


def refusal(path: Path) -> tuple[str, str | None]:
    with pytest.raises(UnusableError) as caught:
        discover(path, os.environ)
    assert caught.value.exit_code is ExitCode.UNUSABLE
    return caught.value.message, caught.value.hint


def test_a_subdirectory_is_in_the_repository(repo: Path) -> None:
    commit(repo, {"deep/er/file": "x"})
    there = discover(repo / "deep" / "er", os.environ)
    assert (there.top, there.git_dir, there.common_dir) == (repo, repo / ".git", repo / ".git")
    assert there.private_dir == repo / ".git" / "blackbird"


def test_a_linked_worktree_has_a_git_dir_of_its_own(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"file": "x"})
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    there = discover(tmp_path / "linked", os.environ)
    assert there.top == tmp_path / "linked"
    assert there.git_dir == repo / ".git" / "worktrees" / "linked"
    assert there.common_dir == repo / ".git"
    assert head(there).branch == "side"
    assert open_libgit2(there).read(open_libgit2(there).head.peel().tree.id)


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    commit(inner, {"file": "x"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    there = discover(repo / "sub", os.environ)
    assert (there.top, there.git_dir) == (repo / "sub", repo / ".git" / "modules" / "sub")
    assert there.git("ls-files").out == b"file\n"


def test_names_that_are_no_text_are_found(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a b\xff'\""))
    odd.mkdir()
    git(odd, "init", "-q")
    assert discover(odd, os.environ).top == odd
    assert open_libgit2(discover(odd, os.environ)).is_empty


def test_a_line_break_in_the_path_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / "a\nb"
    odd.mkdir()
    git(odd, "init", "-q")
    assert refusal(odd)[0] == (
        "the path of this repository holds a line break; move the repository elsewhere"
    )


def test_git_dir_and_work_tree_of_the_user_hold(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"file": "x"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {**os.environ, "GIT_DIR": "../repo/.git", "GIT_WORK_TREE": str(repo)}
    there = discover(elsewhere, environ)
    assert (there.top, there.git_dir) == (repo, repo / ".git")
    assert "GIT_DIR" not in there.environ
    assert there.git("ls-files").out == b"file\n"


def test_configuration_of_this_call_holds_for_us_and_is_not_for_agents(repo: Path) -> None:
    environ = {
        **os.environ,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "blackbird.agent",
        "GIT_CONFIG_VALUE_0": "demo",
    }
    there = discover(repo, environ)
    assert there.git("config", "blackbird.agent").out == b"demo\n"
    assert "GIT_CONFIG_COUNT" not in there.environ


def test_no_repository(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        "not a git repository (or any of the parent directories): .git",
        "run `git init` here first, or go to a repository",
    )


def test_a_bare_repository_has_no_worktree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert refusal(tmp_path / "bare") == (
        "this is a bare repository: there is no worktree for agents to work in",
        "run this in a clone of it, or in a worktree made with `git worktree add`",
    )


def test_settings_that_hide_the_worktree_are_named_with_what_sets_them_back(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    git(repo, "config", "core.bare", "true")
    said = ("git takes this repository for a bare one: core.bare is true", "git config core.bare false")
    assert refusal(repo) == said
    git(repo, *said[1].split()[1:])
    git(repo, "config", "core.worktree", str(repo.parent / "x"))
    said = (f"git takes {repo.parent}/x for the worktree of {repo}/.git: core.worktree says so", WAY_BACK)
    assert refusal(repo) == said
    (repo.parent / "x").mkdir()
    assert refusal(repo) == said
    git(repo, *WAY_BACK.split()[1:])
    git(repo, "config", "core.worktree", str(repo.parent / "deep/er"))
    _, way = refusal(repo)
    assert way is not None
    git(repo, *shlex.split(way)[1:])
    git(repo, "config", "core.worktree", "..")
    assert discover(repo, os.environ).top == repo


def test_inside_the_git_directory(repo: Path) -> None:
    assert refusal(repo / ".git" / "refs") == (
        "this is inside a git directory, not in a worktree",
        "go to the top of the worktree",
    )


def test_another_users_repository_is_refused_in_gits_words(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert refusal(repo) == (
        f"detected dubious ownership in repository at '{repo}'",
        f"git config --global --add safe.directory {repo}",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_another_users_repository_that_git_trusts_is_used(repo: Path) -> None:
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    assert refusal(repo)[0].startswith("detected dubious ownership")
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert open_libgit2(discover(repo, {**os.environ, **trust})).path == f"{repo}/.git/"


def test_a_repository_from_the_future_is_refused_in_gits_words(repo: Path) -> None:
    git(repo, "config", "core.repositoryFormatVersion", "99")
    message, hint = refusal(repo)
    assert message.startswith("Expected git repo version <= 1, found 99")
    assert hint is None


def test_a_repository_libgit2_cannot_open_is_a_clear_128(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    with pytest.raises(UnusableError) as caught:
        open_libgit2(discover(tmp_path / "new", os.environ))
    assert caught.value.message == (
        f"cannot open {tmp_path / 'new' / '.git'}: unknown object format 'sha256'"
    )
    assert caught.value.hint == (
        "repositories with SHA-256 objects, reftables or partial clones cannot be used"
    )
    assert caught.value.exit_code is ExitCode.UNUSABLE


@pytest.mark.parametrize("linked", [False, True])
def test_objects_can_be_read_where_the_worktree_that_a_setting_names_is_not_there(
    repo: Path, tmp_path: Path, linked: bool
) -> None:
    oid = commit(repo, {"file": "x"})
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    found = discover(tmp_path / "linked" if linked else repo, os.environ)
    git(repo, "config", "core.worktree", str(tmp_path / "missing"))
    assert head(found).commit == oid


def test_head_before_the_first_commit(repo: Path) -> None:
    assert head(discover(repo, os.environ)) == Head(branch="main", commit=None)


def test_head_on_a_branch_and_detached(repo: Path) -> None:
    oid = commit(repo, {"file": "x"})
    git(repo, "checkout", "-q", "-b", "topic/ü")
    assert head(discover(repo, os.environ)) == Head(branch="topic/ü", commit=oid)
    git(repo, "checkout", "-q", "--detach")
    assert head(discover(repo, os.environ)) == Head(branch=None, commit=oid)


@pytest.mark.parametrize("is_packed", [False, True])
def test_what_another_program_removes_or_packs_is_noticed(repo: Path, is_packed: bool) -> None:
    commit(repo, {"f": "1"})
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    assert tree in TreeStore(discover(repo, os.environ))
    if is_packed:
        git(repo, "gc", "-q")
        assert not (repo / ".git" / "objects" / tree[:2]).exists()
    assert TreeStore(discover(repo, os.environ)).load(tree).keys() == {b"f"}
    shutil.rmtree(repo / ".git" / "objects" / ("pack" if is_packed else tree[:2]))
    assert tree not in TreeStore(discover(repo, os.environ))


def test_a_branch_that_another_program_moves_is_noticed(repo: Path) -> None:
    commit(repo, {"f": "1"})
    assert head(discover(repo, os.environ)).commit == git(repo, "rev-parse", "HEAD")
    git(repo, "pack-refs", "--all")
    assert head(discover(repo, os.environ)).commit == git(repo, "rev-parse", "HEAD")
    commit(repo, {"f": "2"})
    git(repo, "pack-refs", "--all")
    git(repo, "checkout", "-q", "-b", "other")
    assert head(discover(repo, os.environ)) == Head("other", git(repo, "rev-parse", "HEAD"))

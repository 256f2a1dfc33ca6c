"""The hook's way into Python, as the shell starts it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from git_blackbird.git.hooks import task_commits
from git_blackbird.model.run.commits import RUN_TRAILER, TASK_TRAILER
from tests import preloaded
from tests.controller.support import configure, leaf, put_plan, runs_of
from tests.git.support import script
from tests.support import commit, git, write


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"old.txt": "old\n"}, "first")
    put_plan(repo, leaf("a"), leaf("b"))
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    return repo


def call(repo: Path, git_dir: str = ".git", *, state: str = "", oid: str = "") -> str:
    """Run it as the hook does, and give what it says."""
    name = f"{task_commits.PREFIX}{oid or git(repo, 'rev-parse', 'HEAD')}{state}"
    done = preloaded.run(
        [*preloaded.HOOK_PROGRAM, git_dir, name],
        cwd=repo,
        env={**os.environ, "GIT_INDEX_FILE": f"{git_dir}/index", "GIT_PREFIX": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr


def do(repo: Path, task: str = "a", title: str = "Do it") -> str:
    return commit(repo, {f"{task}.txt": f"{title}\n"}, f"{title}\n\nBlackbird-Task: {task}")


def commits_of(repo: Path, task: str = "a") -> list[tuple[str, ...]]:
    return [run.commits for run in runs_of(repo, task)]


def test_the_trailers_are_those_of_the_program() -> None:
    assert (task_commits.TASK, task_commits.RUN) == (TASK_TRAILER, RUN_TRAILER)


def test_a_commit_that_does_a_task_is_recorded(planned: Path) -> None:
    oid = do(planned)
    said = call(planned)
    (run,) = runs_of(planned, "a")
    assert run.commits == (oid,)
    assert said == (
        f"git-blackbird: commit {oid[:10]} is recorded as run {run.id} of a; "
        "to decide: `git blackbird decide a --approve` or --reject\n"
    )


@pytest.mark.exhaustive
def test_an_amended_one_is_recorded_in_its_place(planned: Path) -> None:
    do(planned)
    call(planned)
    git(planned, "commit", "-q", "--amend", "-m", "Better\n\nBlackbird-Task: a")
    assert "a was amended to " in call(planned)
    assert commits_of(planned) == [(git(planned, "rev-parse", "HEAD"),)]


@pytest.mark.exhaustive
def test_one_that_names_its_task_no_more_is_said_once(planned: Path) -> None:
    do(planned)
    call(planned)
    git(planned, "commit", "-q", "--amend", "-m", "Nothing of that")
    assert "which does not name a any more; to take it back: " in call(planned)
    git(planned, "commit", "-q", "--amend", "-m", "Nothing at all")
    assert call(planned) == ""


@pytest.mark.exhaustive
def test_the_first_commit_of_all_counts(repo: Path) -> None:
    put_plan(repo, leaf("a"))
    oid = do(repo)
    assert "the task is done" in call(repo)
    assert commits_of(repo) == [(oid,)]


@pytest.mark.parametrize(
    "message",
    [
        "Do it",
        "Do it\n\nBlackbird-Task: a\n\nand a word more",
        "Do it\n\nBlackbird-Task:\n",
        "Do it\n\nBlackbird-Task: a\nBlackbird-Run: 0123456789abcdef",
    ],
)
def test_a_commit_that_names_no_task_is_nothing(planned: Path, message: str) -> None:
    commit(planned, {"x": "x"}, message)
    assert call(planned) == ""
    assert commits_of(planned) == []


def test_a_pick_is_none_and_nothing_is_said(planned: Path) -> None:
    git(planned, "checkout", "-q", "-b", "side")
    do(planned)
    git(planned, "checkout", "-q", "main")
    commit(planned, {"else.txt": "another parent\n"})
    git(planned, "cherry-pick", "side")
    assert call(planned) == ""
    assert commits_of(planned) == []


def test_a_pick_that_a_person_concludes_is_none_either(planned: Path) -> None:
    git(planned, "checkout", "-q", "-b", "side")
    commit(planned, {"old.txt": "theirs\n"}, "Theirs\n\nBlackbird-Task: a")
    git(planned, "checkout", "-q", "main")
    commit(planned, {"old.txt": "ours\n"})
    subprocess.run(["git", "cherry-pick", "side"], cwd=planned, capture_output=True, check=False)
    write(planned, {"old.txt": "both\n"})
    git(planned, "commit", "-q", "-a", "--no-edit")
    assert "Blackbird-Task: a" in git(planned, "log", "-1", "--format=%B")
    assert call(planned) == ""
    assert commits_of(planned) == []


def test_a_revert_that_names_a_task_is_none(planned: Path) -> None:
    environ = {**os.environ, "GIT_EDITOR": "printf 'Take it back\\n\\nBlackbird-Task: a\\n' >"}
    subprocess.run(
        ["git", "revert", "-e", do(planned)], cwd=planned, env=environ, capture_output=True, check=True
    )
    assert "Blackbird-Task: a" in git(planned, "log", "-1", "--format=%B")
    assert call(planned) == ""
    assert commits_of(planned) == []


def test_a_merge_and_a_revert_are_none(planned: Path) -> None:
    git(planned, "checkout", "-q", "-b", "side")
    do(planned)
    git(planned, "checkout", "-q", "main")
    git(planned, "merge", "-q", "--no-ff", "-m", "Merge\n\nBlackbird-Task: a", "side")
    assert call(planned) == "git-blackbird: no manual run of a: the commit is a merge\n"
    git(planned, "commit", "-q", "--amend", "-m", "Merge it\n\nBlackbird-Task: a")
    assert call(planned) == "git-blackbird: no manual run of a: the commit is a merge\n"
    assert commits_of(planned) == []
    git(planned, "revert", "--no-edit", "-m", "1", "HEAD")
    assert call(planned) == ""


def test_a_merge_that_a_person_concludes_is_none(planned: Path) -> None:
    git(planned, "checkout", "-q", "-b", "side")
    commit(planned, {"old.txt": "theirs\n"})
    git(planned, "checkout", "-q", "main")
    commit(planned, {"old.txt": "ours\n"})
    subprocess.run(["git", "merge", "-q", "side"], cwd=planned, capture_output=True, check=False)
    write(planned, {"old.txt": "both\n"})
    git(planned, "commit", "-q", "-a", "-m", "Both\n\nBlackbird-Task: a")
    assert call(planned) == "git-blackbird: no manual run of a: the commit is a merge\n"


def test_in_the_middle_of_a_bisection_nothing_is_recorded(planned: Path) -> None:
    do(planned)
    said = call(planned, state=task_commits.BISECT)
    assert said == "git-blackbird: no manual run of a: a bisection is under way\n"
    assert commits_of(planned) == []


def test_patches_that_were_applied_are_none(planned: Path) -> None:
    git(planned, "checkout", "-q", "-b", "side")
    do(planned)
    git(planned, "format-patch", "-q", "-1", "-o", "..")
    git(planned, "checkout", "-q", "main")
    commit(planned, {"else.txt": "another parent\n"})
    git(planned, "am", "-q", "../0001-Do-it.patch")
    assert call(planned) == ""
    assert commits_of(planned) == []


@pytest.mark.exhaustive
def test_in_a_linked_worktree_its_own_plan_counts(planned: Path) -> None:
    linked = planned.parent / "linked"
    git(planned, "worktree", "add", "-q", str(linked))
    put_plan(linked, leaf("c"))
    oid = do(linked, "c")
    said = call(linked, git(linked, "rev-parse", "--absolute-git-dir"))
    assert " of c; " in said
    assert commits_of(linked, "c") == [(oid,)]
    assert commits_of(planned, "c") == []


@pytest.mark.exhaustive
def test_without_a_log_of_head_a_commit_is_taken_for_a_persons(planned: Path) -> None:
    git(planned, "config", "core.logAllRefUpdates", "false")
    (planned / ".git" / "logs" / "HEAD").unlink()
    oid = do(planned)
    call(planned)
    assert commits_of(planned) == [(oid,)]


@pytest.mark.exhaustive
def test_what_stands_in_the_way_is_said_on_one_line(planned: Path) -> None:
    do(planned)
    write(planned, {"blackbird.plan.json": "{"})
    said = call(planned)
    assert said.startswith("git-blackbird: commit ")
    assert " is not recorded yet: " in said
    assert said.count("\n") == 1
    configure(planned, execution__stopAfterEachTsk="true")
    said = call(planned)
    assert " is not recorded yet: the configuration is not usable: " in said
    assert said.count("\n") == 1


def test_a_fault_is_said_and_fails_nothing(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oid = do(planned)
    monkeypatch.setenv("PATH", "/nowhere")
    said = call(planned, oid=oid)
    assert said.startswith("git-blackbird: the commit is not recorded yet: FileNotFoundError: ")


def test_nothing_in_a_name_reaches_the_terminal_raw(planned: Path) -> None:
    commit(planned, {"x": "x"}, "Do it\n\nBlackbird-Task: \x1b[31ma\x07")
    said = call(planned)
    assert said.endswith("\n")
    assert said[:-1].isprintable()


def test_a_commit_of_which_git_says_half_is_left_for_later(
    planned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oid = do(planned)
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "git", f'{shutil.which("git")} "$@" | head -c 83')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    said = call(planned, oid=oid)
    assert said.startswith("git-blackbird: the commit is not recorded yet: ")
    assert "git log printed output that cannot be read" in said

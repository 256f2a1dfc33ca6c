"""A person's commit that also has what tasks did before: only the rest of it is work on the task it names."""

from pathlib import Path

import pytest

from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.controller.change.work.manual_commits import record_commit
from git_blackbird.model.plan.status import Status
from tests.controller.support import configure, execute, leaf, open_at, put_plan, runs_of, status
from tests.support import commit, git, write

LINES = "".join(f"line {number}\n" for number in range(1, 21))
AGENT = """sed -i "s/^line 4$/$BLACKBIRD_TASK_ID/" both.txt
echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt; sed -i "2a by $BLACKBIRD_TASK_ID" old.txt"""
OTHERS = "abcdef"


@pytest.fixture
def worked(repo: Path) -> Path:
    """A repository in which six tasks are done, and nothing is committed."""
    ignored = ".blackbird\nblackbird.plan.json\n"
    commit(repo, {"old.txt": LINES, "both.txt": LINES, ".gitignore": ignored}, "first")
    configure(repo, agent="command", command__run=AGENT)
    put_plan(repo, *map(leaf, (*OTHERS, "t", "u")))
    execute(repo, None, *OTHERS)
    return repo


def edit(repo: Path, line: int, text: str, name: str = "old.txt") -> None:
    file = repo / name
    file.write_text(file.read_text().replace(f"line {line}\n", f"{text}\n"))


def record(repo: Path, *tasks: str, amends: bool = False) -> list[str]:
    """Commit what is staged, and let it be recorded as the hook does."""
    was = git(repo, "rev-parse", "HEAD") if amends else None
    text = "Do it\n\n" + "".join(f"Blackbird-Task: {task}\n" for task in tasks)
    git(repo, "commit", "-q", "-m", text, *(["--amend"] if amends else []))
    return list(record_commit(open_at(repo), git(repo, "rev-parse", "HEAD"), was))


def files_of(repo: Path, task: str) -> tuple[str, ...]:
    summary = runs_of(repo, task)[-1].review_summary
    assert summary is not None
    return summary.files


def test_the_change_is_what_no_record_of_others_explains(worked: Path) -> None:
    edit(worked, 9, "mine")
    write(worked, {"mine.txt": "mine\n"})
    git(worked, "add", "-A")
    (said,) = record(worked, "t")
    assert said.endswith(", without what a, b, c, d, e, f made; the task is done")
    assert files_of(worked, "t") == ("mine.txt", "old.txt")
    before, log = (worked / "old.txt").read_text(), git(worked, "log", "--format=%s")
    result = undo_task(open_at(worked), "t")
    assert (result.kept, result.commit) == ((), None)
    assert (worked / "old.txt").read_text() == before.replace("mine\n", "line 9\n")
    # What a person committed is taken back as files.
    assert git(worked, "log", "--format=%s") == log
    assert git(worked, "status", "--porcelain").splitlines() == [" D mine.txt", " M old.txt"]
    assert {status(worked, task) for task in OTHERS} == {Status.DONE}
    redo_task(open_at(worked), "t")
    assert ((worked / "old.txt").read_text(), git(worked, "status", "--porcelain")) == (before, "")


@pytest.mark.exhaustive
def test_a_part_of_the_files_and_lines_of_others_is_not_counted_either(worked: Path) -> None:
    there = (worked / "old.txt").read_text()
    edit(worked, 9, "mine")
    part = (worked / "old.txt").read_text().replace("by b\n", "").replace("by e\n", "")
    # As `git add -p` leaves it.
    blob = git(worked, "hash-object", "-w", "--stdin", stdin=part.encode())
    git(worked, "update-index", "--cacheinfo", f"100644,{blob},old.txt")
    git(worked, "add", "c.txt")
    record(worked, "t")
    assert files_of(worked, "t") == ("old.txt",)
    git(worked, "add", "-A")
    record(worked, "u")
    assert files_of(worked, "u") == ()
    undo_task(open_at(worked), "b")
    undo_task(open_at(worked), "t")
    assert (worked / "old.txt").read_text() == there.replace("by b\n", "")


@pytest.mark.exhaustive
def test_lines_of_others_that_meet_the_tasks_are_named(worked: Path) -> None:
    edit(worked, 9, "mine")
    file = worked / "both.txt"
    file.write_text(file.read_text().replace("a\n", "a, and mine\n"))
    git(worked, "add", "-A")
    (said,) = record(worked, "t")
    assert said.endswith(
        ", without what a, b, c, d, e, f made, but with what others made of both.txt, in the same lines;"
        " the task is done"
    )
    assert files_of(worked, "t") == ("both.txt", "old.txt")


@pytest.mark.exhaustive
def test_an_undo_of_what_meets_the_lines_of_others_leaves_theirs(worked: Path) -> None:
    configure(worked, command__run='sed -i "s/^line 15$/u/" both.txt')
    execute(worked, None, "u")
    before = (worked / "both.txt").read_text()
    write(worked, {"both.txt": before.replace("a\n", "a, and mine\n")})
    git(worked, "add", "-A")
    record(worked, "t")
    undo_task(open_at(worked), "t")
    assert (worked / "both.txt").read_text() == before


@pytest.mark.exhaustive
def test_whoever_made_nothing_else_than_such_lines_is_not_said_to_be_left_out(worked: Path) -> None:
    edit(worked, 9, "mine")
    file = worked / "both.txt"
    file.write_text(file.read_text().replace("a\n", "a, and mine\n"))
    configure(worked, command__run='sed -i "s/^line 15$/u/" both.txt')
    execute(worked, None, "u")
    git(worked, "add", "-A")
    (said,) = record(worked, "t")
    assert "without what a, b, c, d, e, f made, but with what others made of both.txt" in said


@pytest.mark.exhaustive
def test_an_amended_commit_is_without_them_too(worked: Path) -> None:
    edit(worked, 9, "mine")
    git(worked, "add", "old.txt")
    record(worked, "t")
    write(worked, {"mine.txt": "mine\n"})
    git(worked, "add", "-A")
    record(worked, "t", amends=True)
    assert files_of(worked, "t") == ("mine.txt", "old.txt")


def test_what_is_in_the_parent_already_is_nobodys_to_leave_out(worked: Path) -> None:
    git(worked, "add", "-A")
    git(worked, "commit", "-q", "-m", "theirs")
    edit(worked, 9, "mine")
    (worked / "a.txt").unlink()
    git(worked, "add", "-A")
    (said,) = record(worked, "t")
    assert "without what" not in said
    assert files_of(worked, "t") == ("a.txt", "old.txt")


@pytest.mark.exhaustive
def test_a_commit_of_several_tasks_stays_until_all_are_taken_back(worked: Path) -> None:
    before = (worked / "old.txt").read_text()
    edit(worked, 9, "mine")
    git(worked, "add", "-A")
    record(worked, "t", "u")
    assert files_of(worked, "t") == files_of(worked, "u") == ("old.txt",)
    (kept,) = undo_task(open_at(worked), "t").kept
    assert (kept.path, kept.reason) == ("old.txt", "the change of u made the same of it")
    assert "mine\n" in (worked / "old.txt").read_text()
    undo_task(open_at(worked), "u")
    assert (worked / "old.txt").read_text() == before

"""Some of the changed lines of a file are approved; the others stay, and nothing is lost or taken along."""

import subprocess
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.checkpoint import pending_checkpoint
from git_blackbird.controller.change.decide.record import DecisionResult, record_decision
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.errors import RequestError
from git_blackbird.model.run.summary import ChangedLines, ChangePart
from tests.controller.killing import kills
from tests.controller.support import APPROVE, configure, execute, leaf, open_at, put_plan, runs_of
from tests.support import commit, git, write

LINES = [f"{number}\r\n" for number in range(10)]
FIRST, LAST = ChangedLines(1, 1, 1, 1), ChangedLines(9, 1, 9, 2)
COMMAND = (
    r"sed -i 's/^1\r/one\r/; s/^9\r/nine/' f; printf more >>f; chmod +x f; echo new >new; rm gone; exit 0"
)
WHOLE = "".join(["0\r\n", "one\r\n", *LINES[2:9], "nine\nmore"])


def with_only(*lines: ChangedLines) -> str:
    first = "one\r\n" if FIRST in lines else LINES[1]
    return "".join(["0\r\n", first, *LINES[2:9], "nine\nmore" if LAST in lines else LINES[9]])


@pytest.fixture
def pending(repo: Path, request: pytest.FixtureRequest) -> Path:
    """A decision on a change of two places of a file, and of other files; the parameter is the settings."""
    ignored = ".blackbird\nblackbird.plan.json\n"
    commit(repo, {"f": "".join(LINES), "gone": "gone\n", ".gitignore": ignored})
    settings = {"agent": "command", "command__run": COMMAND, "execution__stopAfterEachTask": "true"}
    configure(repo, **settings, **getattr(request, "param", {}))
    put_plan(repo, leaf("a"))
    execute(repo)
    return repo


def approve(repo: Path, *parts: ChangePart) -> DecisionResult:
    shown = pending_checkpoint(open_at(repo), "a").pair
    return record_decision(open_at(repo), "a", APPROVE._replace(only=parts, shown=shown))


COMMITTING = pytest.mark.parametrize("pending", [{"execution__commit": "approved"}], indirect=True)
APART = pytest.mark.parametrize(
    "pending", [{"execution__commit": "approved", "execution__worktrees": "true"}], indirect=True
)


def read(repo: Path, name: str = "f") -> str:
    return (repo / name).read_bytes().decode()


def show(repo: Path, what: str = "HEAD") -> str:
    command = ["git", "cat-file", "blob", f"{what}:f"]
    return subprocess.run(command, cwd=repo, capture_output=True, check=True).stdout.decode()


@COMMITTING
def test_lines_that_are_left_out_stay_in_the_worktree_and_are_no_part_of_the_commit(pending: Path) -> None:
    result = approve(pending, ChangePart("f", (FIRST,)), ChangePart("gone"))
    assert result.change.in_part == ("f",)
    assert result.change.left_out == ("new",)
    assert not result.moved
    assert result.remarks == (
        "left out, it stays in your worktree: new",
        "left out, it stays in your worktree: some of the lines of f",
    )
    assert show(pending) == with_only(FIRST)
    assert git(pending, "show", "--format=", "--raw", "--no-abbrev", "HEAD").split()[:2] == [
        ":100644",
        "100755",
    ]
    assert read(pending) == WHOLE
    assert git(pending, "status", "--short") == " M f\n?? new"
    # What is left is a person's: they commit it, or approve it as well.
    git(pending, "diff", "--exit-code", "--cached")
    record_decision(open_at(pending), "a", APPROVE)
    assert show(pending) == WHOLE
    assert git(pending, "status", "--short") == ""


@COMMITTING
def test_an_undo_takes_back_what_was_committed_and_a_redo_brings_that_back(pending: Path) -> None:
    approve(pending, ChangePart("f", (LAST,)), ChangePart("new"))
    assert undo_task(open_at(pending), "a").commit is not None
    assert (read(pending), show(pending)) == ("".join(LINES), "".join(LINES))
    assert git(pending, "status", "--short") == ""
    assert redo_task(open_at(pending), "a").commit is not None
    assert (read(pending), show(pending)) == (WHOLE, with_only(LAST))
    assert git(pending, "status", "--short") == " M f\n D gone"


@pytest.mark.exhaustive
@COMMITTING
def test_an_undo_takes_back_the_rest_too_where_a_person_committed_it(pending: Path) -> None:
    approve(pending, ChangePart("f", (FIRST,)))
    git(pending, "commit", "-qam", "the rest")
    assert undo_task(open_at(pending), "a").commit is not None
    assert (read(pending), show(pending)) == ("".join(LINES), "".join(LINES))


@COMMITTING
def test_an_edit_on_top_is_in_the_way_of_some_lines_as_of_the_whole(pending: Path) -> None:
    write(pending, {"f": WHOLE + "mine\n"})
    with pytest.raises(RequestError, match="f: it was edited after the run"):
        approve(pending, ChangePart("f", (FIRST,)))
    assert runs_of(pending, "a")[-1].is_pending
    assert read(pending) == WHOLE + "mine\n"


@COMMITTING
def test_lines_of_another_change_are_refused(pending: Path) -> None:
    with pytest.raises(RequestError, match='the change of "f" is another by now'):
        approve(pending, ChangePart("f", (FIRST, LAST._replace(new_count=1))))
    assert runs_of(pending, "a")[-1].is_pending


@APART
def test_only_the_approved_lines_land_beside_edits_of_a_person(pending: Path) -> None:
    write(pending, {"f": "".join([*LINES[:5], "mine\r\n", *LINES[6:]])})
    git(pending, "commit", "-qam", "mine")
    approve(pending, ChangePart("f", (FIRST,)), ChangePart("new"))
    execute(pending)
    assert read(pending) == show(pending) == with_only(FIRST).replace("5\r\n", "mine\r\n")
    assert git(pending, "status", "--short") == ""
    assert (pending / "gone").exists()
    run = runs_of(pending, "a")[-1]
    assert show(pending, run.head_tree or "") == WHOLE
    undo_task(open_at(pending), "a")
    assert read(pending) == show(pending) == "".join([*LINES[:5], "mine\r\n", *LINES[6:]])


@pytest.mark.exhaustive
@pytest.mark.parametrize("parts", [(ChangePart("f", (FIRST,)), ChangePart("new")), ()])
@COMMITTING
def test_a_killed_approval_of_some_lines_is_made_again(pending: Path, parts: tuple[ChangePart, ...]) -> None:
    for _ in kills(pending, lambda: approve(pending, ChangePart("f", (FIRST,)), ChangePart("new"))):
        assert show(pending) in {"".join(LINES), with_only(FIRST)}
        assert read(pending) == WHOLE
        if runs_of(pending, "a")[-1].is_pending:
            approve(pending, *parts)
            is_whole = not parts
        else:
            is_whole = False
        assert show(pending) == (WHOLE if is_whole else with_only(FIRST))
        assert git(pending, "status", "--short").splitlines() == ([] if is_whole else [" M f", " D gone"])
        assert not runs_of(pending, "a")[-1].is_pending


@pytest.mark.exhaustive
@APART
def test_a_killed_landing_of_some_lines_goes_on(pending: Path) -> None:
    approve(pending, ChangePart("f", (FIRST,)), ChangePart("new"))
    for _ in kills(pending, lambda: execute(pending)):
        execute(pending)
        assert read(pending) == show(pending) == with_only(FIRST)
        assert git(pending, "status", "--short") == ""

"""Hunks are chosen by the letters of ``git add -p``; what is split applies as the hunk it was."""

from pathlib import Path

import pytest

from git_blackbird.git.change.changes import diff_text
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.messages.patch.selection import HELP, Selection
from git_blackbird.model.run.summary import ChangedLines, ChangePart, Trees
from tests.git.support import change_after, found, tree_of
from tests.support import commit, git, write

NUMBERS = "".join(f"{number}\n" for number in range(40))
FOUR = ChangedLines(4, 1, 4, 1)
ONE, THIRTY = FOUR._replace(old=1, new=1), FOUR._replace(old=30, new=30)


def number(*changed: int) -> str:
    return "".join(f"{'line ' * (at in changed)}{at}\n" for at in range(40))


@pytest.fixture
def pair(repo: Path) -> Trees:
    commit(repo, {"f": NUMBERS, "gone": "x", "old": NUMBERS, "zero": "\0"})
    base = tree_of(repo)
    (repo / "gone").unlink()
    (repo / "old").rename(repo / "renamed")
    write(repo, {"f": number(1, 4, 30), "renamed": number(0, 39), "new": "new\n", "zero": "\0\0"})
    (repo / "zero").chmod(0o755)
    return change_after(repo, base)


@pytest.fixture
def selection(repo: Path, pair: Trees) -> Selection:
    return Selection(Patch(diff_text(found(repo), pair).decode()))


def typed(selection: Selection, *keys: str) -> tuple[ChangePart, ...]:
    for key in keys:
        assert not selection.is_complete
        selection.take(key)
    assert selection.is_complete
    return selection.parts()


WHOLE = (
    *(ChangePart(path) for path in ("f", "gone", "new")),
    ChangePart("renamed", None, "old"),
    ChangePart("zero"),
)


def test_all_none_and_single_hunks_are_chosen(selection: Selection) -> None:
    assert selection.prompt == "(1/7) Approve this hunk [y,n,q,a,d,j,k,s,/,?]? "
    kept = typed(selection, "n", "y", "y", "n", "n", "y", "y")
    last = ChangedLines(39, 1, 39, 1)
    assert kept == (
        ChangePart("f", (THIRTY,)),
        ChangePart("gone"),
        ChangePart("renamed", (last,), "old"),
        ChangePart("zero"),
    )


def test_letters_for_the_rest_of_a_file_and_of_the_change(repo: Path, pair: Trees) -> None:
    patch = Patch(diff_text(found(repo), pair).decode())
    assert typed(Selection(patch), "a", "y", "y", "a", "y") == WHOLE
    assert typed(Selection(patch), "q") == ()
    assert typed(Selection(patch), "y", "q") == (ChangePart("f", (ONE, FOUR)),)
    assert typed(Selection(patch), "d", "y", "d", "d", "y") == (ChangePart("gone"), ChangePart("zero"))


def test_one_goes_on_back_and_to_a_text_and_comes_to_what_was_left_undecided(selection: Selection) -> None:
    assert selection.take("k") == ("That was the first hunk.",)
    selection.take("j")
    assert "+line 30" in list(selection.lines())
    selection.take("/+new")
    assert selection.prompt == "(4/7) Approve the added file [y,n,q,a,d,j,k,/,?]? "
    assert selection.take("/nowhere") == ("No hunk has that text.",)
    assert selection.take("yes") == selection.take("") == selection.take("s") == HELP
    for key in ("y", "y", "y", "y"):
        selection.take(key)
    assert selection.at == 0
    assert typed(selection, "y", "n", "y") == (ChangePart("f", (ONE, FOUR)), *WHOLE[1:])


def test_a_hunk_is_split_and_its_parts_apply(repo: Path, selection: Selection) -> None:
    assert selection.take("s") == ("Split into 2 hunks.",)
    text = "\n".join([*selection.lines(), ""])
    git(repo, "apply", "--cached", "-", stdin=text.encode())
    assert git(repo, "show", ":f") + "\n" == number(1)
    selection.take("n")
    text = "\n".join(["--- a/f", "+++ b/f", *selection.lines(), ""])
    git(repo, "reset", "-q")
    git(repo, "apply", "--cached", "-", stdin=text.encode())
    assert git(repo, "show", ":f") + "\n" == number(4)
    assert typed(selection, "y", "q") == (ChangePart("f", (FOUR,)),)


def test_a_change_without_lines_is_asked_about_by_file(selection: Selection) -> None:
    for _ in range(6):
        selection.take("j")
    assert selection.prompt == "(7/7) Approve this file [y,n,q,a,d,j,k,/,?]? "
    assert "Binary files a/zero and b/zero differ" in list(selection.lines())

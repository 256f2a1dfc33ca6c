"""Parts of changes: what is approved and what is left are the change together, byte by byte."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import changed_paths, diff_text
from git_blackbird.git.change.parts import limited_to, only_hunks, paths_outside, without_change
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, LINK, REGULAR, TreeEntry, TreeStore
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.run.proof import Hunk
from git_blackbird.model.run.summary import ChangedLines, ChangePart, Extent, Trees
from tests.git.support import found
from tests.support import commit, examples, git

NAME = "a b"
LINES = [
    b"a",
    b"b",
    b"",
    b"\t",
    b"a\r",
    b"\r\r",
    b"\xff\xfe",
    "ü\u2028x".encode(),
    b"\x0c",
    b"@@ -1 +1 @@",
    b"\\ x",
]
TEXTS = st.builds(
    lambda lines, ends: b"\n".join([*lines, b""] if ends and lines else lines),
    st.lists(st.sampled_from(LINES), max_size=24),
    st.booleans(),
)
MODES = st.sampled_from([REGULAR, EXECUTABLE])


@pytest.fixture
def shared(repo: Path) -> Repository:
    return found(repo)


def tree(repo: Repository, files: dict[str, tuple[int, bytes]]) -> str:
    trees = TreeStore(repo)
    return trees.edited(
        trees.save({}),
        {
            os.fsencode(name): TreeEntry(mode, str(trees.objects.create_blob(content)))
            for name, (mode, content) in files.items()
        },
    )


def file_in(repo: Repository, tree: str, name: str = NAME) -> tuple[int, bytes] | None:
    trees = TreeStore(repo)
    entry = trees.entry(tree, os.fsencode(name))
    return None if entry is None else (entry.mode, trees.objects.read(pygit2.Oid(hex=entry.oid))[1])


def changes(repo: Repository, pair: Trees, context: int = 3) -> list[ChangedLines]:
    patch = Patch(diff_text(repo, pair, Extent(context)).decode(errors="replace"))
    return [one.lines for file in patch.files for hunk in file.hunks for one in patch.edits(hunk)]


def applied(repo: Repository, content: bytes, new: bytes, lines: Iterable[ChangedLines]) -> bytes:
    """Have git apply changes of a file."""
    old_lines, new_lines = content.split(b"\n"), new.split(b"\n")

    def marked(mark: bytes, lines: Sequence[bytes], start: int, count: int) -> list[bytes]:
        shown = [mark + line for line in lines[start : start + count]]
        is_cut = count and start + count == len(lines) and lines[-1]
        return [*shown, b"\\ No newline at end of file"] if is_cut else shown

    patch, shift = [b"--- a/f", b"+++ b/f"], 0
    for one in lines:
        place = one.old
        starts = place + bool(one.old_count), place + shift + bool(one.new_count)
        shift += one.new_count - one.old_count
        patch.append(b"@@ -%d,%d +%d,%d @@" % (starts[0], one.old_count, starts[1], one.new_count))
        patch += marked(b"-", old_lines, place, one.old_count)
        patch += marked(b"+", new_lines, one.new, one.new_count)
    (repo.top / "f").write_bytes(content)
    if len(patch) > 2:
        git(repo.top, "apply", "--unidiff-zero", "--whitespace=nowarn", "-", stdin=b"\n".join([*patch, b""]))
    return (repo.top / "f").read_bytes()


def shifted(lines: Iterable[ChangedLines], kept: Sequence[ChangedLines]) -> list[ChangedLines]:
    """Return changes of a file as those of what it is with the kept ones."""
    return [
        one._replace(old=one.old + sum(k.new_count - k.old_count for k in kept if k.old < one.old))
        for one in lines
    ]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(old=TEXTS, new=TEXTS, modes=st.tuples(MODES, MODES), seed=st.randoms(use_true_random=False))
def test_what_is_approved_and_what_is_left_are_the_change(
    shared: Repository, old: bytes, new: bytes, modes: tuple[int, int], seed: Random
) -> None:
    pair = Trees(tree(shared, {NAME: (modes[0], old)}), tree(shared, {NAME: (modes[1], new)}))
    whole = changes(shared, pair)
    assert whole == changes(shared, pair, context=10_000_000) == changes(shared, pair, context=0)
    kept = [one for one in whole if seed.random() < 0.5]
    left = [one for one in whole if one not in kept]
    if not kept:
        return
    part = limited_to(shared, pair, [ChangePart(NAME, tuple(kept))])
    approved = file_in(shared, part.head)
    assert file_in(shared, part.base) == (modes[0], old)
    assert approved == (modes[1], applied(shared, old, new, kept))
    assert applied(shared, approved[1], new, shifted(left, kept)) == new
    assert without_change(shared, pair.head, Trees(part.head, pair.head)) == part.head


TEN = b"".join(b"%d\n" % number for number in range(10))
CHANGED = TEN.replace(b"1\n", b"one\n").replace(b"8\n", b"eight\n")
FIRST = ChangedLines(1, 1, 1, 1)


def test_a_renamed_file_keeps_its_name_and_its_mode_with_some_of_its_lines(shared: Repository) -> None:
    base = tree(shared, {"old": (REGULAR, TEN), "other": (REGULAR, b"1")})
    pair = Trees(base, tree(shared, {"new": (EXECUTABLE, CHANGED), "other": (REGULAR, b"2")}))
    part = limited_to(shared, pair, [ChangePart("new", (FIRST,), "old")])
    assert changed_paths(shared, part) == {b"old", b"new"}
    assert file_in(shared, part.head, "new") == (EXECUTABLE, TEN.replace(b"1\n", b"one\n"))
    assert file_in(shared, part.head, "old") is None
    assert paths_outside(shared, pair, part) == ("other",)
    left = Trees(part.head, pair.head)
    assert changed_paths(shared, left) == {b"new"}
    assert without_change(shared, pair.base, left) == pair.base


def test_a_name_that_is_not_utf8_is_known_as_it_is_shown_if_no_other_is_shown_so(shared: Repository) -> None:
    files = dict.fromkeys(("a\udcff", "b"), (REGULAR, b"1"))
    pair = Trees(tree(shared, {}), tree(shared, files))
    part = limited_to(shared, pair, [ChangePart("a\ufffd")])
    assert changed_paths(shared, part) == {b"a\xff"}
    pair = Trees(tree(shared, {}), tree(shared, {**files, "a\udcfe": (REGULAR, b"1")}))
    with pytest.raises(RequestError, match="the change has no file"):
        limited_to(shared, pair, [ChangePart("a\ufffd")])


def test_lines_that_are_not_of_this_change_are_refused(shared: Repository) -> None:
    pair = Trees(tree(shared, {"f": (REGULAR, TEN)}), tree(shared, {"f": (REGULAR, CHANGED)}))
    assert changes(shared, pair) == [FIRST, ChangedLines(8, 1, 8, 1)]
    for moved in (FIRST._replace(old=2), FIRST._replace(new_count=2), ChangedLines(1, 8, 1, 8)):
        with pytest.raises(RequestError, match='the change of "f" is another by now'):
            limited_to(shared, pair, [ChangePart("f", (moved,))])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, (REGULAR, TEN)),
        ((REGULAR, TEN), None),
        ((LINK, TEN), (LINK, CHANGED)),
        ((REGULAR, TEN), (LINK, CHANGED)),
        ((REGULAR, TEN), (REGULAR, b"\0" + CHANGED)),
    ],
)
def test_what_has_no_two_texts_is_approved_whole(
    shared: Repository, before: tuple[int, bytes] | None, after: tuple[int, bytes] | None
) -> None:
    pair = Trees(*(tree(shared, {} if file is None else {"f": file}) for file in (before, after)))
    with pytest.raises(RequestError, match=r"as a whole only|another by now"):
        limited_to(shared, pair, [ChangePart("f", (FIRST,))])
    assert limited_to(shared, pair, [ChangePart("f")]) == pair


def test_some_hunks_are_a_change_on_top_of_all_others(repo: Path) -> None:
    lines = [f"{number}\n" for number in range(20)]
    before = commit(repo, {"old.py": "".join(lines)})
    git(repo, "rm", "-q", "old.py")
    files = {
        "moved.py": "".join([*lines[:5], "5.5\n", *lines[6:], "20\n"]),
        "new.py": "a\n\nb\n",
        "whole.py": "c\n",
        "later.py": "d\n",
    }
    pair = Trees(*(git(repo, "rev-parse", f"{each}^{{tree}}") for each in (before, commit(repo, files))))
    places = {
        "moved.py": (5, 1, 5, 1),
        "new.py": (0, 0, 2, 1),
        "whole.py": (0, 0, 0, 1),
        "later.py": (0, 0, 0, 1),
    }
    hunks = [
        Hunk(
            path=path,
            content=git(repo, "rev-parse", f"HEAD:{path}") if path != "later.py" else pair.base,
            before=git(repo, "rev-parse", f"{before}:old.py") if path == "moved.py" else None,
            **ChangedLines(*place)._asdict(),
        )
        for path, place in places.items()
    ]
    part = only_hunks(found(repo), pair, hunks)
    assert part.head == pair.head
    assert {
        path: git(repo, "show", f"{part.base}:{path}") for path in ("moved.py", "new.py", "later.py")
    } == {
        "moved.py": "".join([*lines, "20"]),
        "new.py": "a\n",
        "later.py": "d",
    }
    patch = diff_text(found(repo), part)
    assert b"new file" in patch.partition(b"whole.py")[2]
    git(repo, "apply", "--reverse", "-", stdin=patch)
    assert not (repo / "whole.py").exists()
    assert only_hunks(found(repo), pair, [hunks[0].updated(before="HEAD")]).is_empty
    # Of a later part of the change, files that it does not have are none.
    later = Trees(git(repo, "rev-parse", f"{commit(repo, {'new.py': 'a'})}^{{tree}}"), pair.head)
    assert [*TreeStore(found(repo)).changed_paths(*only_hunks(found(repo), later, hunks))] == [b"new.py"]

"""Both sides only added: the merge has both, or a conflict stays one; never anything else.

``BLACKBIRD_EXAMPLES`` asks for more random pairs than the suite takes.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.git.change.both_added import resolve_additions, with_additions
from git_blackbird.git.change.merging import merge_sides, merge_trees, sides_of
from git_blackbird.git.core.trees import REGULAR, TreeEntry, TreeStore
from git_blackbird.model.run.summary import Trees
from tests.git.support import found
from tests.support import write

EXAMPLES = int(os.environ.get("BLACKBIRD_EXAMPLES", "24"))  # read before the tests are sealed

MODULE = """\
import os
import sys

NAMES = [
    'n0',
]
D = {
    'd0': 0,
}


class K:
    def m0(self):
        return 0


def f0(x):
    return x
"""
Edit = Callable[[str], str]


def function(number: int, dice: random.Random) -> Edit:
    body = dice.choice(
        (
            f"    y = x + {number}\n    return y\n",
            f"    if x:\n        return x + {number}\n    return {number} + x\n",
            f"    # adds\n    return x + {number}\n",
        )
    )
    return lambda text: f"{text}\n\ndef f{number}(x):\n{body}"


def after(line: str, added: str) -> Edit:
    return lambda text: text.replace(line, line + added, 1)


def imported(number: int, _dice: random.Random) -> Edit:
    names = ("json", "re", "math", "time", "abc", "io", "ast", "csv")
    return after("import sys\n", f"import {names[number % len(names)]}\n")


def item(number: int, _dice: random.Random) -> Edit:
    return after("    'n0',\n", f"    'n{number}',\n")


def key(number: int, _dice: random.Random) -> Edit:
    return after("    'd0': 0,\n", f"    'd{number}': {number},\n")


def method(number: int, _dice: random.Random) -> Edit:
    added = f"\n    def m{number}(self):\n        v = {number}\n        return v\n"
    return after("        return 0\n", added)


KINDS = (function, imported, item, key, method)


def has_all(module: str, number: int, kinds: Sequence[Any]) -> bool:
    """Whether a module that is run does what was added to it."""
    names: dict[str, Any] = {}
    exec(compile(module, "module", "exec"), names)  # what this test made
    made: dict[Any, Callable[[], bool]] = {
        function: lambda: names[f"f{number}"](1) == 1 + number,
        imported: lambda: True,
        item: lambda: f"n{number}" in names["NAMES"],
        key: lambda: names["D"].get(f"d{number}") == number,
        method: lambda: getattr(names["K"](), f"m{number}")() == number,
    }
    is_as_before = names["K"]().m0() == 0 and names["f0"](5) == 5
    return is_as_before and all(made[kind]() for kind in kinds)


def tree(repo: Path, name: str, text: str | None) -> str:
    """Write the tree of one file, or of none."""
    trees = TreeStore(found(repo))
    empty = trees.save({})
    if text is None:
        return empty
    return trees.edited(
        empty, {name.encode(): TreeEntry(REGULAR, str(trees.objects.create_blob(text.encode())))}
    )


def merged(repo: Path, name: str, base: str | None, ours: str, theirs: str) -> str | None:
    """Return the file with both additions; None for a conflict, or what git merges by itself."""
    ancestor, one, other = (tree(repo, name, text) for text in (base, ours, theirs))
    (merge,) = merge_trees(found(repo), ancestor, [(one, other)])
    added = with_additions(found(repo), merge)
    if added.both_added is None:
        assert added == merge
        return None
    assert (added.conflicts, added.both_added) == ((), merge)
    return content(repo, added.tree, name)


def content(repo: Path, oid: str, name: str) -> str:
    trees = TreeStore(found(repo))
    entry = trees.entry(oid, name.encode())
    assert entry is not None
    return trees.content(entry.oid, 1 << 20).decode()


def test_two_additions_to_a_module_are_both_there_and_work(repo: Path) -> None:
    dice, outcomes = random.Random(11), Counter[str]()
    for number in range(EXAMPLES):
        ours, theirs = (dice.sample(KINDS, dice.choice((1, 2))) for _ in range(2))
        if not {*ours} & {*theirs}:
            theirs = ours
        sides = []
        for each, kinds in ((2 * number + 1, ours), (2 * number + 2, theirs)):
            text = MODULE
            for kind in kinds:
                text = kind(each, dice)(text)
            sides.append(text)
        both = merged(repo, "m.py", MODULE, *sides)
        outcomes["both" if both is not None else "conflict"] += 1
        if both is not None:
            assert has_all(both, 2 * number + 1, ours), both
            assert has_all(both, 2 * number + 2, theirs), both
    assert outcomes == {"both": EXAMPLES}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "both"),
    [
        ("", "one\n", "two\n", "one\ntwo\n"),
        ("top\r\n", "top\r\none\r\n", "top\r\ntwo\r\n", "top\r\none\r\ntwo\r\n"),
        ("top\n", "top\none", "top\ntwo", "top\none\ntwo\n"),
        ("=======\n", "=======\n<<<<<<< a\n", "=======\n>>>>>>> b\n", "=======\n<<<<<<< a\n>>>>>>> b\n"),
        (
            "class A {\n}\n",
            "class A {\n  @Test\n  void a() {\n  }\n}\n",
            "class A {\n  @Test\n  void b() {\n  }\n}\n",
            "class A {\n  @Test\n  void a() {\n  }\n  @Test\n  void b() {\n  }\n}\n",
        ),
        (
            "import os\n",
            "import os\nfrom a.b import c\n",
            "import os\nfrom a.b import d\n",
            "import os\nfrom a.b import c\nfrom a.b import d\n",
        ),
        # The second edits a line as well.
        ("top\nend\n", "top\none\nend\n", "TOP\ntwo\nend\n", None),
        # They name the same thing.
        ("top\n", "top\ndef total(a):\n    return a\n", "top\ndef total(b, c):\n    return b\n", None),
        ("{\n}\n", '{\n  "port": 1,\n}\n', '{\n  "port": 2,\n}\n', None),
        ("top\n", "top\nDEBUG = True\n", "top\nDEBUG: bool = False\n", None),
        ("top\n", "top\nadd(a)\n", "top\nadd(b)\n", None),
        # A comma is missing between them.
        ("NAMES = [\n]\n", "NAMES = [\n    'a'\n]\n", "NAMES = [\n    'b'\n]\n", None),
        # The second would be in the block of the first.
        (
            "def f():\n    a()\n",
            "def f():\n    a()\n    if b:\n        c()\n",
            "def f():\n    a()\n        d()\n",
            None,
        ),
        (
            "class A:\n    def a(self):\n        one()\n",
            "class A:\n    def a(self):\n        one()\n\n    def b(self):\n        two()\n",
            "class A:\n    def a(self):\n        one()\n        x()\n\n    def c(self):\n        three()\n",
            None,
        ),
        # The file is new on both sides.
        (None, "one\n", "two\n", None),
        ("\0\n", "\0\none\n", "\0\ntwo\n", None),
    ],
)
def test_what_both_sides_added_is_one_after_the_other_or_a_conflict(
    repo: Path, base: str | None, ours: str, theirs: str, both: str | None
) -> None:
    assert merged(repo, "file", base, ours, theirs) == both


@pytest.mark.parametrize("name", ["Cargo.lock", "web/package-lock.json", "go.sum"])
def test_a_lock_file_is_a_conflict(repo: Path, name: str) -> None:
    assert merged(repo, name, "top\n", "top\none\n", "top\ntwo\n") is None


@pytest.mark.parametrize("attribute", ["-merge", "merge=union", "merge=mine", "filter=lfs"])
def test_a_file_that_is_merged_in_another_way_is_left_to_that(repo: Path, attribute: str) -> None:
    write(repo, {".gitattributes": f"file {attribute}\n"})
    assert merged(repo, "file", "top\n", "top\none\n", "top\ntwo\n") is None


@pytest.mark.parametrize(
    ("now", "left"),
    [
        ("top\none\ntwo\nthree\n", "top\ntwo\nthree\n"),
        ("top\nzero\none\ntwo\n", "top\nzero\ntwo\n"),
        ("top\none\nof it\ntwo\none\nof it\nthree\n", None),
        ("top\none\nof my own\ntwo\n", None),
    ],
)
def test_an_addition_is_taken_back_from_between_others(repo: Path, now: str, left: str | None) -> None:
    added = now.partition("two")[0].removeprefix("top\n").removeprefix("zero\n").replace("my own", "it")
    change = Trees(tree(repo, "file", f"top\n{added}"), tree(repo, "file", "top\n"))
    sides = sides_of(TreeStore(found(repo)), change)
    result = merge_sides(found(repo), tree(repo, "file", now), [sides], resolve=resolve_additions)
    if left is None:
        assert result.left == {b"file": "later edits overlap with it"}
    assert content(repo, result.tree, "file") == (now if left is None else left)

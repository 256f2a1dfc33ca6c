"""What is a hunk that can be taken back, and which go together, in several languages."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from git_blackbird.controller.proof.hunks import ChangeHunks
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.messages.display.evidence import place_of
from git_blackbird.model.base.globs import matching
from git_blackbird.model.config.config import CheckConfig
from git_blackbird.model.run.summary import Trees
from tests.git.support import found
from tests.support import commit, git

Files = Mapping[str, str | bytes]


def hunks_of(repo: Path, before: Files, after: Files) -> ChangeHunks:
    base = commit(repo, before)
    git(repo, "rm", "-rqf", "--cached", ".")
    for path in before:
        (repo / path).unlink()
    pair = Trees(*(git(repo, "rev-parse", f"{each}^{{tree}}") for each in (base, commit(repo, after))))
    return ChangeHunks(found(repo), pair, matching(CheckConfig().test_globs))


def places(hunks: ChangeHunks) -> dict[str, list[str]]:
    """Return what is judged in each trial, with what is taken back besides."""
    return {
        " ".join(place_of(hunks.hunks[number]) for number in trial.judged): [
            place_of(hunks.hunks[number]) for number in sorted(trial.taken - {*trial.judged})
        ]
        for trial in hunks.trials
    }


def content(repo: Path, hunks: ChangeHunks, trial: int, path: str) -> str | None:
    trees = TreeStore(found(repo))
    entry = trees.entry(hunks.tree_without(hunks.trials[trial].taken), path.encode())
    return None if entry is None else trees.content(entry.oid, 10_000).decode()


OLD = {"a.py": "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"}


def test_tests_comments_white_space_and_files_as_a_whole_are_none(repo: Path) -> None:
    before: Files = {
        **OLD,
        "gone.py": "x = 1\n",
        "moved.py": "y = 1\n" * 9,
        "run.sh": "true\n",
        "picture": b"\0a",
        "test_a.py": "assert True\n",
        "old.js": "f( 1 )\n",
    }
    after: Files = {
        "a.py": '"""Text."""\n\n\ndef f(x):\n    # Why.\n    return x  # now\n'
        "\n\n\ndef g(x):\n    return x\n",
        "other.py": "y = 1\n" * 9,
        "run.sh": "true\n",
        "picture": b"\0b",
        "test_a.py": "assert f(1) == 1\n",
        "old.js": "// It is called.\nf(1)\n",
        "note.md": "Text.\n",
        "web/package-lock.json": "{}\n",
    }
    hunks = hunks_of(repo, before, after)
    assert hunks.hunks == []
    assert {(each.path, each.reason) for each in hunks.left_out} == {
        ("gone.py", "deleted"),
        ("other.py", "renamed"),
        ("picture", "modified, binary"),
        ("note.md", "prose"),
        ("web/package-lock.json", "a lock file"),
    }


def test_links_modes_and_submodules_are_named(repo: Path) -> None:
    base = commit(repo, {"run.sh": "true\n", "a": "a"})
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("a")
    git(repo, "add", ".")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{base},sub")
    git(repo, "commit", "-qm", "change")
    pair = Trees(*(git(repo, "rev-parse", f"{each}^{{tree}}") for each in (base, "HEAD")))
    hunks = ChangeHunks(found(repo), pair, matching(()))
    assert {(each.path, each.reason) for each in hunks.left_out} == {
        ("run.sh", "mode changed"),
        ("link", "a symbolic link"),
        ("sub", "submodule added"),
    }


def test_depth_says_something_where_it_does_in_the_language(repo: Path) -> None:
    before = {"a.py": "if x:\n    f()\ng()\n", "a.js": "if (x) {\nf()\n}\n"}
    after = {"a.py": "if x:\n    f()\n    g()\n", "a.js": "if (x) {\n  f()\n}\n"}
    assert places(hunks_of(repo, before, after)) == {"a.py:3": []}


def test_a_tree_without_a_hunk_has_all_else_as_it_is(repo: Path) -> None:
    new = "import math\n\n\ndef f(x):\n    # Down.\n    return math.floor(x)\n\n\ndef g(x):\n    return -x\n"
    hunks = hunks_of(repo, OLD, {"a.py": new, "b.py": "# New.\nX = 1\n"})
    assert places(hunks) == {"a.py:1": ["a.py:6"], "a.py:6": [], "a.py:10": [], "b.py:2": []}
    without = [content(repo, hunks, trial, "a.py") for trial in range(4)]
    assert without == [
        OLD["a.py"].replace("g(x):\n    return x", "g(x):\n    return -x"),
        new.replace("    # Down.\n    return math.floor(x)", "    return x"),
        new.replace("-x", "x"),
        new,
    ]
    assert content(repo, hunks, 3, "b.py") is None
    keys = {hunks.key(trial.taken) for trial in hunks.trials}
    assert len(keys) == 4


def test_each_block_of_a_new_file_is_one(repo: Path) -> None:
    new = (
        "import os\n\nLIMIT = 3\n\n\ndef f(x):\n    y = x\n\n    return y\n\n\n"
        "# About g.\ndef g(x):\n    return '''\n\ntext'''\n\n\n"
        "class H:\n    def i(self):\n        return g(LIMIT)\n"
    )
    assert places(hunks_of(repo, OLD, {**OLD, "b.py": new})) == {
        "b.py:1": [],
        "b.py:3": ["b.py:19-21"],
        "b.py:6-9": [],
        "b.py:13-16": ["b.py:19-21"],
        "b.py:19-21": [],
    }


PYTHON = (
    {
        "a.py": "def f(x):\n    return x\n\n\nprint(1)\n\n\n"
        "def g(x):\n    y = x\n    print(y)\n    return y\n",
        "b.py": "from a import f\n\nf(1)\n",
    },
    {
        "a.py": "def f(x, limit=None):\n    return x\n\n\nprint(1)\n\n\n"
        "def g(x):\n    y = x\n    z = y\n    print(y)\n    return z\n",
        "b.py": "from a import f\n\nf(1, limit=2)\n",
    },
    {"a.py:1": ["b.py:3"], "a.py:10": ["a.py:12"], "a.py:12": [], "b.py:3": []},
)
SHELL = (
    {"a.sh": "#!/bin/sh\nmain() {\n  echo 1\n}\nother() {\n  echo 2\n}\nmain\nother\n"},
    {
        "a.sh": '#!/bin/sh\nchecked() {\n  test -n "$1"\n}\nmain() {\n  checked 1\n}\n'
        "other() {\n  echo 2 3\n}\nmain\nother\n"
    },
    {"a.sh:2-4": ["a.sh:6"], "a.sh:6": [], "a.sh:9": []},
)
GO = (
    {"a.go": "package a\n\nfunc F(x int) int {\n\treturn x\n}\n\nfunc G(x int) int {\n\treturn x\n}\n"},
    {
        "a.go": "package a\n\nfunc F(x int) int {\n\treturn checked(x)\n}\n\n"
        "func G(x int) int {\n\treturn x + 1\n}\n\nfunc checked(x int) int {\n\treturn x\n}\n"
    },
    # As git shows it, the end of one function begins in the other.
    {"a.go:4": [], "a.go:8-11": ["a.go:4"]},
)
SCRIPT = (
    {"a.js": "function f (x) {\n  return x\n}\nfunction g (x) {\n  return x\n}\nmodule.exports = { f, g }\n"},
    {
        "a.js": "const most = 3\nfunction f (x) {\n  return Math.min(x, most)\n}\n"
        "function g (x) {\n  return x + 1\n}\nmodule.exports = { f, g }\n"
    },
    {"a.js:1": ["a.js:3"], "a.js:3": [], "a.js:6": []},
)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [PYTHON, SHELL, GO, SCRIPT], ids=["py", "sh", "go", "js"]
)
def test_a_hunk_goes_with_those_that_use_what_it_introduces(
    repo: Path, before: Files, after: Files, expected: dict[str, list[str]]
) -> None:
    assert places(hunks_of(repo, before, after)) == expected


def test_one_that_uses_what_another_removed_goes_with_it(repo: Path) -> None:
    before = {
        "a.py": "def old(x):\n    return x\n\n\ndef f(x):\n    y = old(x)\n    return y\n\n\nprint(f(1))\n"
    }
    after = {"a.py": "def f(x):\n    y = x\n    return y\n\n\nprint(f(1))\n"}
    assert places(hunks_of(repo, before, after)) == {"a.py:1": [], "a.py:2": ["a.py:1"]}


def test_a_function_that_moved_is_taken_back_at_both_ends(repo: Path) -> None:
    moved = "def moved(x):\n    return x\n"
    before = {"a.py": f"{moved}\n\nA = 1\n", "b.py": "B = 1\n"}
    hunks = hunks_of(repo, before, {"a.py": "A = 1\n", "b.py": f"B = 1\n\n\n{moved}"})
    assert places(hunks) == {"a.py:1 b.py:4-5": []}


def test_of_very_many_hunks_files_that_have_too_many_are_named(repo: Path) -> None:
    new = {"a.py": "\n".join(f"x{number} = 1\n" for number in range(2_500)), "b.py": "y = 1\n"}
    hunks = hunks_of(repo, OLD, new)
    assert [(each.path, each.reason) for each in hunks.left_out] == [
        ("a.py", "the change has more than 2000 hunks")
    ]
    assert places(hunks) == {"b.py:1": []}

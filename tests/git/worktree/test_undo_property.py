"""Over random worktrees: a change is taken back exactly or its path is left, and nothing else moves.

``BLACKBIRD_EXAMPLES`` asks for more worktrees than the suite takes.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from git_blackbird.git.change.merging import Merged, merge_sides, sides_of
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.writing.path_writer import Journal
from git_blackbird.git.writing.write_back import take_signatures, write_paths
from git_blackbird.model.run.summary import Trees
from tests.git.commit.test_commit_property import (
    ATTRIBUTES,
    CONFIGURATION,
    EDITS,
    OWN,
    SHARED,
    Dice,
    do_steps,
    files_of,
)
from tests.git.support import found, tree_of
from tests.support import git

EXAMPLES = int(os.environ.get("BLACKBIRD_EXAMPLES", "24"))  # read before the tests are sealed
SHARES = 2


def prepared(place: Path, dice: Dice) -> tuple[Path, Trees]:
    """Make a repository in which an agent changed something and a person edited after it."""
    repo = place / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    with (repo / ".git" / "config").open("a") as config:
        config.write(CONFIGURATION)
    (repo / ".gitattributes").write_text(ATTRIBUTES)
    first, _, agent, _ = dice.example()
    do_steps(repo, first)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "first")
    base = tree_of(repo)
    do_steps(repo, [step for step in agent if step[0] in EDITS])
    pair = Trees(base, tree_of(repo))
    do_steps(repo, dice.steps(EDITS, [*OWN, *SHARED], 0, 4))
    return repo, pair


def bring(repo: Repository, change: Trees) -> tuple[str, Merged]:
    """Bring a change into the worktree, as undo and redo do."""
    paths = frozenset(TreeStore(repo).changed_paths(*change))
    expected = take_signatures(repo, paths)
    before = tree_of(repo.top)
    merged = merge_sides(repo, before, [sides_of(TreeStore(repo), change)])
    change = Trees(before, merged.tree)
    assert write_paths(repo, change, expected, Journal(repo, "undo"), timeout_seconds=60) == {}
    return before, merged


def one(seed: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        top, pair = prepared(Path(place), Dice(seed))
        repo, trees, files = found(top), TreeStore(found(top)), files_of(top)
        back = Trees(pair.head, pair.base)
        before, merged = bring(repo, back)
        assert tree_of(top) == merged.tree
        changed = set(trees.changed_paths(before, merged.tree))
        assert changed <= set(trees.changed_paths(*pair))
        for path in set(trees.changed_paths(*pair)) - merged.left.keys():
            now, was = trees.entry(merged.tree, path), trees.entry(before, path)
            assert was not in {
                trees.entry(pair.head, path),
                trees.entry(pair.base, path),
            } or now == trees.entry(pair.base, path)
        assert not changed & merged.left.keys()
        moved = {str(top / os.fsdecode(path)) for path in changed}
        kept = {name: facts for name, facts in files.items() if Path(name).is_file() and name not in moved}
        assert {name: facts for name, facts in files_of(top).items() if name in kept} == kept
        again, redone = bring(repo, Trees(merged.tree, before))
        assert (again, redone.left, redone.tree, tree_of(top)) == (merged.tree, {}, before, before)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", range(SHARES))
def test_exactly_the_change_is_taken_back_and_comes_back(share: int) -> None:
    for seed in range(share, EXAMPLES, SHARES):
        try:
            one(seed)
        except (AssertionError, subprocess.CalledProcessError) as error:
            error.add_note(f"seed {seed}")
            raise

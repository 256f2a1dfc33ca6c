"""The change of several runs, against a model in which a worktree is a mapping."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.git.change.changes import changed_paths, compose_trees
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.run.summary import Trees
from tests.git.support import change_after, found, listing, tree_of
from tests.support import commit, examples, write

State = Mapping[bytes, bytes]
Difference = dict[bytes, tuple[bytes | None, bytes | None]]

PATHS = [b"f", b"f/g", b"f/h", b"f/h/i", b"d/x", b"d.x", b"k", b"\xff/\n"]


def can_lie_together(paths: Sequence[bytes]) -> bool:
    return not any(parent in paths for path in paths for parent in parents(path))


STATES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from([b"1", b"2", b"3"])).filter(
    lambda state: can_lie_together(list(state))
)


def written(repo: Repository, state: State) -> str:
    trees = TreeStore(repo)
    blobs = {path: TreeEntry(0o100644, str(trees.objects.create_blob(text))) for path, text in state.items()}
    return trees.edited(trees.save({}), blobs)


def difference(repo: Repository, pair: Trees) -> Difference:
    trees = TreeStore(repo)

    def content(tree: str, path: bytes) -> bytes | None:
        there = trees.entry(tree, path)
        return None if there is None else trees.objects.read(pygit2.Oid(hex=there.oid))[1]

    paths = changed_paths(repo, pair)
    return {path: (content(pair.base, path), content(pair.head, path)) for path in paths}


def expected(legs: Sequence[tuple[State, State]]) -> Difference:
    change: Difference = {}
    for path in PATHS:
        by = [index for index, (base, head) in enumerate(legs) if base.get(path) != head.get(path)]
        if not by:
            continue
        before, after = legs[by[0]][0].get(path), legs[by[-1]][1].get(path)
        is_undone = any(base.get(path) == before for base, _ in legs[by[-1] + 1 :])
        if before != after and not is_undone:
            change[path] = before, after
    return change


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(legs=st.lists(st.tuples(STATES, STATES), min_size=1, max_size=4))
def test_a_change_is_the_first_base_against_the_last_head(
    shared: Repository, legs: list[tuple[State, State]]
) -> None:
    pairs = [Trees(written(shared, base), written(shared, head)) for base, head in legs]
    got = difference(shared, compose_trees(shared, pairs))
    wanted = expected(legs)
    sides = [[path for path, both in wanted.items() if both[side] is not None] for side in (0, 1)]
    if all(can_lie_together(side) for side in sides):
        assert got == wanted
    else:
        assert got.keys() <= wanted.keys()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(state=STATES, edits=st.dictionaries(st.sampled_from(PATHS), st.none() | st.just(b"9")))
def test_edited_trees_are_those_git_would_write(
    shared: Repository, state: State, edits: dict[bytes, bytes | None]
) -> None:
    kept = {path: text for path, text in edits.items() if text is not None}
    if not can_lie_together(list(kept)):
        return
    trees = TreeStore(shared)
    nine = TreeEntry(0o100644, str(trees.objects.create_blob(b"9")))
    result = trees.edited(written(shared, state), {p: nine if text else None for p, text in edits.items()})
    survivors = {
        path: text
        for path, text in state.items()
        if path not in edits and can_lie_together([path, *kept]) and not set(parents(path)) & kept.keys()
    }
    index = shared.git_dir / "model-index"
    index.unlink(missing_ok=True)
    lines = b"".join(
        b"100644 %s\t%s\0" % (str(trees.objects.create_blob(text)).encode(), path)
        for path, text in (survivors | kept).items()
    )
    variables = {"GIT_INDEX_FILE": str(index)}
    shared.git("update-index", "-z", "--index-info", stdin=lines, variables=variables)
    assert shared.git("write-tree", variables=variables).out.decode().strip() == result


@pytest.fixture
def shared(repo: Path) -> Repository:
    return found(repo)


def test_one_leg_is_itself_and_none_is_a_fault(shared: Repository) -> None:
    tree_pair = Trees(written(shared, {}), written(shared, {b"f": b"1"}))
    assert compose_trees(shared, [tree_pair]) == tree_pair
    with pytest.raises(ValueError, match=r"^a change has at least one run$"):
        compose_trees(shared, [])


def test_the_summary_of_the_third_run_shows_the_third_run_only(repo: Path) -> None:
    commit(repo, {"committed": "1\n", "f": "1\n"})
    write(repo, {"by the user": "untracked\n", "f": "edited by the user\n"})
    legs: list[Trees] = []
    for run in (1, 2, 3):
        base = tree_of(repo)
        write(repo, {f"by run {run}": "x\n"})
        if run == 2:
            commit(repo, {"committed": "2\n"})
        legs.append(change_after(repo, base))
        write(repo, {f"by the user after run {run}": "x\n"})
    there = found(repo)
    assert [summarize(there, tree_pair).files for tree_pair in legs] == [
        ("by run 1",),
        ("by run 2", "committed"),
        ("by run 3",),
    ]
    assert summarize(there, compose_trees(there, legs)).files == (
        "by run 1",
        "by run 2",
        "by run 3",
        "committed",
    )


def test_what_others_did_in_between_is_context(repo: Path) -> None:
    write(repo, {"f": "0\n", "shared": "0\n"})
    base = tree_of(repo)
    write(repo, {"f": "1\n", "shared": "1\n"})
    first = change_after(repo, base)
    write(repo, {"shared": "by another task\n", "other": "by another task\n"})
    base = tree_of(repo)
    write(repo, {"shared": "2\n"})
    second = change_after(repo, base)
    whole = compose_trees(found(repo), [first, second])
    assert listing(repo, whole.base) == {
        "f": "100644 0",
        "other": "100644 by another task",
        "shared": "100644 0",
    }
    assert listing(repo, whole.head) == {
        "f": "100644 1",
        "other": "100644 by another task",
        "shared": "100644 2",
    }


def test_what_was_undone_is_no_part_of_it(repo: Path) -> None:
    write(repo, {"f": "0\n", "g": "0\n"})
    base = tree_of(repo)
    write(repo, {"f": "1\n", "g": "1\n"})
    first = change_after(repo, base)
    write(repo, {"f": "0\n"})
    base = tree_of(repo)
    write(repo, {"h": "2\n"})
    second = change_after(repo, base)
    assert changed_paths(found(repo), compose_trees(found(repo), [first, second])) == {b"g", b"h"}


def test_a_deep_path(shared: Repository) -> None:
    deep = b"/".join([b"d"] * 1100) + b"/f"
    before, after = written(shared, {}), written(shared, {deep: b"1"})
    again = written(shared, {deep: b"2"})
    pair = compose_trees(shared, [Trees(before, after), Trees(after, again)])
    assert changed_paths(shared, pair) == {deep}

"""Commits and decisions of anybody's: what is read is bounded, printed clean, and nothing of it runs."""

import json
import os
from pathlib import Path

import pygit2
import pytest

from git_blackbird.controller.proof.verify import Asked, verify
from git_blackbird.git.core.trees import DIRECTORY, REGULAR, SUBMODULE, TreeEntry
from git_blackbird.git.proof.decisions import read_decisions
from git_blackbird.messages.display.verified import verification_page
from git_blackbird.model.run.summary import Trees
from tests.controller.proof.decided import PLAN, Decisions
from tests.support import git
from tests.trial.program import Trial

ESCAPE = "\x1b]0;evil\x07\x1b[2J\u202e"
TAG = b"object %s\ntype %s\ntag blackbird/%s\ntagger %s 1800000000 +0000\n\napproved\n\n%s\n"


@pytest.fixture
def there(repo: Path) -> Decisions:
    return Decisions(repo, 4)


def write_tag(there: Decisions, name: str, data: bytes) -> None:
    there.refs[f"refs/blackbird/decisions/{name}"] = str(
        there.objects.write(pygit2.enums.ObjectType.TAG, data)
    )


def tag(there: Decisions, name: str, text: bytes, kind: str = "tree", by: bytes = b"A <a@b>") -> bytes:
    target = {"tree": there.tree, "commit": there.tip, "blob": str(there.objects.create_blob(b"x"))}[kind]
    return TAG % (target.encode(), kind.encode(), name.encode(), by, text)


def test_what_is_no_decision_counts_as_none(there: Decisions) -> None:
    made = there.task(0)
    there.add(made)
    good = json.dumps(made.text.updated(before={}).to_json()).encode()
    texts = {
        "deep": b"[" * 50_000,
        "huge": good[:-1] + b', "more": "' + b"x" * 200_000 + b'"}',
        "number": b"1",
        "broken": good[:-1],
        "later-form": good.replace(b'"format": 1', b'"format": 2').replace(b"run00000", b"later-form"),
        "bad-task": good.replace(b"task-0", b"../../x").replace(b"run00000", b"bad-task"),
        "named": good.replace(b'"before": {}', b'"before": {"\\u001b[2J": "%s"}' % (b"1" * 40)),
        "other": good,
    }
    for name, text in texts.items():
        write_tag(there, f"{name}/1", tag(there, f"{name}/1", text))
    write_tag(there, "commit/1", tag(there, "commit/1", good.replace(b"run00000", b"commit"), "commit"))
    write_tag(there, "blob/1", tag(there, "blob/1", good.replace(b"run00000", b"blob"), "blob"))
    write_tag(there, "not-a-number/x", tag(there, "not-a-number/x", good))
    write_tag(there, "renamed/1", tag(there, "run00000/1", good))
    there.refs["refs/blackbird/decisions/plain/1"] = there.tip
    there.finish()
    assert [*read_decisions(there.repo).by_name] == ["run00000/1"]
    assert verify(there.repo, Asked("main")).holds


def test_nothing_reaches_a_terminal_raw(there: Decisions) -> None:
    made = there.task(0)
    there.add(made, {f"{ESCAPE}\n.txt".encode(): b"evil"})
    name = f"{made.text.run}/1"
    text = json.dumps(made.text.updated(before={}).to_json()).encode()
    by = f"Eve{ESCAPE}|`<b> <e@x>".encode()
    ends = {b"base": there.root, b"head": there.tip}
    trees = {end: git(there.path, "rev-parse", f"{oid}^{{tree}}") for end, oid in ends.items()}
    target = there.trees.save({end: TreeEntry(DIRECTORY, oid) for end, oid in trees.items()})
    write_tag(there, name, TAG % (target.encode(), b"tree", name.encode(), by, text))
    named = f"Blackbird-Task: {ESCAPE}\nBlackbird-Run: -x{ESCAPE}\n"
    there.tip = there.commit(there.tree, f"{ESCAPE}evil\n\n{named}", (there.tip,))
    there.finish()
    for options in ((), ("--page",), ("--json",)):
        said = Trial(there.path).expect(1, "verify", "main", *options)
        assert "\x1b" not in said
        assert "\u202e" not in said
    page = verification_page(verify(there.repo, Asked("main")))
    assert "|`" not in page.replace("\\|\\`", "")
    assert "\\<b\\>" in page


def test_nothing_of_a_range_runs_or_is_believed(there: Decisions, tmp_path: Path) -> None:
    # A driver that takes the side of whoever wrote the commit.
    git(there.path, "config", "merge.evil.driver", f"touch {tmp_path}/ran; cp %B %A")
    made = there.task(0)
    attributes = there.edited(there.tree, {b".gitattributes": b"* merge=evil diff=evil filter=evil\n"})
    there.write(attributes, made)
    path = next(iter(made.edits))
    there.add(there.task(1))
    there.tree = there.edited(there.tree, {path: b"other lines\n"})
    pair = Trees(*(there.trees.without(each, [PLAN]) for each in (there.tree, attributes)))
    there.decide(f"{made.text.run}/1", made.text, pair)
    there.tip = there.commit(
        there.tree, f"x\n\nBlackbird-Task: task-0\nBlackbird-Run: {made.text.run}\n", (there.tip,)
    )
    there.finish()
    git(there.path, "checkout", "-q", "-f", "main")
    found = verify(there.repo, Asked("main"))
    assert not found.holds
    assert not (tmp_path / "ran").exists()
    # A replaced commit is the one that it was.
    innocent = there.commit(there.tree, "innocent\n", (there.root,))
    git(there.path, "replace", there.tip, innocent)
    assert verify(there.repo, Asked("main")) == found


def test_trees_that_no_worktree_may_have(there: Decisions) -> None:
    blob = str(there.objects.create_blob(b"[core]\n"))
    made, other = there.task(0), there.task(1)
    there.publish(other)
    evil = there.trees.save({**there.trees.load(there.publish(made)), b".GIT": TreeEntry(REGULAR, blob)})
    for runs in ((made.text.run,), (made.text.run, other.text.run)):
        there.tree = evil
        named = "".join(f"Blackbird-Run: {run}\n" for run in runs)
        there.tip = there.commit(evil, f"evil\n\n{named}", (there.root,))
        there.finish()
        (found,) = verify(there.repo, Asked("main")).commits
        assert "name what no file may be: b'.GIT'" in (found.fault or "")


@pytest.mark.parametrize("kind", ["deep", "no plan", "a task of that name", "a repository"])
def test_a_plan_of_anybody(there: Decisions, kind: str) -> None:
    made = there.task(0)
    named = made.edits[PLAN].replace(b'"items": {', b'"items": {"status": {"prompt": "evil"}, ')
    plans = {"deep": b"[" * 100_000, "no plan": b'{"items": [1]}', "a task of that name": named}
    if kind == "a repository":
        submodule = TreeEntry(SUBMODULE, "1" * 40)
        there.write(there.trees.edited(there.publish(made), {PLAN: submodule}), made)
    else:
        there.add(made, {PLAN: plans[kind]})
    there.finish()
    (found,) = verify(there.repo, Asked("main")).commits
    assert found.fault == f"it changes more of {os.fsdecode(PLAN)} than statuses"


def test_a_message_of_any_length(there: Decisions) -> None:
    there.tip = there.commit(there.tree, f"Blackbird-Run: x{' ' * 2_000_000}y\n", (there.tip,))
    there.add(there.task(0))
    there.finish()
    assert [each.commit.runs for each in verify(there.repo, Asked("main")).commits] == [("x",), ("run00000",)]

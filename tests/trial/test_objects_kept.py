"""What a record names is there after git has collected its garbage: the one reference of its run holds it."""

import subprocess
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.run.run import Run
from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial

# What HEAD was at is not held: it is the user's.
HEADS = frozenset({"start_commit", "end_commit"})
FIELDS = frozenset(
    name
    for name, field in Run.model_fields.items()
    if name not in HEADS and "ObjectId" in repr(field.annotation).replace(repr(ObjectId), "ObjectId")
)


def ids_in(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every object id in a record, with the name of the field that it is in."""
    if isinstance(value, BaseModel):
        for field, part in value:
            yield from ids_in(part, name or field)
    elif isinstance(value, dict):
        for part in value.values():
            yield from ids_in(part, name)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from ids_in(part, name)
    elif isinstance(value, str) and len(value) == 40 and set(value) <= set("0123456789abcdef"):
        yield name, value


@pytest.fixture
def trial(repo: Any) -> Trial:
    commit(repo, {"x": "1\n", "y": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": (), "c": (), "d": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    trial.command('echo "$BLACKBIRD_TASK_ID" >"$BLACKBIRD_TASK_ID.txt"; echo 2 >>y; git gc -q --prune=now')
    return trial


def test_what_records_name_outlives_the_garbage(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    trial.configure({"execution.worktrees": "true"})
    trial.expect(3, "execute", "b", "--no-input")
    trial.expect(0, "decide", "b", "--approve", "--files", "b.txt")
    trial.run("execute", "b", "--no-input")
    trial.configure({"execution.commit": "never"})
    trial.expect(3, "execute", "c", "--no-input")
    trial.expect(0, "decide", "c", "--reject")
    trial.run("undo", "a")
    trial.run("undo", "b")
    git(trial.repo, "reflog", "expire", "--expire=now", "--all")
    git(trial.repo, "gc", "-q", "--prune=now")
    seen: set[str] = set()
    for task in "abc":
        for record in trial.records(task):
            for name, oid in ids_in(Run.from_value(record)):
                if name not in HEADS and name in FIELDS:
                    assert git(trial.repo, "cat-file", "-t", oid) in {"tree", "commit"}, (task, name)
                    seen.add(name)
    assert typing.cast(set[str], FIELDS) - seen <= {"undo_commit"}, FIELDS - seen
    refs = git(trial.repo, "for-each-ref", "--format=%(refname)", "refs/blackbird/runs").splitlines()
    assert len(refs) == sum(len(trial.records(task)) for task in "abc")
    for task in "abc":
        assert trial.run("runs", task, "--diff")[0] == 0
    trial.run("redo", "a")
    assert (trial.repo / "a.txt").read_text() == "a\n"


@pytest.mark.exhaustive
def test_a_commit_that_its_author_gave_up_is_not_needed(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    (commit_id,) = fact(trial.records("a")[-1], "commits")
    git(trial.repo, "reset", "-q", "HEAD^")
    git(trial.repo, "reflog", "expire", "--expire=now", "--all")
    git(trial.repo, "gc", "-q", "--prune=now")
    gone = subprocess.run(
        ["git", "cat-file", "-e", commit_id], cwd=trial.repo, check=False, stderr=subprocess.DEVNULL
    )
    assert gone.returncode != 0
    for command in ("show a", "runs a", "status", "runs a --diff", "report"):
        trial.expect(0, *command.split())
    trial.expect(0, "undo", "a")
    assert git(trial.repo, "status", "--porcelain", "-uall", "x", "y", "a.txt") == ""
    trial.expect(0, "redo", "a")
    assert (trial.repo / "a.txt").read_text() == "a\n"

"""What is taken over of a run, and which trees it names."""

import itertools
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.run.run import Run, RunFields

# Commits, which are the user's or held as commits, and what lies in the repositories of submodules.
_NO_TREES = {"head_commit", "end_commit", "commits", "undo_commit", "base_submodules", "review_summary"}


def test_of_a_run_from_elsewhere_nothing_but_the_go_programs_fields_is_taken_over() -> None:
    names = list(RunFields.model_fields)
    ours = set(names[names.index("recorder") :])
    whole = {
        "id": "9f86d081884c7d65",
        "taskId": "a",
        "startedAt": "2026-01-02T03:04:05Z",
        "status": "success",
        "decision_state": "pending",
        "worktree": "../hotfix",
        "landing": "due",
        "head_tree": "1" * 40,
        "base_tree": "2" * 40,
        "commits": ["3" * 40],
        "pid": 1,
        "of_the_future": 1,
    }
    taken = Run.from_value(whole).taken_over()
    kept = {name for name in ours if getattr(taken, name) not in {None, ()}}
    assert kept == {"recorder"}
    assert taken.model_extra == {}
    assert (taken.id, taken.decision_state) == ("9f86d081884c7d65", "pending")


def _with_ids(kind: Any, numbers: Iterator[int]) -> Iterator[object]:
    """Yield values of a type in which each object id is another; none if it has no object ids."""
    if kind == ObjectId:
        yield f"{next(numbers):040x}"
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        hints = typing.get_type_hints(kind, include_extras=True)
        values = {name: list(_with_ids(hints[name], numbers)) for name in kind.model_fields}
        filled = {name: found[0] for name, found in values.items() if found}
        if filled:
            yield kind.model_construct(**typing.cast(Any, filled))
    elif typing.get_origin(kind) in {typing.Union, types.UnionType}:
        for part in typing.get_args(kind):
            yield from _with_ids(part, numbers)
    elif typing.get_origin(kind) is dict:
        _, part = typing.get_args(kind)
        both = itertools.chain(_with_ids(part, numbers), _with_ids(part, numbers))
        if found := dict(zip(("base", "head"), both, strict=False)):
            yield found


def test_every_tree_of_a_record_is_one_that_it_names() -> None:
    numbers = itertools.count(1)
    hints = typing.get_type_hints(RunFields, include_extras=True)
    values = {name: list(_with_ids(hints[name], numbers)) for name in {*RunFields.model_fields} - _NO_TREES}
    filled = {name: found[0] for name, found in values.items() if found}
    assert {"base_tree", "head_tree", "worktree_base", "check", "decided_trees", "landing_trees"} <= {*filled}
    for name, value in filled.items():
        run = Run.model_construct(**typing.cast(Any, {name: value}))
        assert len(run.named_trees) == (2 if isinstance(value, dict) else 1), name

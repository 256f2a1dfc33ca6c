"""Merge three files of a plan, as git's merge driver does."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from git_blackbird.git.core.process import operands, run_git
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.validation import PlanError
from git_blackbird.model.rules.plan_merge import merge_plans
from git_blackbird.storage.plan_file import InvalidPlanError, parse_plan, render_plan, require_unique_keys


class FileMerge(NamedTuple):
    """Whether all could be merged, and remarks on it, one line each."""

    is_clean: bool
    remarks: tuple[str, ...] = ()


def merge_files(base: str, ours: str, theirs: str) -> FileMerge:
    """Merge plans into the file ``ours``; an empty ``base`` is no plan.

    Where both sides changed one thing, it stands there as each has it, between git's own markers. If one of
    the three is no valid plan, they are merged as text. Only a valid plan is a clean result.
    """
    plans: list[Plan] = []
    remarks: list[str] = []
    for name, place in (("the base", base), ("ours", ours), ("theirs", theirs)):
        try:
            plans.append(_plan_in(place, may_be_empty=place is base))
        except InvalidPlanError as error:
            remarks.append(f"merged as text, since {name} is no valid plan: {error.faults[0]}")
    if remarks:
        return _judged(ours, remarks, is_clean=_merge_text(ours, base, theirs))
    merge = merge_plans(*plans)
    Path(ours).write_bytes(render_plan(merge.ours))
    if not merge.conflicts:
        return _judged(ours, [], is_clean=True)
    with tempfile.TemporaryDirectory() as folder:
        sides = [Path(folder, name) for name in ("base", "theirs")]
        for side, plan in zip(sides, (merge.base, merge.theirs), strict=True):
            side.write_bytes(render_plan(plan))
        _merge_text(ours, *map(str, sides))
    return FileMerge(False, tuple(f"conflict in {conflict}" for conflict in merge.conflicts))


def _judged(place: str, remarks: Sequence[str], *, is_clean: bool) -> FileMerge:
    """Return how a merge ended: what ``validate`` would refuse is a conflict."""
    faults: Sequence[PlanError] = ()
    if is_clean:
        try:
            _plan_in(place)
        except InvalidPlanError as error:
            faults = error.faults
    return FileMerge(is_clean and not faults, (*remarks, *(f"in the merged plan: {one}" for one in faults)))


def _plan_in(place: str, *, may_be_empty: bool = False) -> Plan:
    """Read a plan as ``validate`` does. Raises InvalidPlanError."""
    data = Path(place).read_bytes()
    if may_be_empty and not data:
        return Plan()
    plan = parse_plan(data, place)
    require_unique_keys(data, place)
    return plan


def _merge_text(ours: str, base: str, theirs: str) -> bool:
    """Let git merge the changes from ``base`` to ``theirs`` into a file; return whether all is clean."""
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    words = ("merge-file", *labels, *operands(ours, base, theirs))
    return run_git(words, cwd=Path.cwd(), environ=os.environ, check=False).code == 0

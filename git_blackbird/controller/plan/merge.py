"""Merge three files of a plan, as git's merge driver does."""

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import operands, run_git
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_merge import merge_plans
from git_blackbird.storage.plan_file import parse_plan, render_plan


class FileMerge(NamedTuple):
    """Whether all could be merged, and what is to be said of it, a line each."""

    is_clean: bool
    remarks: tuple[str, ...] = ()


def merge_files(base: str, ours: str, theirs: str) -> FileMerge:
    """Merge plans into the file ``ours``; an empty ``base`` is no plan.

    Where both sides changed one thing, it stands there as each has it, between git's own markers. What is no
    plan is merged as text.
    """
    try:
        plans = [_plan_in(Path(place)) for place in (base, ours, theirs)]
    except UnusableError as error:
        remark = f"merged as text, since one side is no plan: {error.message.splitlines()[0]}"
        return FileMerge(_merge_text(ours, base, theirs), (remark,))
    merge = merge_plans(*plans)
    if not merge.conflicts:
        Path(ours).write_bytes(render_plan(merge.ours))
        faults = plan_faults(merge.ours, merge.ours.tasks.keys())
        return FileMerge(not faults, tuple(f"in the merged plan: {fault}" for fault in faults))
    Path(ours).write_bytes(render_plan(merge.ours))
    with tempfile.TemporaryDirectory() as folder:
        sides = [Path(folder, name) for name in ("base", "theirs")]
        for side, plan in zip(sides, (merge.base, merge.theirs), strict=True):
            side.write_bytes(render_plan(plan))
        _merge_text(ours, *map(str, sides))
    return FileMerge(False, tuple(f"conflict in {conflict}" for conflict in merge.conflicts))


def _plan_in(place: Path) -> Plan:
    data = place.read_bytes()
    return parse_plan(data, place.name) if data else Plan()


def _merge_text(ours: str, base: str, theirs: str) -> bool:
    """Let git merge the changes from ``base`` to ``theirs`` into a file; return whether all is clean."""
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    words = ("merge-file", *labels, *operands(ours, base, theirs))
    return run_git(words, cwd=Path.cwd(), environ=os.environ, check=False).code == 0

"""What follows from each run that can be the newest of its task: status, next action, choices, words."""

import os
from collections import defaultdict
from pathlib import Path

from git_blackbird.model.change.choices import choices_for
from git_blackbird.model.change.stages import label_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import pending_items
from git_blackbird.model.rules.next_action import (
    CallScope,
    CheckChange,
    FinishUndo,
    LandChange,
    ReviewChange,
    next_action,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from tests.model.building import histories, plan_of, task
from tests.model.change.stages import writable_runs

GOLDEN = Path(__file__).parent / "golden" / "stages.txt"
UPDATE = bool(os.environ.get("BLACKBIRD_GOLDEN_UPDATE"))


def outcome(run: Run) -> str:
    state = PlanState(plan_of(task("t")), histories(run))
    (leaf,) = state.plan.tasks.values()
    action = next_action(state, CallScope(asked=frozenset({run.id}), starts_left=0))
    there = run.has_changed_worktree
    choices = choices_for(run, was_requested=False, is_in_worktree=there) if run.is_pending else ()
    numbers = " ".join(f"{spec.digit} {spec.choice}" for spec in choices)
    owed = [f"{item.words}; {item.command}" for item in pending_items(state)]
    if isinstance(action, CheckChange | ReviewChange | LandChange | FinishUndo) or (
        leaf.status is Status.FAILED and not owed
    ):
        owed = [label_of(run)]
    return " | ".join((leaf.status.value, type(action).__name__, numbers or "-", *(owed or ["-"])))


def test_what_follows_from_every_run_that_can_be_the_newest() -> None:
    found = defaultdict[str, list[str]](list)
    for words, run in writable_runs():
        found[outcome(run)].append(words)
    text = "\n".join("\n    ".join((result, *found[result])) for result in sorted(found)) + "\n"
    if UPDATE:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()

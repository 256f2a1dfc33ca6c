"""What follows from each run that can be the newest of its task: status, next action, choices, words."""

from collections import defaultdict
from pathlib import Path

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import choices_for
from git_blackbird.model.rules.queue import queue
from git_blackbird.model.rules.scope import CallScope, next_item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from tests.kept import assert_kept
from tests.model.building import histories, plan_of, task
from tests.model.change.stages import writable_runs

GOLDEN = Path(__file__).parent / "golden" / "stages.txt"


def outcome(run: Run) -> str:
    state = PlanState(plan_of(task("t")), histories(run))
    (leaf,) = state.plan.tasks.values()
    scope = CallScope(asked=frozenset({run.id}), starts_left=0)
    item = next_item(state, scope)
    there = run.has_changed_worktree
    follows = TaskId("next")
    offered = choices_for(run, was_requested=False, is_in_worktree=there, was_merged=False, follows=follows)
    choices = offered if run.is_pending else ()
    numbers = " ".join(f"{spec.digit} {spec.choice}" for spec in choices)
    listed = [f"{item.words}; {item.command}" for item in queue(state)]
    due = "-" if item is None else item.due
    return " | ".join((leaf.status.value, due, numbers or "-", *(listed or ["-"])))


def test_what_follows_from_every_run_that_can_be_the_newest() -> None:
    found = defaultdict[str, list[str]](list)
    for words, run in writable_runs():
        found[outcome(run)].append(words)
    text = "\n".join("\n    ".join((result, *found[result])) for result in sorted(found)) + "\n"
    assert_kept(GOLDEN, text)

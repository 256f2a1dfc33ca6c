"""What ``status`` advises while a call is at work: nothing that its lock would refuse."""

import json
import os
from pathlib import Path

import pytest

from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.scope import CallScope
from tests.controller.support import Person, configure, execute, leaf, open_at, put_plan
from tests.support import commit
from tests.trial.program import Trial

HERE = f"execute (process {os.getpid()})"
LEFT, AFTER = f"left to {HERE}", f"once {HERE} has ended"


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A question, a decision and a change to land, each in a worktree of its own, and two ready tasks."""
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__worktrees="true")
    put_plan(
        repo,
        leaf("asks", "ask tone Which? | kind | brief"),
        leaf("broken", "write b.txt one\nfail 3"),
        leaf("y"),
        leaf("z"),
    )
    execute(repo, Person(), "asks")
    configure(repo, execution__stopAfterEachTask="true")
    execute(repo, Person(), "broken")
    return Trial(repo)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("scope", "y", "z"),
    [
        (CallScope(), LEFT, LEFT),
        (CallScope(only=frozenset([TaskId("y")])), LEFT, AFTER),
        (CallScope(starts_left=1), AFTER, AFTER),
        (CallScope(only=frozenset([TaskId("asks")]), starts_left=0), AFTER, AFTER),
    ],
    ids=["of-all", "of-one", "one-more", "of-another"],  # without the number of this process
)
def test_what_is_ready_is_left_to_the_call_or_waits_for_its_end(
    trial: Trial, scope: CallScope, y: str, z: str
) -> None:
    with hold_controller(open_at(trial.repo), "execute", **scope.told):
        said = trial.expect(0, "status")
        due = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
        shown = trial.expect(0, "show", "y")
    ready = f"  ready: y, z\n      {y}\n" if y == z else f"  ready: y\n      {y}\n  ready: z\n      {z}\n"
    assert ready in said
    assert f"\nready\n  {y}\n" in shown
    assert f"\n      where {HERE} asks, or once that has ended\n" in said
    # Of a failure, the first way on would be a restart.
    assert "\n      git blackbird decide broken\n" in said
    commands = {one["task"]: one["command"] for one in due}
    assert commands == {"asks": None, "broken": "git blackbird decide broken", "y": None, "z": None}


def test_without_a_call_at_work_the_commands_are_there(trial: Trial) -> None:
    said = trial.expect(0, "status")
    assert "\n      git blackbird resume asks" in said
    assert "  ready: y, z\n      git blackbird execute\n" in said
    assert "left to" not in said

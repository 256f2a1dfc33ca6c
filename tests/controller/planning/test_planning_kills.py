"""Planning that is killed at any step: nothing is left at work, and the plan is there whole or not at all."""

import asyncio
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.cli.ui.base import SilentUI
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.planning.session import Planned, PlanSession
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.run.states import RunStatus
from tests.controller.killing import kills
from tests.controller.support import configure, open_at, put_plan, runs_of, store_at
from tests.support import commit


def make_plan(repo: Path, request: str) -> Planned:
    workspace = open_at(repo)
    with hold_controller(workspace, "plan generate"):
        session = PlanSession(workspace, SilentUI(), PlanRequest(PlanKind.GENERATE, request), accepts=True)
        return asyncio.run(session.run())


@pytest.mark.exhaustive
def test_what_a_killed_call_leaves_is_all_or_nothing(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="0")
    put_plan(repo)
    for _ in kills(repo, lambda: make_plan(repo, "- A\n  - B\n  - C\nafter c b")):
        left = store_at(repo).plan().tasks.keys()
        assert left in ({*()}, {"a", "b", "c"})
        assert make_plan(repo, "- D").is_saved
        assert store_at(repo).plan().tasks.keys() == left | {"d"}
        runs = runs_of(repo, PLANNING)
        assert all(run.status is not RunStatus.RUNNING and not signals.marked(run.id) for run in runs)

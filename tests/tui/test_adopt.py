"""What the screen asks before it starts or decides anything where another program did something."""

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from tests.controller.support import (
    Person,
    agree_to_agent,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, write
from tests.tui.driver import drive, is_over, see, wait_for

RUN = "9f86d081884c7d65"
ASKED = ("Let it count?", "Leave it: it does not count")


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    put_plan(repo, leaf("alpha", "write a.txt one"))
    agree_to_agent(repo)
    return repo


@pytest.mark.sampled(1)
@pytest.mark.parametrize("keys", [("enter",), ("down", "enter")])
def test_it_is_asked_before_anything_starts(planned: Path, keys: tuple[str, ...]) -> None:
    takes = len(keys) > 1
    record = {"id": RUN, "taskId": "alpha", "startedAt": "2023-06-28T17:00:00Z", "status": "success"}
    write(planned, {f".blackbird/runs/alpha/{RUN}.json": json.dumps(record)})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "1 run of another program or clone")
        await pilot.press("x")
        await see(app, pilot, f"alpha  run {RUN}", *ASKED)
        await pilot.press(*keys)
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE and is_over(app))

    drive(planned, session)
    assert [run.id == RUN for run in runs_of(planned, "alpha")] == [takes]
    assert (planned / "a.txt").exists() is not takes


def test_it_is_asked_before_a_decision(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned, Person())
    (run,) = runs_of(planned, "alpha")
    copy = open_at(planned).paths.task_copies(run.task_id) / f"{run.id}.json"
    copy.write_text(json.dumps({**json.loads(copy.read_bytes()), "decision_state": "rejected"}))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "1 decision of another program or clone")
        await pilot.press("d")
        await see(app, pilot, f"alpha  decision on run {run.id}, rejected", *ASKED)
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("escape")

    drive(planned, session)
    assert [one.decision_state for one in runs_of(planned, "alpha")] == [DecisionState.PENDING]

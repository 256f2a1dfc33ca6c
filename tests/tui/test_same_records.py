"""What is decided on the screen leaves the records that the same decisions leave through any other face."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from git_blackbird.controller.face import LeftOpen
from git_blackbird.model.choices import Decision
from git_blackbird.model.run import Run
from git_blackbird.tui.app import BlackbirdApp
from tests.controller.support import (
    APPROVE,
    QUIT,
    REJECT,
    Person,
    changes,
    configure,
    execute,
    leaf,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git
from tests.tui.driving import drive, wait_for

TASKS = (
    leaf("alpha", "write a.txt one\nsay Written.\non-feedback write a.txt two"),
    leaf("beta", "ask tone Which? | kind | brief\nanswered tone b.txt"),
    leaf("gamma", "fail 3", deps=["beta"]),
)
# What no two runs share: names, times, processes, places, and what is made of them.
OWN = frozenset(
    [
        "id",
        "started_at",
        "completed_at",
        "stdout",
        "stderr",
        "decision_requested_at",
        "decision_resolved_at",
        "pid",
        "process_identity",
        "provider_session_ref",
        "resumes",
        "repo_root",
        "head_commit",
        "superseded_at",
        "prompt",
        "raw_totals",
        "unknown",
    ]
)
KEYS: dict[object, tuple[str, ...]] = {
    APPROVE: ("1", "enter"),
    QUIT: ("2", "enter"),
    REJECT: ("4", "enter"),
    LeftOpen(): ("escape",),
}
Answers = Sequence[Decision | LeftOpen | Mapping[str, str]]
SCENARIOS: tuple[Answers, ...] = (
    (APPROVE, {"tone": "brief"}, APPROVE, APPROVE),
    (QUIT,),
    (REJECT,),
    (LeftOpen(),),
    (changes("Say two."), APPROVE, LeftOpen()),
    (APPROVE, {"tone": "kind"}, changes("Again."), REJECT),
)


def keys_for(answer: Decision | LeftOpen | Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(answer, Mapping):
        return ("1" if answer["tone"] == "kind" else "2", "enter")
    if isinstance(answer, Decision) and answer.feedback is not None:
        return ("3", "enter", *answer.feedback, "ctrl+s")
    return KEYS[answer]


def prepared(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, {"README.md": "# Here\n"})
    configure(place, agent="demo", execution__stopAfterEachTask="true")
    put_plan(place, *TASKS)
    return place


def shared(run: Run) -> dict[str, Any]:
    return {one.name: getattr(run, one.name) for one in fields(run) if one.name not in OWN}


def records(repo: Path) -> dict[str, Any]:
    return {
        task.id: (status(repo, task.id), [shared(run) for run in runs_of(repo, task.id)]) for task in TASKS
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_records_are_the_same(tmp_path: Path, scenario: Answers) -> None:
    scripted, typed = prepared(tmp_path / "scripted"), prepared(tmp_path / "typed")
    decisions = [one for one in scenario if isinstance(one, Decision)]
    opens = [one for one in scenario if isinstance(one, LeftOpen)]
    last_asks = scenario[-1] in opens and len(scenario) > 1
    person = Person(
        decisions=[*decisions, *([] if last_asks else opens)],
        answers=[*(one for one in scenario if isinstance(one, Mapping)), *(opens if last_asks else [])],
    )
    execute(scripted, person)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        for answer in scenario:
            await wait_for(pilot, lambda: app.screen is not app.main)
            asked = app.screen
            await pilot.press(*keys_for(answer))
            await wait_for(pilot, lambda asked=asked: asked not in app.screen_stack)  # type: ignore[misc]
        await wait_for(pilot, lambda: not app.runner.is_busy)

    drive(typed, session)
    assert records(typed) == records(scripted)

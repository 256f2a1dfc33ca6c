"""Decisions on the screen leave the same records as through any other user interface."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.model.run.run import Run
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    changes,
    configure,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
    with_no_screen,
)
from tests.support import commit, git
from tests.tui.at_screen import on_screen

TASKS = (
    leaf("alpha", "write a.txt one\nsay Written.\non-feedback write a.txt two"),
    leaf("beta", "ask tone Which? | kind | brief\nask name Whose?\nanswered tone b.txt"),
    leaf("gamma", "fail 3", deps=["beta"]),
)
# What differs between any two runs: ids, times, processes, paths, and what contains them.
OWN = frozenset(
    [
        "id",
        "startedAt",
        "completedAt",
        "stdout",
        "stderr",
        "decision_requested_at",
        "decision_resolved_at",
        "provider_session_ref",
        "repo_root",
        "blackbird.process",
        "blackbird.resumes",
        "blackbird.start_commit",
        "blackbird.status_since",
        "blackbird.superseded_at",
        "blackbird.task_since",
        "blackbird.prompt",
        "blackbird.raw_totals",
    ]
)


def prepared(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, {"README.md": "# Here\n"})
    configure(place, agent="demo", execution__stopAfterEachTask="true")
    put_plan(place, *TASKS)
    return place


def shared(run: Run) -> dict[str, Any]:
    return dict(_fields("", run.to_json()))


def _fields(above: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in part.items():
        if f"{above}{name}" in OWN:
            continue
        if isinstance(value, dict) and name == "blackbird":
            yield from _fields(f"{above}{name}.", value)
        else:
            yield f"{above}{name}", value


def records(repo: Path) -> dict[str, Any]:
    return {
        task.id: (status(repo, task.id), [shared(run) for run in runs_of(repo, task.id)]) for task in TASKS
    }


def test_the_records_are_the_same(tmp_path: Path) -> None:
    places = {with_no_screen: prepared(tmp_path / "scripted"), on_screen: prepared(tmp_path / "typed")}
    for stage, place in places.items():
        person = Person(
            [changes("Say: two.\n\n  (2)"), APPROVE, changes("Again."), APPROVE, REJECT],
            [{"tone": "brief", "name": "Ada's"}, {"tone": "kind", "name": "x"}],
        )
        stage(open_at(place), person, lambda workspace, ui: execute_loop(workspace, ui, (), None))
        assert not person.decisions
    scripted, typed = map(records, places.values())
    assert typed == scripted

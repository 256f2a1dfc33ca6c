"""The newest records over all tasks, found by their ids and the times of folders."""

import os
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import RunId, TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.run.history import NO_HISTORY
from git_blackbird.model.run.states import PROGRAM
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import RunStore, render_record
from tests.records import run_of
from tests.storage.building import make_layout

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
NOW = START + 10_000 * SECOND


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


def put(paths: Paths, task: str, seconds: int, run_id: str | None = None) -> RunId:
    """A record that started then, in a folder that last changed then."""
    moment = START + seconds * SECOND
    named = RunId(run_id) if run_id else build_run_id(moment, 0)
    run = run_of(id=named, taskId=task, startedAt=format_timestamp(moment), program=PROGRAM, status="success")
    path = paths.record(TaskId(task), named)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_record(run))
    os.utime(path, ns=(moment, moment))
    os.utime(path.parent, ns=(moment, moment))
    return named


def newest(paths: Paths, limit: int) -> list[str]:
    found = RunStore(paths).recent(limit, NOW)
    assert found.faults == ()
    return [run.id for run in reversed(found.runs)]


def test_the_newest_come_first_whatever_folder_they_are_in(paths: Paths) -> None:
    made = [put(paths, f"t{number % 7}", number) for number in range(50)]
    for limit in (1, 7, 20, 49, 50, 1000):
        assert newest(paths, limit) == made[::-1][:limit]


def test_records_of_the_go_program_are_placed_by_the_time_of_their_file(paths: Paths) -> None:
    first = put(paths, "a", 1)
    random_id = put(paths, "b", 2, "ffffffffffffffff")
    last = put(paths, "c", 3)
    assert newest(paths, 3) == [last, random_id, first]
    assert newest(paths, 2) == [last, random_id]


def test_an_old_folder_that_changed_lately_is_looked_into(paths: Paths) -> None:
    put(paths, "a", 1)
    newer = put(paths, "a", 90)
    other = put(paths, "b", 50)
    assert newest(paths, 2) == [newer, other]


def test_a_file_that_is_no_record_is_named(paths: Paths) -> None:
    made = put(paths, "a", 1)
    broken = paths.task_runs(TaskId("a")) / "broken.json"
    broken.write_text("{")
    found = RunStore(paths).recent(20, NOW)
    assert [run.id for run in found.runs] == [made]
    assert [fault.path for fault in found.faults] == [str(broken)]


def test_there_is_nothing_where_nothing_ran(paths: Paths) -> None:
    assert RunStore(paths).recent(20, NOW) == NO_HISTORY
    paths.private.mkdir(parents=True)
    paths.runs.write_text("a file")
    assert RunStore(paths).recent(20, NOW) == NO_HISTORY

"""The newest records over all tasks, found by their ids and the times of folders."""

import os
from pathlib import Path

import pytest

from git_blackbird.model.ids import RunId, TaskId, build_run_id
from git_blackbird.model.recorded import parse_part
from git_blackbird.model.run import RECORDER, Run
from git_blackbird.model.timestamps import format_timestamp
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.newest import load_newest
from git_blackbird.storage.records import render_record
from tests.storage.building import make_layout

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
NOW = START + 10_000 * SECOND


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return make_layout(tmp_path)


def put(layout: Layout, task: str, seconds: int, run_id: str | None = None) -> RunId:
    """A record that started then, in a folder that last changed then."""
    moment = START + seconds * SECOND
    named = RunId(run_id) if run_id else build_run_id(moment, 0)
    run = parse_part(
        Run,
        {
            "id": named,
            "taskId": task,
            "startedAt": format_timestamp(moment),
            "recorder": RECORDER,
            "status": "success",
        },
    )
    path = layout.record(TaskId(task), named)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_record(run))
    os.utime(path, ns=(moment, moment))
    os.utime(path.parent, ns=(moment, moment))
    return named


def newest(layout: Layout, limit: int) -> list[str]:
    runs, faults, _ = load_newest(layout, limit, NOW)
    assert faults == []
    return [run.id for run in runs]


def test_the_newest_come_first_whatever_folder_they_are_in(layout: Layout) -> None:
    made = [put(layout, f"t{number % 7}", number) for number in range(50)]
    for limit in (1, 7, 20, 49, 50, 1000):
        assert newest(layout, limit) == made[::-1][:limit]


def test_records_of_the_go_program_are_placed_by_the_time_of_their_file(layout: Layout) -> None:
    first = put(layout, "a", 1)
    random_id = put(layout, "b", 2, "ffffffffffffffff")
    last = put(layout, "c", 3)
    assert newest(layout, 3) == [last, random_id, first]
    assert newest(layout, 2) == [last, random_id]


def test_an_old_folder_that_changed_lately_is_looked_into(layout: Layout) -> None:
    put(layout, "a", 1)
    newer = put(layout, "a", 90)
    other = put(layout, "b", 50)
    assert newest(layout, 2) == [newer, other]


def test_a_file_that_is_no_record_is_named(layout: Layout) -> None:
    made = put(layout, "a", 1)
    broken = layout.task_runs(TaskId("a")) / "broken.json"
    broken.write_text("{")
    runs, faults, _ = load_newest(layout, 20, NOW)
    assert [run.id for run in runs] == [made]
    assert [fault.path for fault in faults] == [str(broken)]


def test_there_is_nothing_where_nothing_ran(layout: Layout) -> None:
    assert load_newest(layout, 20, NOW) == ([], [], [])
    layout.state.mkdir()
    layout.runs.write_text("a file")
    assert load_newest(layout, 20, NOW) == ([], [], [])

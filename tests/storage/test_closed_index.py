"""The index of closed tasks: it spares reading their records, and nothing it says outlives a change."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import RunId, TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.entities.history import Histories
from git_blackbird.model.entities.run import RECORDER, Run, RunFields, RunStatus
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.record_file import render_record
from git_blackbird.storage.records import RunStore
from tests.storage.building import make_layout

TASKS = [TaskId(f"t{number:03}") for number in range(220)]
BEGAN = 1_767_323_045 * 10**9


def record(task_id: TaskId, number: int, **fields: object) -> Run:
    moment = BEGAN + number * 10**9
    run = Run(
        id=build_run_id(moment, 0),
        task_id=task_id,
        started_at=format_timestamp(moment),
        status=RunStatus.SUCCESS,
        recorder=RECORDER,
    )
    return run.with_fields(RunFields(**fields))  # type: ignore[arg-type]


def save(paths: Paths, run: Run) -> Path:
    path = paths.record(run.task_id, run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_record(run))
    return path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many tasks that are done, each by the second of two records."""
    paths = make_layout(tmp_path_factory.mktemp("template"))
    for task_id in TASKS:
        for number in range(2):
            save(paths, record(task_id, number))
    return paths.state_root


@pytest.fixture
def paths(template: Path, tmp_path: Path) -> Paths:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    paths = Paths(tmp_path, tmp_path / ".git" / "blackbird")
    # What changed just now may change again within the same time.
    time.sleep(0.15)
    RunStore(paths).histories_kept()
    assert paths.closed_records.exists()
    return paths


def records_opened(work: Callable[[], object]) -> int:
    opened = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal opened
        if is_counting and event == "open" and str(arguments[0]).endswith(".json"):
            opened += 1

    is_counting = True
    sys.addaudithook(count)
    work()
    is_counting = False
    return opened


def facts(histories: Histories) -> dict[TaskId, object]:
    return {
        task_id: (one.recent, one.faults, one.unconfirmed, one.runs, task_id in histories.open)
        for task_id, one in histories.items()
    }


def facts_without(paths: Paths) -> dict[TaskId, object]:
    """What is read where there is no index."""
    aside = paths.closed_records.rename(paths.private / "aside")
    read = facts(RunStore(paths).histories())
    aside.rename(paths.closed_records)
    return read


def test_records_of_closed_tasks_are_read_when_they_are_asked_for(paths: Paths) -> None:
    store = RunStore(paths)
    assert records_opened(lambda: store.histories().open) == 1  # the index
    histories = store.histories()
    assert records_opened(lambda: histories[TASKS[3]].latest) == 1
    assert facts(histories) == facts_without(paths)


def test_few_tasks_need_no_index(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    save(paths, record(TASKS[0], 0))
    RunStore(paths).histories_kept()
    assert not paths.closed_records.exists()


def test_a_record_that_is_rewritten_in_place_is_read_again(paths: Paths) -> None:
    run = record(TASKS[5], 1)
    path = paths.record(run.task_id, run.id)
    before = path.stat()
    data = path.read_bytes().replace(b'"success"', b'"running"')
    with path.open("r+b") as file:
        file.write(data)
    # As far as a program can make the file look the same.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    histories = RunStore(paths).histories()
    assert [*histories.open] == [run.task_id]
    assert histories[run.task_id].recent[-1].status is RunStatus.RUNNING


def test_what_may_change_again_unseen_is_not_in_the_index(template: Path, tmp_path: Path) -> None:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    paths = Paths(tmp_path, tmp_path / ".git" / "blackbird")
    # By a clock that is ahead it changes within the time of the look.
    ahead = time.time_ns() + 10**10
    os.utime(paths.record(TASKS[7], record(TASKS[7], 1).id), ns=(ahead, ahead))
    time.sleep(0.15)
    RunStore(paths).histories_kept()
    assert records_opened(RunStore(paths).histories) == 2  # the index, and that record


def test_a_copied_tree_is_read_again(paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(paths.state_root, copy, dirs_exist_ok=True)
    store = RunStore(Paths(copy, copy / ".git" / "blackbird"))
    assert records_opened(store.histories) >= len(TASKS)


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"0.0.0" + data[5:], lambda _: b""])
def test_an_index_that_is_torn_or_of_another_version_says_nothing(
    paths: Paths, damage: Callable[[bytes], bytes]
) -> None:
    paths.closed_records.write_bytes(damage(paths.closed_records.read_bytes()))
    store = RunStore(paths)
    assert records_opened(store.histories) >= len(TASKS)
    assert facts(store.histories()) == facts_without(paths)


def _rewrite(paths: Paths, task_id: TaskId) -> None:
    save(paths, record(task_id, 1, status=RunStatus.FAILED))


def _replace(paths: Paths, task_id: TaskId) -> None:
    path = paths.record(task_id, record(task_id, 1).id)
    other = path.with_name("new")
    other.write_bytes(render_record(record(task_id, 1, status=RunStatus.PAUSED)))
    other.rename(path)


def _add(paths: Paths, task_id: TaskId) -> None:
    save(paths, record(task_id, 2, status=RunStatus.RUNNING))


def _add_by_go(paths: Paths, task_id: TaskId) -> None:
    run = record(task_id, 2).with_fields(RunFields(id=RunId("f" * 16), status=RunStatus.FAILED))
    save(paths, run)


def _break(paths: Paths, task_id: TaskId) -> None:
    paths.record(task_id, record(task_id, 1).id).write_text("{")


def _remove(paths: Paths, task_id: TaskId) -> None:
    paths.record(task_id, record(task_id, 1).id).unlink(missing_ok=True)


def _remove_all(paths: Paths, task_id: TaskId) -> None:
    shutil.rmtree(paths.task_runs(task_id))


def _move_in(paths: Paths, task_id: TaskId) -> None:
    """Put the records of another task in the place of these."""
    shutil.rmtree(paths.task_runs(task_id))
    shutil.copytree(paths.task_runs(TASKS[0]), paths.task_runs(task_id))


def _link(paths: Paths, task_id: TaskId) -> None:
    """Replace the folder by a link to one elsewhere in the worktree."""
    folder = paths.task_runs(task_id)
    folder.rename(paths.state_root / f"moved-{task_id}")
    folder.symlink_to(paths.state_root / f"moved-{task_id}")


CHANGES = (_rewrite, _replace, _add, _add_by_go, _break, _remove, _remove_all, _move_in, _link)


STEPS = st.dictionaries(st.sampled_from(range(1, 12)), st.sampled_from(CHANGES), max_size=6)


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(STEPS, min_size=1, max_size=3))
def test_with_the_index_everything_is_read_as_without(
    template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[dict[int, Callable[[Paths, TaskId], None]]],
) -> None:
    place = tmp_path_factory.mktemp("any")
    shutil.copytree(template, place, dirs_exist_ok=True)
    paths = Paths(place, place / ".git" / "blackbird")
    time.sleep(0.11)
    RunStore(paths).histories_kept()
    for number, step in enumerate(steps):
        for task, change in step.items():
            change(paths, TASKS[number * 20 + task])
        assert facts(RunStore(paths).histories_kept()) == facts_without(paths)

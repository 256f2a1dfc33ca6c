"""The notes on who wrote which record: no crash makes a record of ours a stranger's."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.entities.run import RECORDER, Run, RunFields, RunStatus
from git_blackbird.storage.ledger import WatchEnd
from git_blackbird.storage.record_file import render_record
from git_blackbird.storage.store import Store
from tests.controller.killing import run_killed
from tests.storage.building import STAMP, make_layout

T, OTHER = TaskId("t"), TaskId("other")
RUN = Run(id=RunId("0000000000000001"), task_id=T, started_at=STAMP, status=RunStatus.RUNNING)
EARLIER = RUN.with_fields(RunFields(id=RunId("0000000000000000"), task_id=OTHER, status=RunStatus.SUCCESS))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(make_layout(tmp_path))
    with store.transaction() as transaction:
        transaction.save_plan(Plan())
        transaction.save_run(EARLIER)
    return store


def begin(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.save_run(RUN)
        transaction.begin_watch(RUN)


def end(store: Store) -> WatchEnd | None:
    with store.transaction() as transaction:
        return transaction.end_watch(None)


def work(store: Store) -> None:
    begin(store)
    with store.transaction() as transaction:
        transaction.save_run(EARLIER.with_fields(RunFields(error="one")))
        transaction.save_run(EARLIER.with_fields(RunFields(error="two")))
        transaction.save_run(RUN.with_fields(RunFields(status=RunStatus.SUCCESS)))
    assert end(store) == WatchEnd()


def test_what_our_commands_write_is_known_after_a_kill_at_any_step(store: Store, tmp_path: Path) -> None:
    step, killed = 1, True
    while killed:
        place = tmp_path / f"step-{step}"
        place.mkdir()
        paths = make_layout(place)
        shutil.copytree(store.paths.state_root, paths.state_root, dirs_exist_ok=True)
        killed = run_killed(lambda paths=paths: work(Store(paths)), step)  # type: ignore[misc]
        reader = Store(paths)
        for task_id in (T, OTHER):
            history = reader.records.history(task_id)
            assert (history.faults, history.unconfirmed) == ((), ())
        found = end(reader)
        assert found is None or (found.unconfirmed, found.rewritten) == ((), ())
        step += 1
    assert step > 8


def test_what_a_crash_cut_off_in_the_notes_is_passed_over(store: Store) -> None:
    begin(store)
    with store.paths.written_records.open("ab") as log:
        log.write(b'["half of a dig')
    with store.transaction() as transaction:
        transaction.save_run(EARLIER.with_fields(RunFields(error="one")))
    assert Store(store.paths).records.history(OTHER).runs[0].error == "one"
    assert end(store) == WatchEnd()


def test_a_file_whose_name_is_no_utf8_unsettles_nothing(store: Store) -> None:
    folder = os.fsencode(store.paths.task_runs(OTHER))
    Path(os.fsdecode(folder + b"/\xff.json")).write_bytes(b"{}")
    begin(store)
    record = store.paths.record(OTHER, EARLIER.id)
    record.write_bytes(render_record(EARLIER.with_fields(RunFields(error="forged"))))
    found = end(store)
    assert found is not None
    assert [fault.path for fault in found.rewritten] == [str(record)]


def test_an_earlier_state_of_a_record_that_was_saved_again_is_not_ours_any_more(store: Store) -> None:
    begin(store)
    path = store.paths.record(OTHER, EARLIER.id)
    first = path.read_bytes()
    for word in ("one", "two"):
        with store.transaction() as transaction:
            transaction.save_run(EARLIER.with_fields(RunFields(error=word)))
    path.write_bytes(first)
    (fault,) = Store(store.paths).records.history(OTHER).faults
    assert fault.path == str(path)
    found = end(store)
    assert found is not None
    assert found.rewritten == (fault,)


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder moved in", "pipe"])
def test_a_new_file_of_any_kind_counts_for_nothing(store: Store, tmp_path: Path, kind: str) -> None:
    prepared = tmp_path / "new"
    prepared.mkdir()
    source = store.paths.record(OTHER, EARLIER.id)
    shutil.copy2(source, prepared / source.name)
    begin(store)
    folder = store.paths.task_runs(TaskId("new"))
    if kind == "folder moved in":
        prepared.rename(folder)
    else:
        folder.mkdir()
        new = folder / source.name
        match kind:
            case "file":
                shutil.copy2(source, new)
            case "pipe":
                os.mkfifo(new)
            case _:
                new.symlink_to(source if kind == "link" else "nowhere")
    for _ in range(2):
        history = Store(store.paths).records.history(TaskId("new"))
        assert (history.runs, history.faults) == ((), ())
        assert [one.path for one in history.unconfirmed] == [str(folder / source.name)]
        end(store)


@pytest.mark.parametrize("kind", ["moved", "linked"])
def test_a_folder_made_before_the_run_replaces_no_records(store: Store, kind: str) -> None:
    folder = store.paths.task_runs(OTHER)
    prepared = store.paths.state_root / "prepared"
    prepared.mkdir()
    forged = render_record(EARLIER.with_fields(RunFields(error="forged")))
    (prepared / f"{EARLIER.id}.json").write_bytes(forged)
    # Older than what is looked at again in any case.
    time.sleep(2.5)
    begin(store)
    shutil.rmtree(folder)
    if kind == "moved":
        prepared.rename(folder)
    else:
        folder.symlink_to(prepared)
    for _ in range(2):
        history = Store(store.paths).records.history(OTHER)
        assert (history.runs, len(history.faults)) == ((), 1)
        end(store)


def test_a_file_that_counts_for_nothing_stops_no_task_when_it_is_written_again(store: Store) -> None:
    begin(store)
    new = store.paths.record(OTHER, RunId("f" * 16))
    new.write_text("{}")
    end(store)
    begin(store)
    new.write_text("[]")
    assert Store(store.paths).records.history(OTHER).faults == ()
    end(store)
    assert [one.path for one in Store(store.paths).records.history(OTHER).unconfirmed] == [str(new)]
    new.unlink()
    assert Store(store.paths).records.history(OTHER).unconfirmed == ()


MANY = TaskId("many")
# More than a few runs that take no time look at.
RECORDS = [f"{number:016x}.json" for number in range(2500)]


@pytest.fixture
def large(store: Store) -> Store:
    folder = store.paths.task_runs(MANY)
    folder.mkdir()
    for name in RECORDS:
        (folder / name).write_text("{}")
    time.sleep(0.15)
    return store


def turn(store: Store, run: Run = RUN) -> WatchEnd | None:
    """Close a run after which another may follow at once."""
    with store.transaction() as transaction:
        transaction.save_run(run.with_fields(RunFields(status=RunStatus.SUCCESS)))
        return transaction.pause_watch(run)


def folders_listed(work: Callable[[], object]) -> set[str]:
    listed: list[str] = []

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if is_counting and event in {"os.listdir", "os.scandir"}:
            listed.append(str(arguments[0]))

    is_counting = True
    sys.addaudithook(count)
    work()
    is_counting = False
    return set(listed)


def test_a_run_that_another_may_follow_looks_at_no_other_records_if_they_are_many(large: Store) -> None:
    begin(large)
    second = RUN.with_fields(RunFields(id=RunId("0000000000000002")))
    with large.transaction() as transaction:
        assert folders_listed(lambda: transaction.pause_watch(RUN)) == set()
        transaction.save_run(second)
        assert folders_listed(lambda: transaction.begin_watch(second)) == set()
        assert str(large.paths.runs) in folders_listed(lambda: transaction.end_watch(None))


def test_what_one_of_many_runs_wrote_counts_for_nothing_at_any_time(large: Store) -> None:
    second = RUN.with_fields(RunFields(id=RunId("0000000000000002")))
    begin(large)
    path, new = large.paths.record(OTHER, EARLIER.id), large.paths.record(TaskId("new"), EARLIER.id)
    path.write_bytes(render_record(EARLIER.with_fields(RunFields(error="forged"))))
    time.sleep(0.15)
    assert turn(large) == WatchEnd()
    (fault,) = Store(large.paths).records.history(OTHER).faults
    assert str(RUN.id) in fault.what
    with large.transaction() as transaction:
        transaction.save_run(second)
        transaction.begin_watch(second)
    new.parent.mkdir()
    new.write_text("{}")
    (large.paths.task_runs(MANY) / RECORDS[0]).unlink()
    assert turn(large, second) == WatchEnd()
    assert Store(large.paths).records.history(OTHER).faults == (fault,)
    found = end(large)
    assert found is not None
    assert (found.rewritten, [one.run_id for one in found.unconfirmed]) == ((fault,), [second.id])
    assert found.removed == (str(large.paths.task_runs(MANY) / RECORDS[0]),)
    assert Store(large.paths).records.history(OTHER).faults == (fault,)
    assert Store(large.paths).records.history(TaskId("new")).runs == ()


def test_a_kill_after_the_first_of_many_runs_forgets_nothing(large: Store) -> None:
    begin(large)
    path = large.paths.record(OTHER, EARLIER.id)
    path.write_bytes(render_record(EARLIER.with_fields(RunFields(error="forged"))))
    turn(large)
    found = end(Store(large.paths))
    assert found is not None
    assert [fault.path for fault in found.rewritten] == [str(path)]


def begin_run(store: Store, number: int) -> Run:
    run = RUN.with_fields(RunFields(id=RunId(f"{number:016x}")))
    with store.transaction() as transaction:
        transaction.save_run(run)
        transaction.begin_watch(run)
    return run


def test_after_enough_runs_all_records_are_looked_at(large: Store) -> None:
    for number in range(1, 55):
        assert turn(large, begin_run(large, number)) == WatchEnd()
        if not large.ledger.is_watching():
            break
    # Each pays for fifty of the records.
    assert number == len(RECORDS) // 50 + 1


def test_a_run_that_took_long_looks_at_all_records(large: Store) -> None:
    run = begin_run(large, 1).with_fields(RunFields(completed_at=STAMP.replace("00Z", "03Z")))
    assert turn(large, run) == WatchEnd()
    assert not large.ledger.is_watching()


def test_while_runs_follow_only_what_is_noted_or_open_is_read_again(large: Store) -> None:
    done = EARLIER.with_fields(RunFields(task_id=TaskId("done"), recorder=RECORDER))
    with large.transaction() as transaction:
        transaction.save_run(done)
        transaction.save_run(done.with_fields(RunFields(task_id=OTHER)))
    # A folder that changed just now is read each time.
    time.sleep(0.05)
    run = begin_run(large, 1)
    with large.transaction() as transaction:
        assert {task for task, history in transaction.state().histories.items() if history.is_closed} == {
            OTHER,
            TaskId("done"),
        }
    forged = large.paths.record(TaskId("done"), EARLIER.id)
    forged.write_bytes(render_record(done.with_fields(RunFields(error="forged"))))
    with large.transaction() as transaction:
        transaction.save_run(done.with_fields(RunFields(task_id=OTHER, error="ours")))
    turn(large, run)
    with large.transaction() as transaction:
        histories = transaction.state().histories
        listed = folders_listed(transaction.state)
    assert histories[OTHER].recent[-1].error == "ours"
    assert histories[TaskId("done")].recent == (done,)
    assert str(large.paths.runs) not in listed
    end(large)
    with large.transaction() as transaction:
        (fault,) = transaction.state().histories[TaskId("done")].faults
    assert fault.path == str(forged)

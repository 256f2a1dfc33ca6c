"""The notes on who wrote which record: no crash makes a record of ours a stranger's."""

import os
import shutil
import time
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.entities.run import Run, RunFields, RunStatus
from git_blackbird.storage.ledger import WatchEnd
from git_blackbird.storage.records import render_record
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

"""The copies below ``.blackbird/``: written, compared, and what came from elsewhere is history."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.base.ids import RunId, TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp, parse_timestamp
from git_blackbird.model.run.history import History
from git_blackbird.model.run.provenance import NOTHING_BESIDE, StaleCopy
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, DecisionState, RunStatus
from git_blackbird.storage.copies import MAX_FOREIGN_FILES, move_log
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store
from tests.records import run_of
from tests.storage.building import make_layout
from tests.support import hold_none, redact_none

T = TaskId("t1")


def run_at(minute: int, **fields: Any) -> Run:
    moment = parse_timestamp(f"2026-01-02T{minute // 60:02}:{minute % 60:02}:00Z")
    whole = {"id": build_run_id(moment, 0), "taskId": T, "startedAt": format_timestamp(moment)}
    return run_of(**{**whole, "status": "success", "program": PROGRAM, **fields})


PENDING = run_at(10).awaiting_decision("2026-01-02T00:10:00Z")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


def save(paths: Paths, *runs: Run) -> Store:
    store = Store(paths, hold_none, redact_none)
    with store.transaction() as transaction:
        for run in runs:
            transaction.save_run(run)
    return store


def copy_of(paths: Paths, run: Run) -> Path:
    return paths.copy_of(paths.record(T, run.id))


def bring(paths: Paths, run: Run) -> Path:
    """Put a record among the copies as another program does."""
    path = copy_of(paths, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run.to_json()))
    return path


def history(paths: Paths) -> History:
    return Store(paths, hold_none, redact_none).records.history(T)


def shown(paths: Paths, run: Run) -> str:
    return str(copy_of(paths, run).relative_to(paths.state_root))


def test_a_copy_is_the_record_with_its_time(paths: Paths) -> None:
    save(paths, PENDING)
    record, copy = paths.record(T, PENDING.id), copy_of(paths, PENDING)
    assert copy.read_bytes() == record.read_bytes()
    assert copy.stat().st_mtime_ns == record.stat().st_mtime_ns
    assert copy.stat().st_mode & 0o777 == 0o600
    assert history(paths).beside == NOTHING_BESIDE


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda copy: copy.unlink(), "removed"),
        (lambda copy: copy.write_text("{}"), "changed"),
        (lambda copy: os.truncate(copy, 0), "changed"),
    ],
)
def test_what_is_no_longer_as_it_was_is_named_and_written_again(
    paths: Paths, harm: Callable[[Path], object], what: str
) -> None:
    store = save(paths, PENDING)
    copy = copy_of(paths, PENDING)
    harm(copy)
    stale = (StaleCopy(shown(paths, PENDING), what),)
    found = history(paths)
    assert (found.beside.stale, found.faults) == (stale, ())
    with store.transaction() as transaction:
        assert transaction.restore_copies() == stale
        assert transaction.restore_copies() == ()
    assert copy.read_bytes() == paths.record(T, PENDING.id).read_bytes()


def test_another_time_alone_is_no_change(paths: Paths) -> None:
    save(paths, PENDING)
    os.utime(copy_of(paths, PENDING), ns=(1, 1))
    assert history(paths).beside == NOTHING_BESIDE


def test_an_unusable_record_does_not_replace_its_copy(paths: Paths) -> None:
    store = save(paths, PENDING)
    before = copy_of(paths, PENDING).read_bytes()
    paths.record(T, PENDING.id).write_text("{")
    with store.transaction() as transaction:
        transaction.restore_copies()
    assert copy_of(paths, PENDING).read_bytes() == before


def test_what_is_from_elsewhere_is_history(paths: Paths) -> None:
    later = run_at(20)
    bring(paths, later)
    found = history(paths)
    assert (found.runs, found.beside.foreign, found.faults) == ((), (later,), ())
    assert Store(paths, hold_none, redact_none).records.histories() == {}


def test_one_that_is_older_than_ours_is_history_too(paths: Paths) -> None:
    save(paths, PENDING)
    bring(paths, run_at(5))
    assert (history(paths).beside.foreign, history(paths).faults) == ((run_at(5),), ())


def test_for_one_that_is_newer_the_task_stands_still(paths: Paths) -> None:
    save(paths, PENDING)
    later = run_at(20)
    path = bring(paths, later)
    (fault,) = history(paths).faults
    assert (fault.path, fault.what) == (
        str(path),
        f"run {later.id} is from elsewhere, and newer than the runs here",
    )
    assert [line.command for line in fault.ways_out] == [
        f"git blackbird runs t1 --accept {later.id}",
        f"mv -i {path} {paths.state}/{path.name}.set-aside",
    ]


@pytest.mark.parametrize("state", [state for state in DecisionState if state is not DecisionState.PENDING])
def test_for_a_decision_on_a_copy_alone_the_task_stands_still(paths: Paths, state: DecisionState) -> None:
    store = save(paths, PENDING)
    path = bring(paths, PENDING.updated(decision_state=state))
    before = path.read_bytes()
    (fault,) = history(paths).faults
    assert fault.what == f"the decision on run {PENDING.id} is there alone: {state.value}"
    with store.transaction() as transaction:
        assert transaction.restore_copies() == ()
    assert path.read_bytes() == before


def test_a_decision_on_what_was_asked_before_decides_nothing(paths: Paths) -> None:
    save(paths, PENDING.awaiting_decision("2026-01-02T00:12:00Z"))
    bring(paths, PENDING.updated(decision_state=DecisionState.APPROVED_QUIT))
    found = history(paths)
    assert (found.faults, [copy.what for copy in found.beside.stale]) == ((), ["changed"])


def test_an_older_state_of_a_copy_decides_nothing(paths: Paths) -> None:
    decided = PENDING.updated(decision_state=DecisionState.REJECTED)
    save(paths, decided)
    bring(paths, PENDING)
    found = history(paths)
    assert (found.faults, [copy.what for copy in found.beside.stale]) == ((), ["changed"])


def test_of_many_files_the_last_are_read_and_all_are_counted(paths: Paths) -> None:
    for minute in range(MAX_FOREIGN_FILES + 50):
        os.utime(bring(paths, run_at(minute)), ns=(minute, minute))
    beside = history(paths).beside
    assert (len(beside.foreign), beside.unread, beside.total) == (MAX_FOREIGN_FILES, 50, 150)
    assert beside.foreign[0] == run_at(50)


def test_what_is_no_record_is_named_and_nothing_else_of_it_is_read(paths: Paths) -> None:
    folder = paths.task_copies(T)
    folder.mkdir(parents=True)
    for name, data in (("a.json", b"{"), ("notes.txt", b"x"), ("other.json", b'{"id": "y"}')):
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("/dev/zero")
    (folder / "folder.json").mkdir()
    with (folder / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    names = ["a.json", "large.json", "notes.txt", "other.json"]
    assert history(paths).beside.strays == tuple(f".blackbird/runs/t1/{name}" for name in names)


@pytest.mark.parametrize("place", [".blackbird", ".blackbird/runs", ".blackbird/runs/t1", ".blackbird/tmp"])
@pytest.mark.parametrize("obstacle", ["link", "file"])
def test_a_copy_that_cannot_be_written_is_no_error(
    paths: Paths, tmp_path: Path, place: str, obstacle: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = paths.state_root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if obstacle == "link":
        path.symlink_to(elsewhere)
    else:
        path.write_text("mine")
    store = save(paths, PENDING)
    what = "a symbolic link" if obstacle == "link" else "a file"
    assert store.copies.faults == {copy_of(paths, PENDING): f"{path} is {what}, not a folder"}
    assert store.records.history(T).runs == (PENDING,)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_log_moves_once_its_run_has_ended(paths: Paths, is_there: bool) -> None:
    stream, log = paths.logs(T, RunId("r"), "stdout")
    stream.parent.mkdir(parents=True)
    if is_there:
        stream.write_text("said")
    move_log(paths, stream, log)
    assert (stream.exists(), log.exists()) == (False, is_there)


def test_a_log_stays_where_its_place_is_taken(paths: Paths, tmp_path: Path) -> None:
    stream, log = paths.logs(T, RunId("r"), "stdout")
    stream.parent.mkdir(parents=True)
    stream.write_text("said")
    log.parent.parent.mkdir(parents=True)
    log.parent.symlink_to(tmp_path)
    move_log(paths, stream, log)
    assert stream.read_text() == "said"
    assert not (tmp_path / log.name).exists()


def test_runs_of_every_status_are_compared_alike(paths: Paths) -> None:
    runs = [run_at(number, status=status.value) for number, status in enumerate(RunStatus)]
    save(paths, *runs)
    assert history(paths).beside == NOTHING_BESIDE

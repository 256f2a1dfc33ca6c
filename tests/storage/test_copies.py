"""The copies below ``.blackbird/``: what is written, and what there would count if it were adopted."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.base.ids import RunId, TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp, parse_timestamp
from git_blackbird.model.run.history import AdoptableKind
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, DecisionState
from git_blackbird.storage.copies import MAX_FILES_READ, move_log
from git_blackbird.storage.notes import save_answered
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
TASK: dict[str, object] = {
    "id": "t1",
    "title": "T",
    "description": "",
    "acceptanceCriteria": [],
    "prompt": "",
    "parentId": None,
    "childIds": [],
    "deps": [],
    "status": "todo",
    "createdAt": "2026-01-02T03:04:05Z",
    "updatedAt": "2026-01-02T03:04:05Z",
}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = make_layout(tmp_path)
    paths.plan.write_text(json.dumps({"schemaVersion": 1, "items": {"t1": TASK}}))
    return paths


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


def found(paths: Paths) -> list[tuple[AdoptableKind, Run | Feedback]]:
    store = Store(paths, hold_none, redact_none)
    return [(item.kind, item.found) for item in store.unanswered(store.state())]


def test_a_copy_is_the_record_with_its_time(paths: Paths) -> None:
    save(paths, PENDING)
    record, copy = paths.record(T, PENDING.id), copy_of(paths, PENDING)
    assert copy.read_bytes() == record.read_bytes()
    assert copy.stat().st_mtime_ns == record.stat().st_mtime_ns
    assert copy.stat().st_mode & 0o777 == 0o600
    assert found(paths) == []


def test_one_that_is_missing_is_named_and_written_again(paths: Paths) -> None:
    store = save(paths, PENDING)
    with store.transaction() as transaction:
        transaction.save_feedback(T, FEEDBACK)
    assert list(store.copies.missing()) == []
    shutil.rmtree(paths.state)
    assert list(store.copies.missing()) == [paths.feedback_file(T), paths.record(T, PENDING.id)]
    with store.transaction() as transaction:
        transaction.save_run(PENDING)
    assert list(store.copies.missing()) == [paths.feedback_file(T)]
    store.copies.write(paths.feedback_file(T))
    assert list(store.copies.missing()) == []


def test_one_that_was_changed_is_left_alone(paths: Paths) -> None:
    save(paths, PENDING)
    copy_of(paths, PENDING).write_text("mine")
    assert found(paths) == []
    assert list(Store(paths, hold_none, redact_none).copies.missing()) == []


def test_the_newest_run_is_found_where_none_is_known_here(paths: Paths) -> None:
    for minute in (20, 30, 25):
        bring(paths, run_at(minute))
    assert found(paths) == [(AdoptableKind.RUN, run_at(30))]


@pytest.mark.parametrize(("minute", "counts"), [(5, False), (20, True)])
def test_one_is_found_that_began_after_ours(paths: Paths, minute: int, counts: bool) -> None:
    save(paths, PENDING)
    bring(paths, run_at(minute))
    assert found(paths) == ([(AdoptableKind.RUN, run_at(minute))] if counts else [])


@pytest.mark.parametrize(
    "fields", [{"status": "running"}, {"run_type": "spec_review"}, {"run_type": "review"}, {"taskId": "t2"}]
)
def test_what_cannot_count_is_not_found(paths: Paths, fields: dict[str, str]) -> None:
    path = bring(paths, run_at(20))
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))
    assert found(paths) == []


def test_a_task_that_is_done_by_our_records_is_done(paths: Paths) -> None:
    save(paths, run_at(10))
    bring(paths, run_at(20))
    assert found(paths) == []


@pytest.mark.parametrize("state", [state for state in DecisionState if state is not DecisionState.PENDING])
def test_a_decision_on_a_run_of_ours_is_found(paths: Paths, state: DecisionState) -> None:
    save(paths, PENDING)
    copy = PENDING.updated(decision_state=state)
    bring(paths, copy)
    assert found(paths) == [(AdoptableKind.DECISION, copy)]


def test_a_decision_on_what_was_asked_before_decides_nothing(paths: Paths) -> None:
    save(paths, PENDING.awaiting_decision("2026-01-02T00:12:00Z"))
    bring(paths, PENDING.updated(decision_state=DecisionState.APPROVED_QUIT))
    assert found(paths) == []


def test_an_older_state_of_a_copy_decides_nothing(paths: Paths) -> None:
    save(paths, PENDING.updated(decision_state=DecisionState.REJECTED))
    bring(paths, PENDING)
    assert found(paths) == []


def test_what_was_answered_is_found_again_once_it_is_newer(paths: Paths) -> None:
    path = bring(paths, run_at(20))
    store = Store(paths, hold_none, redact_none)
    state = store.state()
    save_answered(paths, store.unanswered(state))
    assert store.unanswered(state) == ()
    assert len(store.copies.adoptable(state)) == 1
    later = path.stat().st_mtime_ns + 1
    os.utime(path, ns=(later, later))
    assert len(store.unanswered(state)) == 1
    assert store.unanswered(state, TaskId("t2")) == ()


FEEDBACK = Feedback(parent_task_id=TaskId("p"), review_run_id=RunId("r1"), feedback="Add it.")


def bring_feedback(paths: Paths, text: str) -> None:
    path = paths.copy_of(paths.feedback_file(T))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_feedback_is_found_where_we_have_none(paths: Paths) -> None:
    save(paths, run_at(10))
    bring_feedback(paths, json.dumps(FEEDBACK.to_json()))
    assert found(paths) == [(AdoptableKind.FEEDBACK, FEEDBACK)]
    with Store(paths, hold_none, redact_none).transaction() as transaction:
        transaction.drop_feedback(T)
        assert found(paths) == [(AdoptableKind.FEEDBACK, FEEDBACK)]
        transaction.save_feedback(T, FEEDBACK)
    assert found(paths) == []


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"feedback": "x"}', "\0"])
def test_what_is_no_feedback_is_not_found(paths: Paths, text: str) -> None:
    bring_feedback(paths, text)
    assert found(paths) == []


def test_of_many_files_those_written_last_are_read(paths: Paths) -> None:
    for minute in range(MAX_FILES_READ + 50):
        os.utime(bring(paths, run_at(minute)), ns=(1000 - minute, 1000 - minute))
    assert found(paths) == [(AdoptableKind.RUN, run_at(MAX_FILES_READ - 1))]


def test_what_is_no_record_is_not_read(paths: Paths) -> None:
    folder = paths.task_copies(T)
    folder.mkdir(parents=True)
    for name, data in (("a.json", b"{"), ("notes.txt", b"x"), ("other.json", b'{"id": "y"}')):
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("/dev/zero")
    (folder / "folder.json").mkdir()
    with (folder / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    assert found(paths) == []


@pytest.mark.parametrize("place", [".blackbird", ".blackbird/runs", ".blackbird/runs/t1"])
def test_nothing_is_read_through_a_link(paths: Paths, tmp_path: Path, place: str) -> None:
    bring(paths, run_at(20))
    (paths.state_root / place).rename(tmp_path / "there")
    (paths.state_root / place).symlink_to(tmp_path / "there")
    assert found(paths) == []


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

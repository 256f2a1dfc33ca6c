"""Run records: read tolerantly, written whole, with nothing lost that is not ours."""

import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId, build_run_id
from git_blackbird.model.base.record import _UNMASKED, Record
from git_blackbird.model.base.redaction import Redactor
from git_blackbird.model.base.timestamps import format_timestamp, parse_timestamp
from git_blackbird.model.run.history import NO_HISTORY, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, DecisionState, RunStatus, RunType
from git_blackbird.storage.files import write_atomic
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import RunStore, render_record
from git_blackbird.storage.store import Store
from tests.kept import assert_kept
from tests.planted_secrets import make_secrets
from tests.records import kind_of, record_of, run_of
from tests.storage.building import STAMP, broken, make_layout, read_record
from tests.support import examples, hold_none, redact_none

T = TaskId("t1")
GO_ID = "9f86d081884c7d65"
GO_RECORD: dict[str, Any] = {
    "id": GO_ID,
    "taskId": "t1",
    "run_type": "execute",
    "provider": "claude",
    "provider_session_ref": "6e6fa9a5-4a39-4c2e-9c2a-0d6b7f7ff0aa",
    "startedAt": "2026-01-02T03:04:05.123456789Z",
    "completedAt": "2026-01-02T03:05:05.1Z",
    "status": "success",
    "exitCode": 0,
    "stdout": "done <ok> & \ufffd\n",
    "stderr": "warning\n",
    "context": {
        "schemaVersion": 1,
        "task": {"id": "t1", "title": "One", "acceptanceCriteria": ["works"]},
        "dependencies": [{"id": "t0", "title": "Zero", "status": "done"}],
        "projectSnapshot": "a project",
        "systemPrompt": "You are …",
    },
    "decision_required": True,
    "decision_state": "pending",
    "decision_requested_at": "2026-01-02T03:05:05.2Z",
    "review_summary": {
        "files": ["a.py"],
        "diffstat": " a.py | 1 +",
        "snippets": [{"file": "a.py", "snippet": "+x"}],
    },
}
GO_REVIEW: dict[str, Any] = {
    "id": "0000000000000abc",
    "taskId": "t1",
    "run_type": "review",
    "provider": "codex",
    "provider_session_ref": "0000000000000abc",
    "startedAt": "2026-01-02T03:04:05Z",
    "completedAt": "2026-01-02T03:04:06Z",
    "status": "success",
    "exitCode": 0,
    "stdout": "{}",
    "context": {
        "schemaVersion": 1,
        "task": {"id": "t1", "title": "One"},
        "parentReview": {"parentTaskId": "t1"},
    },
    "parent_review_passed": False,
    "parent_review_resume_task_ids": ["a", "b"],
    "parent_review_feedback": "again",
    "parent_review_results": {"a": {"task_id": "a", "status": "failed", "feedback": "again"}},
    "parent_review_completion_signature": "parent-review:v1:00",
}
GO_MISSING: dict[str, Any] = {
    "id": "00000000deadbeef",
    "taskId": "t1",
    "provider": "claude",
    "startedAt": "2026-01-02T03:04:05Z",
    "completedAt": "2026-01-02T03:04:05Z",
    "status": "failed",
    "context": {"schemaVersion": 1, "task": {"id": "t1", "title": "One"}},
    "error": 'exec: "claude": executable file not found in $PATH',
    "review_summary": {},
}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


def put(paths: Paths, record: dict[str, Any] | bytes, name: str | None = None, task: str = "t1") -> Path:
    folder = paths.runs / task
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{record['id'] if isinstance(record, dict) else 'x'}.json")
    path.write_bytes(record if isinstance(record, bytes) else json.dumps(record).encode())
    return path


def ours(run_id: str = "0199f3a0c0000001", **fields: Any) -> Run:
    whole = {"id": run_id, "taskId": "t1", "startedAt": STAMP, "program": PROGRAM, "status": "success"}
    return run_of(**(whole | fields))


def history_faults(paths: Paths) -> list[tuple[str, str]]:
    faults = RunStore(paths).history(T).faults
    return [(str(Path(fault.path).relative_to(paths.runs)), fault.what) for fault in faults]


def test_all_texts_of_a_record_are_masked_but_what_people_wrote_names_and_what_is_not_known() -> None:
    secret = make_secrets(2)["github"]
    printed = {"error": secret, "stderr": secret, "blackbird": {"notes": [secret], "way_out": secret}}
    printed |= {"review_summary": {"outside": [{"new": "0" * 40, "text": secret}]}}
    ours = {"context": {"task": secret}, "decision_feedback": secret, "unknown": {"x": secret}}
    ours |= {"review_summary": {"files": [secret]}}
    ours |= {"blackbird": {"said": {"message": secret}, "worktree": {"path": f"/{secret}"}}}
    whole = {"id": "0199f3a0c0000001", "taskId": "t1", "startedAt": STAMP, "status": "success"}

    def written(fields: dict[str, Any]) -> bytes:
        return render_record(Run.from_value(whole | fields), Redactor({}))

    assert secret.encode() not in written(printed)
    assert written(printed).count(b"[redacted:github-token") == 5
    assert written(ours).count(secret.encode()) == 6


def texts_of(kind: type[Record], above: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield each field with a text, of a record and its parts: its place, its name, whether it is masked."""
    for field, info in kind.model_fields.items():
        name, is_masked = info.alias or field, _UNMASKED not in info.metadata
        if has_text(kind_of(info)) and not info.exclude:
            yield f"{above}{name}", name, is_masked
        for part in parts_in(kind_of(info)) if is_masked else ():
            yield from texts_of(part, f"{above}{name}.")


def test_what_is_masked_does_not_depend_on_what_another_field_is_called() -> None:
    secret = make_secrets(1)["github"]
    # Of a later version, or another program; the second has the name of one in a part, which is a name.
    unknown = {"error": secret, "path": secret}
    fields = {"error": secret, "stderr": secret, "blackbird": {"merged_review": {"path": secret}, **unknown}}
    whole = {"id": "1", "taskId": "t1", "startedAt": STAMP, "status": "success", **fields}
    written = json.loads(render_record(Run.from_value(whole), Redactor({})))
    ours = written["blackbird"]
    assert secret not in f"{written['error']} {written['stderr']} {ours['merged_review']}"
    assert (ours["error"], ours["path"]) == (secret, secret)


def parts_in(annotation: Any) -> Iterator[type[Record]]:
    """Yield the records that values of a type are, or have."""
    if get_origin(annotation) is None and isinstance(annotation, type) and issubclass(annotation, Record):
        yield annotation
    for inner in get_args(annotation):
        yield from parts_in(inner)


MASKED = """\
The texts of a record. Each is masked when it is saved, unless the type of its field is Unmasked: a path or
another name, or what people write.
"""


def has_text(annotation: Any) -> bool:
    return annotation in {str, Any} or any(map(has_text, get_args(annotation)))


def test_a_field_says_itself_whether_it_is_masked() -> None:
    texts = dict.fromkeys(texts_of(Run))
    said = (f"{place}: {'masked' if is_masked else 'saved as it is'}\n" for place, _, is_masked in texts)
    assert_kept(Path(__file__).with_name("golden") / "masked.txt", f"{MASKED}\n{''.join(said)}")


@pytest.mark.parametrize("record", [GO_RECORD, GO_REVIEW, GO_MISSING], ids=["run", "review", "missing"])
def test_records_of_the_go_program_are_read_and_written_back_whole(
    paths: Paths, record: dict[str, Any]
) -> None:
    found = read_record(put(paths, record), T)
    assert isinstance(found, Run)
    written = json.loads(render_record(found))
    assert {name: written[name] for name in record if name != "review_summary"} == {
        name: value for name, value in record.items() if name != "review_summary"
    }
    summary = record.get("review_summary")
    if summary is not None:
        assert {name: written["review_summary"][name] for name in summary} == summary
    assert written.keys() - record.keys() <= {"run_type"}
    assert [name for name in written if name in record] == list(record)


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [
        ({}, RunType.EXECUTE),
        ({"run_type": "execute"}, RunType.EXECUTE),
        ({"run_type": "review"}, RunType.REVIEW),
    ],
)
def test_a_record_without_a_type_is_an_execute(
    paths: Paths, given_type: dict[str, str], expected: RunType
) -> None:
    record = {name: value for name, value in GO_RECORD.items() if name != "run_type"} | given_type
    found = read_record(put(paths, record), T)
    assert isinstance(found, Run)
    assert found.run_type == expected


def test_what_was_read_is_what_counts(paths: Paths) -> None:
    found = read_record(put(paths, GO_RECORD), T)
    assert isinstance(found, Run)
    assert (found.status, found.exit_code, found.decision_state) == (
        RunStatus.SUCCESS,
        0,
        DecisionState.PENDING,
    )
    assert found.started_at == "2026-01-02T03:04:05.123456789Z"
    assert found.context == GO_RECORD["context"]
    assert found.review_summary is not None
    assert found.review_summary.snippets[0].snippet == "+x"


UNKNOWN: dict[str, Any] = {
    "nothing": None,
    "empty": [],
    "text": "",
    "zero": 0,
    "deep": {"nothing": None, "list": [None, {}, [], ""], "big": 10**40, "<&>": "\u2028"},
    "error": "kept",
    "context": {"nothing": None, "list": [], "answers": [{"id": "q", "value": None}]},
    "review_summary": {
        "files": ["a"],
        "nothing": None,
        "more": {"x": None},
        "changes": [{"status": "A", "path": "a", "nothing": None, "empty": ""}],
        "totals": {"files": 1, "additions": 0, "deletions": 0, "nothing": None},
    },
    "questions": [{"id": "q", "prompt": "p", "nothing": None, "more": [None]}],
    "usage": {"input_tokens": 1, "nothing": None},
}


def _lost(before: Any, after: Any, place: str = "$") -> list[str]:
    """The places of ``before`` that ``after`` no longer has."""
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [f"{place}.{name}" for name in before.keys() - after.keys()]
        return gone + [
            lost
            for name in before.keys() & after.keys()
            for lost in _lost(before[name], after[name], f"{place}.{name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [lost for one, other in zip(before, after, strict=True) for lost in _lost(one, other, place)]
    return [] if before == after else [place]


def test_unknown_fields_are_kept_on_rewrite_also_nested_and_null_ones(paths: Paths) -> None:
    record = GO_RECORD | UNKNOWN
    found = read_record(put(paths, record), T)
    assert isinstance(found, Run)
    with Store(paths, hold_none, redact_none).transaction() as transaction:
        transaction.save_run(found.updated(decision_state=DecisionState.APPROVED_QUIT))
    again = json.loads(paths.record(T, found.id).read_bytes())
    assert _lost(record | {"decision_state": "approved_quit"}, again) == []
    twice = read_record(paths.record(T, found.id), T)
    assert isinstance(twice, Run)
    assert json.loads(render_record(twice)) == again


def test_our_own_record_is_short_and_comes_back_equal() -> None:
    run = ours(prompt="", stdout="", notes=(), context={}, decision_required=False)
    assert json.loads(render_record(run)) == {
        "id": run.id,
        "taskId": "t1",
        "run_type": "execute",
        "provider": "",
        "startedAt": STAMP,
        "status": "success",
        "context": {},
        "decision_required": False,
        "blackbird": {"program": PROGRAM, "prompt": ""},
    }


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "Expecting value at line 1, column 1"),
        (b"{", "Expecting property name enclosed in double quotes at line 1, column 2"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[]", "the record: is a list, not an object"),
        (b"{}", "id: is missing"),
        (b"[" * 9999, "nested too deeply"),
        (json.dumps(GO_RECORD | {"status": "odd"}).encode(), None),
        (
            json.dumps(GO_RECORD | {"taskId": "t2"}).encode(),
            "it is a record of task 't2' in the folder of 't1'",
        ),
        (json.dumps(GO_RECORD).encode(), f"it is the record of run '{GO_ID}' under another name"),
        (
            json.dumps(GO_RECORD | {"id": "../../x"}).encode(),
            """id: is "../../x", not a run id (letters, digits, '_' and '-', at most 64)""",
        ),
        (json.dumps(GO_RECORD | {"more": 5}).replace("5", "NaN").encode(), None),
    ],
    ids=range(11),
)
def test_a_corrupt_or_foreign_file_is_named_and_the_others_are_read(
    paths: Paths, data: bytes, what: str | None
) -> None:
    put(paths, GO_RECORD)
    put(paths, data, "broken.json")
    assert [run.id for run in RunStore(paths).history(T).runs] == [GO_ID]
    ((name, said),) = history_faults(paths)
    assert name == "t1/broken.json"
    assert said == what or (what is None and said)


def test_files_that_are_no_records_by_their_name_are_no_runs(paths: Paths) -> None:
    put(paths, b"{}", "notes.txt")
    put(paths, b"{}", ".x.swp")
    (paths.runs / "t1" / "logs").mkdir()
    assert RunStore(paths).history(T) == NO_HISTORY


def test_stray_files_beside_the_folders_of_tasks_hide_nothing(paths: Paths) -> None:
    put(paths, GO_RECORD)
    (paths.runs / "stray.txt").write_text("{}")
    (paths.runs / ".hidden").mkdir()
    (paths.runs / "gone").symlink_to("nowhere")
    (paths.runs / "loop").symlink_to("loop")
    Path(os.fsdecode(os.fsencode(paths.runs) + b"/\xff")).mkdir()
    histories = RunStore(paths).histories()
    assert {name: len(found.runs) for name, found in histories.items()} == {"t1": 1}
    found = RunStore(paths).recent(20, 1_800_000_000 * 10**9)
    assert ([run.id for run in found.runs], found.faults) == ([GO_ID], ())


def test_pipes_and_devices_in_the_place_of_a_record_do_not_hang(paths: Paths) -> None:
    folder = put(paths, GO_RECORD).parent
    os.mkfifo(folder / "pipe.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "gone.json").symlink_to("nowhere")
    assert history_faults(paths) == [
        ("t1/gone.json", "Too many levels of symbolic links"),
        ("t1/pipe.json", "not a regular file"),
        ("t1/zero.json", "Too many levels of symbolic links"),
    ]


def test_there_are_no_runs_where_there_is_no_folder(paths: Paths) -> None:
    records = RunStore(paths)
    assert (records.tasks(), records.histories(), records.history(T).runs) == ([], {}, ())
    paths.private.mkdir(parents=True, exist_ok=True)
    paths.runs.write_text("a file")
    assert records.histories() == {}


def test_records_are_not_broken_because_no_file_can_be_opened(paths: Paths) -> None:
    put(paths, GO_RECORD)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            RunStore(paths).history(T)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [run.id for run in RunStore(paths).history(T).runs] == [GO_ID]


@pytest.mark.parametrize("name", ["../../x", "..", "a/b", "", ".hidden"])
def test_an_id_that_would_leave_its_folder_has_no_records(paths: Paths, name: str) -> None:
    with pytest.raises(UnusableError, match="cannot name a folder"):
        RunStore(paths).history(TaskId(name))
    with (
        pytest.raises(UnusableError, match="cannot name a folder"),
        Store(paths, hold_none, redact_none).transaction() as transaction,
    ):
        transaction.save_run(ours().model_copy(update={"task_id": TaskId(name)}))
    assert list(paths.state_root.rglob("*.json")) == []


def test_runs_come_in_the_order_of_their_start_not_of_their_ids(paths: Paths) -> None:
    starts = {
        "ffffffffffffffff": "2026-01-02T03:04:05.000000001Z",
        "0000000000000001": "2026-01-02T03:04:05.000000002Z",
        "00000000000000ff": "2026-01-02T05:04:05+02:00",
        "1111111111111111": "not a time",
    }
    for run_id, start in starts.items():
        put(paths, GO_RECORD | {"id": run_id, "startedAt": start})
    assert [run.id for run in RunStore(paths).history(T).runs] == [
        "1111111111111111",
        "00000000000000ff",
        "ffffffffffffffff",
        "0000000000000001",
    ]


def test_a_record_is_for_its_owner_only(paths: Paths) -> None:
    old = os.umask(0)
    try:
        with Store(paths, hold_none, redact_none).transaction() as transaction:
            transaction.save_run(ours())
    finally:
        os.umask(old)
    assert paths.record(T, ours().id).stat().st_mode & 0o777 == 0o600


def test_two_writers_within_one_tick_of_the_clock_are_both_seen(paths: Paths) -> None:
    reader, number = RunStore(paths), 0
    for number in range(60):
        run = ours(f"{number:016x}")
        write_atomic(paths, paths.record(T, run.id), render_record(run), mode=0o600)
        assert len(reader.history(T).runs) == number + 1
    for state in DecisionState:
        run = ours(f"{number:016x}", decision_state=state)
        write_atomic(paths, paths.record(T, run.id), render_record(run), mode=0o600)
        assert reader.history(T).runs[-1].decision_state == state


def test_a_folder_from_a_clock_that_is_ahead_is_read_each_time(paths: Paths) -> None:
    folder = put(paths, GO_RECORD).parent
    ahead = (time.time_ns() // 10**9 + 3600) * 10**9
    os.utime(folder, ns=(ahead, ahead))
    reader = RunStore(paths)
    assert len(reader.history(T).runs) == 1
    put(paths, GO_RECORD | {"id": "0" * 16})
    os.utime(folder, ns=(ahead, ahead))
    assert len(reader.history(T).runs) == 2


def test_an_unchanged_folder_is_not_read_again(paths: Paths) -> None:
    put(paths, GO_RECORD)
    folder = paths.task_runs(T)
    os.utime(folder, ns=(1, 1))
    reader = RunStore(paths)
    first = reader.histories()[T]
    assert reader.histories()[T] is first
    put(paths, GO_RECORD | {"id": "0" * 16})
    assert len(reader.history(T).runs) == 2


@given(st.integers(0, 2**32))
@settings(max_examples=examples(400), deadline=None)
def test_a_record_broken_anywhere_is_read_or_named_and_what_is_read_can_be_saved(seed: int) -> None:
    record = broken(json.loads(json.dumps(GO_RECORD | UNKNOWN)), seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = root / f"{GO_ID}.json"
        path.write_text(json.dumps(record))
        found = read_record(path, T)
        if isinstance(found, RecordError):
            assert found.what
            assert found.path == str(path)
            return
        assert isinstance(found, Run)
        path.write_bytes(render_record(found))
        again = read_record(path, T)
        assert isinstance(again, Run)
        assert render_record(again) == render_record(found)


def keep(paths: Paths, minute: int, **fields: Any) -> Path:
    """Save a record of ours that began at a minute, and make its folder one that may be remembered."""
    moment = parse_timestamp(f"2026-01-02T03:{minute:02}:00Z")
    record = GO_RECORD | {"id": build_run_id(moment, 0), "startedAt": format_timestamp(moment)}
    path = put(paths, record | record_of(program=PROGRAM, **fields))
    os.utime(paths.task_runs(T), ns=(1, 1))
    return path


def test_of_many_tasks_only_the_recent_runs_are_read_until_the_others_are_asked_for(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    first, counting, lost = (keep(paths, minute).stem for minute in (1, 2, 3))
    keep(paths, 3, superseded_at=STAMP)
    records = RunStore(paths)
    history = records.histories()[T]
    assert [run.id for run in history.recent] == [counting, lost]
    assert history.latest is not None
    assert (history.latest.id, history.is_whole) == (counting, False)
    assert [run.id for run in history.runs] == [first, counting, lost]
    assert history.find(RunId(first)) == history.runs[0]
    assert [run.id for run in history.since(history.runs[0])] == [counting, lost]
    # Of a single task everything is read, and remembered.
    assert records.history(T).is_whole
    assert records.histories()[T].is_whole


def test_an_older_record_is_checked_when_its_task_is_read(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    older = keep(paths, 1)
    older.write_text("{")
    keep(paths, 2)
    assert RunStore(paths).histories()[T].faults == ()
    assert [fault.path for fault in RunStore(paths).history(T).faults] == [str(older)]


@pytest.mark.parametrize("other", ["Go's id", "another start"])
def test_records_whose_names_do_not_sort_by_their_start_are_all_read(tmp_path: Path, other: str) -> None:
    paths = make_layout(tmp_path)
    keep(paths, 1)
    if other == "Go's id":
        put(paths, GO_RECORD)
    else:
        keep(paths, 2, startedAt="2026-01-02T03:00:00Z")
    history = RunStore(paths).histories()[T]
    assert (len(history.recent), history.is_whole) == (2, True)


def test_planning_is_no_task_and_its_runs_are_listed_with_those_of_tasks(paths: Paths) -> None:
    store = Store(paths, hold_none, redact_none)
    with store.transaction() as transaction:
        for name in (PLANNING, T):
            transaction.save_run(
                run_of(id=RunId(GO_ID), taskId=name, program=PROGRAM, startedAt=STAMP, status="success")
            )
    for name in (PLANNING, T):
        # What has not changed for long is kept.
        os.utime(paths.task_runs(name), (1, 1))
    for _ in range(2):
        assert len(store.records.history(PLANNING).runs) == 1
        assert store.records.tasks() == [T]
        assert store.records.histories().keys() == {T}
        assert {run.task_id for run in store.records.recent(5, time.time_ns()).recent} == {PLANNING, T}
        assert len(list(store.records.written_since(0))) == 2
    with pytest.raises(ValueError, match="not a task id"):
        run_of(id=RunId(GO_ID), taskId=".other", program=PROGRAM, startedAt=STAMP, status="success")

"""What parent reviews left owed: kept as the other program keeps it, broken files told and survived."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.storage.feedback import MAX_FEEDBACK_BYTES, FeedbackStore
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.removal import has_state, remove, remove_state
from git_blackbird.storage.store import Store
from tests.storage.building import ODD, STAMP, all_files, make_layout
from tests.support import hold_none, redact_none

A, B = TaskId("a"), TaskId("b")
LATER = "2026-01-02T00:00:00Z"
NEVER = "0001-01-01T00:00:00Z"
OWED = Feedback(
    parent_task_id=TaskId("p"),
    review_run_id=RunId("0199f3a0c0000001"),
    feedback='Say "ok" & <when>\nit is.',
    created_at=STAMP,
    updated_at=STAMP,
)
GO_TEXT = r"""{
  "parentTaskId": "p",
  "reviewRunId": "9f86d081884c7d65",
  "feedback": "add the \u003cmissing\u003e test \u0026 run it",
  "createdAt": "2026-01-02T03:04:05.123456789Z",
  "updatedAt": "2026-01-02T03:05:05.1Z"
}
"""
GO_FILE = GO_TEXT.encode()


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


def put(paths: Paths, name: str, content: bytes | dict[str, Any]) -> Path:
    paths.feedback.mkdir(parents=True, exist_ok=True)
    path = paths.feedback / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def save(paths: Paths, task_id: TaskId, feedback: Feedback) -> None:
    with Store(paths, hold_none, redact_none).transaction() as transaction:
        transaction.save_feedback(task_id, feedback)


def drop(paths: Paths, task_id: TaskId) -> None:
    with Store(paths, hold_none, redact_none).transaction() as transaction:
        transaction.drop_feedback(task_id)


def owed(paths: Paths) -> dict[TaskId, Feedback]:
    found, faults = FeedbackStore(paths).load_all()
    assert faults == ()
    return dict(found)


def faults(paths: Paths) -> list[tuple[str, str]]:
    return [
        (os.path.relpath(fault.path, paths.private), fault.what)
        for fault in FeedbackStore(paths).load_all().faults
    ]


def test_where_nothing_was_ever_owed_nothing_is_made(paths: Paths) -> None:
    assert owed(paths) == {}
    drop(paths, A)
    assert not paths.state.exists()
    assert not paths.feedback.exists()


def test_what_is_saved_is_found_by_leaf_until_it_is_dropped(paths: Paths) -> None:
    save(paths, A, OWED)
    save(paths, B, OWED.model_copy(update={"feedback": "other"}))
    assert owed(paths) == {A: OWED, B: OWED.model_copy(update={"feedback": "other"})}
    drop(paths, A)
    drop(paths, A)
    assert owed(paths) == {B: OWED.model_copy(update={"feedback": "other"})}


def test_the_file_is_the_owners_alone_and_in_the_other_programs_form(paths: Paths) -> None:
    save(paths, A, OWED.settled(LATER))
    path = paths.feedback_file(A)
    assert path == paths.private / "parent-review-feedback/a.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == (
        '{\n  "parentTaskId": "p",\n  "reviewRunId": "0199f3a0c0000001",\n'
        '  "feedback": "Say \\"ok\\" \\u0026 \\u003cwhen\\u003e\\nit is.",\n'
        f'  "createdAt": "{STAMP}",\n  "updatedAt": "{STAMP}",\n  "settledAt": "{LATER}"\n}}\n'
    )
    assert all_files(paths.state) == [".gitignore", "parent-review-feedback/a.json"]
    assert paths.copy_of(path).read_bytes() == path.read_bytes()


def test_a_file_of_the_other_program_comes_back_byte_for_byte(paths: Paths) -> None:
    path = put(paths, "a.json", GO_FILE)
    save(paths, A, owed(paths)[A])
    assert path.read_bytes() == GO_FILE


def test_saving_again_keeps_when_it_began_and_what_is_not_ours(paths: Paths) -> None:
    put(paths, "a.json", {**json.loads(GO_FILE), "later": {"x": 1}})
    second = OWED.model_copy(update={"parent_task_id": TaskId("q"), "created_at": LATER, "updated_at": LATER})
    save(paths, A, second)
    kept = {"later": {"x": 1}}
    began = "2026-01-02T03:04:05.123456789Z"
    assert owed(paths) == {A: second.model_copy(update={"created_at": began, **kept})}


def test_saving_over_a_broken_file_mends_it(paths: Paths) -> None:
    put(paths, "a.json", b"{")
    save(paths, A, OWED)
    assert owed(paths) == {A: OWED}


@pytest.mark.parametrize("name", ["parentTaskId", "reviewRunId", "feedback"])
@pytest.mark.parametrize("value", [None, "", " \n", ...], ids=["null", "empty", "blank", "missing"])
def test_what_the_other_program_requires_is_required(paths: Paths, name: str, value: object) -> None:
    record = {**json.loads(GO_FILE), name: value}
    if value is ...:
        del record[name]
    put(paths, "t.json", record)
    assert faults(paths) == [
        (
            "parent-review-feedback/t.json",
            f'pending parent-review feedback for "t" is invalid: {name} required',
        )
    ]


def test_times_are_not_required(paths: Paths) -> None:
    put(paths, "a.json", {"parentTaskId": "p", "reviewRunId": "r", "feedback": "x"})
    assert owed(paths) == {
        A: Feedback(
            parent_task_id=TaskId("p"),
            review_run_id=RunId("r"),
            feedback="x",
            created_at=NEVER,
            updated_at=NEVER,
        )
    }


def test_broken_and_stray_files_are_named_and_the_others_read(paths: Paths, tmp_path: Path) -> None:
    put(paths, "a.json", GO_FILE)
    for name, content in {
        "1.json": b"[]",
        "2.json": b'{"feedback": 1, "parentTaskId": "p", "reviewRunId": "r"}',
        "3.json": b'{"feedback": "x", "feedback": "y"}',
        "4.json": b"\xff",
        "5.json": b'{"feedback": "x", "parentTaskId": "../p", "reviewRunId": "r"}',
        "6.json": b'{"feedback": "x", "parentTaskId": "p", "reviewRunId": "../r"}',
        ".a.json": GO_FILE,
        "a.json.123.tmp": GO_FILE,
    }.items():
        put(paths, name, content)
    (paths.feedback / "7.json").mkdir()
    os.mkfifo(paths.feedback / "8.json")
    os.truncate(put(paths, "large.json", b"{"), MAX_FEEDBACK_BYTES + 1)
    found, _ = FeedbackStore(paths).load_all()
    assert list(found) == [A]
    prefix = 'pending parent-review feedback for "{}" is invalid: '
    whats = {
        "1": "the record: is a list, not an object",
        "2": "feedback: is 1, not a text",
        "3": 'the key "feedback" appears twice in one object',
        "4": "not UTF-8 at byte 0",
        "5": """parentTaskId: is "../p", not a task id, it starts with '.'""",
        "6": """reviewRunId: is "../r", not a run id (letters, digits, '_' and '-', at most 64)""",
        "7": "not a regular file",
        "8": "not a regular file",
        "large": "larger than 16777216 bytes",
    }
    named = {f"{task}.json": prefix.format(task) + what for task, what in whats.items()}
    stray = dict.fromkeys([".a.json", "a.json.123.tmp"], "not named as a task's feedback, TASK.json")
    expected = {f"parent-review-feedback/{name}": what for name, what in (named | stray).items()}
    assert dict(faults(paths)) == expected


@pytest.mark.parametrize("name", ["../x", "..", ".", "", "a/b", "a\\b", "a\n"])
def test_no_id_leaves_the_folder(paths: Paths, name: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: save(paths, TaskId(name), OWED),
        lambda: drop(paths, TaskId(name)),
        lambda: paths.feedback_file(TaskId(name)),
    ]
    for attempt in attempts:
        with pytest.raises(UnusableError) as raised:
            attempt()
        assert raised.value.message.startswith(f"task id {name!a} cannot name a file: it ")
    assert not paths.state.exists()


def test_a_file_where_the_folder_should_be_is_told(paths: Paths) -> None:
    paths.private.mkdir(parents=True, exist_ok=True)
    paths.feedback.write_text("x")
    assert faults(paths) == [("parent-review-feedback", "Not a directory")]


def test_the_state_holds_what_is_owed(paths: Paths) -> None:
    store = Store(paths, hold_none, redact_none)
    with store.transaction() as transaction:
        transaction.save_plan(Plan())
        assert transaction.state() == PlanState(Plan(), {})
        transaction.save_feedback(A, OWED)
        put(paths, "b.json", b"")
        state = transaction.state()
    assert state.saved_feedback.by_leaf == {A: OWED}
    assert [Path(fault.path).name for fault in state.saved_feedback.faults] == ["b.json"]
    assert state == store.state()


def test_it_goes_with_the_state(paths: Paths) -> None:
    save(paths, A, OWED)
    assert has_state(paths, frozenset())
    remove_state(paths, frozenset())
    remove(paths.private)
    assert (paths.state.exists(), owed(paths)) == (False, {})


JSON = st.recursive(st.sampled_from(ODD), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=80)
    | st.dictionaries(
        st.sampled_from(["parentTaskId", "reviewRunId", "feedback", "createdAt", "settledAt", "more"]), JSON
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_content_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    paths = make_layout(tmp_path_factory.mktemp("any"))
    put(paths, "a.json", content)
    found, broken = FeedbackStore(paths).load_all()
    assert len(found) + len(broken) == 1
    for feedback in found.values():
        save(paths, A, feedback)
        assert owed(paths) == found

"""What parent reviews left owed: kept as the other program keeps it, broken files told and survived."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.errors import UnusableError
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Plan
from git_blackbird.model.review import Feedback
from git_blackbird.storage.feedback import MAX_FEEDBACK_BYTES, FeedbackFiles
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.removal import measure_state, remove_state
from git_blackbird.storage.store import Image, Store
from tests.storage.building import ODD, STAMP, all_files, make_layout

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
def layout(tmp_path: Path) -> Layout:
    return make_layout(tmp_path)


def put(layout: Layout, name: str, content: bytes | dict[str, Any]) -> Path:
    layout.make_folder(layout.feedback)
    path = layout.feedback / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def save(layout: Layout, task_id: TaskId, feedback: Feedback) -> None:
    with Store(layout).transaction() as transaction:
        transaction.save_feedback(task_id, feedback)


def drop(layout: Layout, task_id: TaskId) -> None:
    with Store(layout).transaction() as transaction:
        transaction.drop_feedback(task_id)


def owed(layout: Layout) -> dict[TaskId, Feedback]:
    found, faults, _ = FeedbackFiles(layout).load_all()
    assert faults == ()
    return dict(found)


def faults(layout: Layout) -> list[tuple[str, str]]:
    return [
        (os.path.relpath(fault.path, layout.state), fault.what)
        for fault in FeedbackFiles(layout).load_all().faults
    ]


def test_where_nothing_was_ever_owed_nothing_is_made(layout: Layout) -> None:
    assert owed(layout) == {}
    drop(layout, A)
    assert not layout.state.exists()


def test_what_is_saved_is_found_by_leaf_until_it_is_dropped(layout: Layout) -> None:
    save(layout, A, OWED)
    save(layout, B, replace(OWED, feedback="other"))
    assert owed(layout) == {A: OWED, B: replace(OWED, feedback="other")}
    drop(layout, A)
    drop(layout, A)
    assert owed(layout) == {B: replace(OWED, feedback="other")}


def test_the_file_is_the_owners_alone_and_in_the_other_programs_form(layout: Layout) -> None:
    save(layout, A, replace(OWED, settled_at=LATER))
    path = layout.feedback_file(A)
    assert path == layout.state / "parent-review-feedback/a.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == (
        '{\n  "parentTaskId": "p",\n  "reviewRunId": "0199f3a0c0000001",\n'
        '  "feedback": "Say \\"ok\\" \\u0026 \\u003cwhen\\u003e\\nit is.",\n'
        f'  "createdAt": "{STAMP}",\n  "updatedAt": "{STAMP}",\n  "settledAt": "{LATER}"\n}}\n'
    )
    assert all_files(layout.state) == [".gitignore", "parent-review-feedback/a.json"]


def test_a_file_of_the_other_program_comes_back_byte_for_byte(layout: Layout) -> None:
    path = put(layout, "a.json", GO_FILE)
    save(layout, A, owed(layout)[A])
    assert path.read_bytes() == GO_FILE


def test_saving_again_keeps_when_it_began_and_what_is_not_ours(layout: Layout) -> None:
    put(layout, "a.json", {**json.loads(GO_FILE), "later": {"x": 1}})
    second = replace(OWED, parent_task_id=TaskId("q"), created_at=LATER, updated_at=LATER)
    save(layout, A, second)
    kept = {"later": {"x": 1}}
    began = "2026-01-02T03:04:05.123456789Z"
    assert owed(layout) == {A: replace(second, created_at=began, unknown=kept)}


def test_saving_over_a_broken_file_mends_it(layout: Layout) -> None:
    put(layout, "a.json", b"{")
    save(layout, A, OWED)
    assert owed(layout) == {A: OWED}


@pytest.mark.parametrize("name", ["parentTaskId", "reviewRunId", "feedback"])
@pytest.mark.parametrize("value", [None, "", " \n", ...], ids=["null", "empty", "blank", "missing"])
def test_what_the_other_program_requires_is_required(layout: Layout, name: str, value: object) -> None:
    record = {**json.loads(GO_FILE), name: value}
    if value is ...:
        del record[name]
    put(layout, "t.json", record)
    assert faults(layout) == [
        (
            "parent-review-feedback/t.json",
            f'pending parent-review feedback for "t" is invalid: {name} required',
        )
    ]


def test_times_are_not_required(layout: Layout) -> None:
    put(layout, "a.json", {"parentTaskId": "p", "reviewRunId": "r", "feedback": "x"})
    assert owed(layout) == {
        A: Feedback(
            parent_task_id=TaskId("p"),
            review_run_id=RunId("r"),
            feedback="x",
            created_at=NEVER,
            updated_at=NEVER,
        )
    }


def test_broken_and_stray_files_are_named_and_the_others_read(layout: Layout, tmp_path: Path) -> None:
    put(layout, "a.json", GO_FILE)
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
        put(layout, name, content)
    (layout.feedback / "7.json").mkdir()
    os.mkfifo(layout.feedback / "8.json")
    (layout.feedback / "9.json").symlink_to(layout.feedback / "a.json")
    os.truncate(put(layout, "large.json", b"{"), MAX_FEEDBACK_BYTES + 1)
    found, _, _ = FeedbackFiles(layout).load_all()
    assert list(found) == [A]
    prefix = 'pending parent-review feedback for "{}" is invalid: '
    whats = {
        "1": "the record: is a list, not an object",
        "2": "feedback: is 1, not a text",
        "3": 'the key "feedback" stands twice in one object',
        "4": "not UTF-8 at byte 0",
        "5": "parentTaskId starts with '.'",
        "6": "reviewRunId starts with '.'",
        "7": "not a regular file",
        "8": "not a regular file",
        "9": "not a regular file",
        "large": "larger than 16777216 bytes",
    }
    named = {f"{task}.json": prefix.format(task) + what for task, what in whats.items()}
    stray = dict.fromkeys([".a.json", "a.json.123.tmp"], "not named as a task's feedback, TASK.json")
    expected = {f"parent-review-feedback/{name}": what for name, what in (named | stray).items()}
    assert dict(faults(layout)) == expected


@pytest.mark.parametrize("name", ["../x", "..", ".", "", "a/b", "a\\b", "a\n"])
def test_no_id_leaves_the_folder(layout: Layout, name: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: save(layout, TaskId(name), OWED),
        lambda: drop(layout, TaskId(name)),
        lambda: layout.feedback_file(TaskId(name)),
    ]
    for attempt in attempts:
        with pytest.raises(UnusableError) as raised:
            attempt()
        assert raised.value.message.startswith(f"task id {name!a} cannot name a file: it ")
    assert not layout.state.exists()


def test_a_folder_that_is_a_link_is_neither_read_nor_written_nor_emptied(
    layout: Layout, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.json").write_bytes(GO_FILE)
    layout.make_folder(layout.state)
    layout.feedback.symlink_to(elsewhere)
    assert FeedbackFiles(layout).load_all().owed == {}
    assert faults(layout) == [("parent-review-feedback", "a symbolic link, not a folder")]
    attempts: list[Callable[[], None]] = [lambda: save(layout, A, OWED), lambda: drop(layout, A)]
    for attempt in attempts:
        with pytest.raises(UnusableError) as raised:
            attempt()
        assert raised.value.message == f"{layout.feedback} is a symbolic link, not a folder"
    assert (elsewhere / "a.json").read_bytes() == GO_FILE


def test_a_file_where_the_folder_should_be_is_told(layout: Layout) -> None:
    layout.make_folder(layout.state)
    layout.feedback.write_text("x")
    assert faults(layout) == [("parent-review-feedback", "Not a directory")]


def test_an_image_holds_what_is_owed(layout: Layout) -> None:
    store = Store(layout)
    with store.transaction() as transaction:
        transaction.save_plan(Plan())
        assert transaction.image() == Image(Plan(), {})
        transaction.save_feedback(A, OWED)
        put(layout, "b.json", b"")
        image = transaction.image()
    assert image.feedback == {A: OWED}
    assert [Path(fault.path).name for fault in image.feedback_faults] == ["b.json"]
    assert image == store.image()


def test_it_goes_with_the_state(layout: Layout) -> None:
    save(layout, A, OWED)
    rules = layout.state.rglob(".gitignore")
    sizes = [path.stat().st_size for path in (layout.feedback_file(A), *rules)]
    assert measure_state(layout, None).size == sum(sizes)
    remove_state(layout, None)
    assert (layout.state.exists(), owed(layout)) == (False, {})


JSON = st.recursive(st.sampled_from(ODD), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=80)
    | st.dictionaries(
        st.sampled_from(["parentTaskId", "reviewRunId", "feedback", "createdAt", "settledAt", "more"]), JSON
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_content_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    layout = make_layout(tmp_path_factory.mktemp("any"))
    put(layout, "a.json", content)
    found, broken, _ = FeedbackFiles(layout).load_all()
    assert len(found) + len(broken) == 1
    for feedback in found.values():
        save(layout, A, feedback)
        assert owed(layout) == found

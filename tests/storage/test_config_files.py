"""Configuration files: read whole or named, written one key at a time."""

import json
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting
from git_blackbird.storage.config_files import (
    format_value,
    global_config_path,
    load_agent_choice,
    load_layer,
    with_key,
    write_global_config,
)
from tests.storage.building import all_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def test_a_missing_file_gives_nothing(path: Path) -> None:
    assert load_layer(path, Layer.PROJECT) == ([], [])
    assert load_layer(path / "below" / "it", Layer.GLOBAL) == ([], [])
    path.write_text("a file")
    assert load_layer(path / "config.json", Layer.GLOBAL) == ([], [])
    assert load_layer(None, Layer.GLOBAL) == ([], [])


def test_the_go_programs_file(path: Path) -> None:
    path.write_text('{"schemaVersion": 1, "tui": {"x": 5}, "execution": {"stopAfterEachTask": true}}')
    assert load_layer(path, Layer.PROJECT) == (
        [
            RawSetting("tui.x", 5, Layer.PROJECT, str(path)),
            RawSetting("execution.stopAfterEachTask", True, Layer.PROJECT, str(path)),
        ],
        [],
    )


def test_each_dot_of_a_key_may_be_a_level_or_not(path: Path) -> None:
    spec: dict[str, object] = {"spec": {"agent": "demo"}, "spec.model": "x"}
    stop = {"execution": {"stopAfterEachTask": {"deep": 1}}, "tui": {}, "a": {"b": {"c": 1}}}
    path.write_text(json.dumps({"reviews": spec, "reviews.code": {"agent": "codex"}, "agent": "demo"} | stop))
    settings, problems = load_layer(path, Layer.PROJECT)
    assert [(setting.name, setting.raw) for setting in settings] == [
        ("reviews.spec.agent", "demo"),
        ("reviews.spec.model", "x"),
        ("reviews.code.agent", "codex"),
        ("agent", "demo"),
        ("execution.stopAfterEachTask", {"deep": 1}),
        ("a.b", {"c": 1}),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("data", "key", "what"),
    [
        (b"", "the file", "Expecting value at line 1, column 1"),
        (b'{"a": 1', "the file", "Expecting ',' delimiter at line 1, column 8"),
        (b'{"a": 1, "a": 2}', "the file", 'the key "a" appears twice in one object'),
        (b"[]", "the file", "is not an object"),
        (b"\xff", "the file", "not UTF-8 at byte 0"),
        (b"[" * 9999, "the file", "nested too deeply"),
        (b'{"a": NaN}', "the file", "NaN is not JSON"),
        (b'{"schemaVersion": 2}', "schemaVersion", "is 2, not 1"),
        (b'{"schemaVersion": true}', "schemaVersion", "is true, not 1"),
        (b'{"schemaVersion": null}', "schemaVersion", "is null, not 1"),
    ],
)
def test_a_file_that_cannot_be_read_whole_is_named_and_fatal(
    path: Path, data: bytes, key: str, what: str
) -> None:
    path.write_bytes(data)
    hint = "write 1 or leave it out" if key == "schemaVersion" else "fix or remove it"
    assert load_layer(path, Layer.PROJECT) == ([], [ConfigProblem(str(path), key, what, hint)])


def test_a_trailing_comma_is_named(path: Path) -> None:
    path.write_bytes(b'{"execution": {"stopAfterEachTask": true},}')
    ((problem,), given) = load_layer(path, Layer.PROJECT)[::-1]
    assert given == []
    assert problem.fatal
    assert " at line 1, column " in problem.what


def test_a_folder_or_a_device_in_its_place_is_named(path: Path, tmp_path: Path) -> None:
    path.symlink_to("/dev/zero")
    for place in (path, tmp_path):
        assert load_layer(place, Layer.PROJECT)[1] == [
            ConfigProblem(str(place), "the file", "not a regular file", "fix or remove it")
        ]


@pytest.mark.parametrize(
    ("data", "chosen"),
    [
        (b'{"schemaVersion": 1, "selectedAgent": "claude"}', ["claude"]),
        (b'{"schemaVersion": 1, "selectedAgent": "evil"}', []),
        (b'{"selectedAgent": 5}', []),
        (b"{}", []),
        (b"[", []),
        (b"[]", []),
        (None, []),
    ],
)
def test_anything_wrong_with_the_go_programs_choice_counts_as_none(
    path: Path, data: bytes | None, chosen: list[str]
) -> None:
    if data is not None:
        path.write_bytes(data)
    assert [one.raw for one in load_agent_choice(path, path.parent)] == chosen


def written(path: Path, key: str, value: object | None) -> object:
    data = with_key(path, key, value)
    assert data.endswith(b"}\n")
    path.write_bytes(data)
    return json.loads(data)


def test_one_key_is_set_and_removed_and_all_else_is_kept(path: Path) -> None:
    before = {
        "schemaVersion": 1,
        "unknown": {"deep": [None, {}, 1.5, "<&>"]},
        "tui": {"x": 5},
        "execution": {"stopAfterEachTask": True, "more": None},
    }
    path.write_text(json.dumps(before))
    assert written(path, "execution.timeoutMinutes", 5) == before | {
        "execution": {"stopAfterEachTask": True, "more": None, "timeoutMinutes": 5}
    }
    assert written(path, "execution.timeoutMinutes", None) == before
    assert written(path, "agent", "demo") == before | {"agent": "demo"}
    assert written(path, "agent", None) == before
    assert written(path, "tui.x", None) == {name: value for name, value in before.items() if name != "tui"}
    assert written(path, "claude.path", None) == {
        name: value for name, value in before.items() if name != "tui"
    }


def test_a_key_stays_where_the_file_has_it_and_a_new_one_has_a_level_for_each_dot(path: Path) -> None:
    path.write_text('{"reviews.spec": {"model": "x"}, "reviews": {"code.agent": "demo"}}')
    assert written(path, "reviews.code.agent", "codex") == {
        "reviews.spec": {"model": "x"},
        "reviews": {"code.agent": "codex"},
        "schemaVersion": 1,
    }
    nested = {"code.agent": "codex", "spec": {"agent": "demo"}}
    assert written(path, "reviews.spec.agent", "demo") == {
        "reviews.spec": {"model": "x"},
        "reviews": nested,
        "schemaVersion": 1,
    }
    written(path, "reviews.spec.agent", None)
    written(path, "reviews.spec.model", None)
    assert written(path, "reviews.code.agent", None) == {"schemaVersion": 1}


def test_a_new_file_has_a_version(path: Path) -> None:
    assert written(path, "execution.stopAfterEachTask", True) == {
        "schemaVersion": 1,
        "execution": {"stopAfterEachTask": True},
    }


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{", "Expecting property name enclosed in double quotes at line 1, column 2"),
        (b"[]", "is not an object"),
        (b'{"execution": 5}', "execution is not an object"),
    ],
)
def test_a_file_that_is_no_configuration_is_named_and_not_written_over(
    path: Path, data: bytes, what: str
) -> None:
    path.write_bytes(data)
    with pytest.raises(UnusableError) as raised:
        with_key(path, "execution.stopAfterEachTask", value=True)
    assert raised.value.message == f"{path}: {what}"


def test_the_global_file_lies_in_the_home(tmp_path: Path) -> None:
    path = global_config_path({"HOME": str(tmp_path)})
    assert path == tmp_path / ".blackbird" / "config.json"
    assert global_config_path({}) is None
    write_global_config(path, b"one")
    write_global_config(path, b"two")
    assert path.read_bytes() == b"two"
    assert all_files(tmp_path / ".blackbird") == ["config.json"]


def test_a_global_file_that_is_a_link_keeps_being_one(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles"
    kept.mkdir()
    path = tmp_path / "config.json"
    path.symlink_to("dotfiles/bb.json")
    write_global_config(path, b"new")
    assert path.readlink() == Path("dotfiles/bb.json")
    assert (kept / "bb.json").read_bytes() == b"new"
    assert all_files(kept) == ["bb.json"]


def test_a_home_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "someone"
    home.mkdir()
    (home / ".blackbird").write_text("a file")
    path = home / ".blackbird" / "config.json"
    with pytest.raises(UnusableError, match=f"cannot save {path}: "):
        write_global_config(path, b"new")
    assert all_files(home) == [".blackbird"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (5, "5"), ("ä", '"ä"'), (("-v", "a b"), '["-v", "a b"]'), (None, "null")],
)
def test_values_are_shown_as_the_file_has_them(value: object, text: str) -> None:
    assert format_value(value) == text

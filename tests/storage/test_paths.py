"""Where things lie, and that links never lead the state elsewhere."""

from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.storage.paths import Paths
from tests.storage.building import all_files, is_rule, make_layout

IGNORED = "runs/\nparent-review-feedback/\ntmp/\n"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


def test_the_places(paths: Paths) -> None:
    task, run = TaskId("a task"), RunId("0199f3a0c0000001")
    root = paths.state_root
    assert paths.plan == root / "blackbird.plan.json"
    assert paths.config == root / ".blackbird/config.json"
    assert paths.agent_choice == root / ".blackbird/agent.json"
    assert paths.record(task, run) == paths.private / "runs/a task/0199f3a0c0000001.json"
    copy = root / ".blackbird/runs/a task/0199f3a0c0000001.json"
    assert paths.copy_of(paths.record(task, run)) == copy
    assert paths.record_of(str(copy.relative_to(root))) == paths.record(task, run)
    assert paths.stream(task, run, "stderr") == paths.private / "streams/a task.0199f3a0c0000001.stderr"
    assert paths.log(task, run, "stderr") == root / ".blackbird/runs/a task/logs/0199f3a0c0000001.stderr"


@pytest.mark.parametrize("name", ["../../x", "..", ".", "", "a/b", "a\\b", "a\0", "a\n", " a", "x" * 129])
def test_no_id_leaves_the_folder_of_runs(paths: Paths, name: str) -> None:
    with pytest.raises(UnusableError) as raised:
        paths.record(TaskId(name), RunId("0" * 16))
    assert raised.value.message.startswith(f"task id {name!a} cannot name a folder: it ")


def test_the_ignore_file_is_written_with_the_first_folder_and_never_again(paths: Paths) -> None:
    paths.make_folder(paths.tmp)
    ignore = paths.state / ".gitignore"
    assert ignore.read_text() == IGNORED
    ignore.write_text("mine\n")
    paths.make_folder(paths.task_copies(TaskId("t")) / "logs")
    assert ignore.read_text() == "mine\n"
    ignore.write_text("")
    paths.make_folder(paths.tmp)
    assert ignore.read_text() == ""


BROUGHT = ["", "!*\n", "!a\n", "*\nx", "a folder", "a link"]


@pytest.mark.parametrize("brought", BROUGHT)
def test_each_folder_has_a_rule_of_its_own_whatever_was_brought(
    paths: Paths, tmp_path: Path, brought: str
) -> None:
    ignore = paths.run_copies / ".gitignore"
    paths.run_copies.mkdir(parents=True)
    if brought == "a folder":
        (ignore / "inner").mkdir(parents=True)
    elif brought == "a link":
        (tmp_path / "elsewhere").write_text("theirs\n")
        ignore.symlink_to(tmp_path / "elsewhere")
    else:
        ignore.write_text(brought)
    paths.make_folder(paths.task_copies(TaskId("t")))
    assert is_rule(ignore)
    assert not ignore.is_symlink()
    written = ignore.stat().st_mtime_ns
    paths.make_folder(paths.task_copies(TaskId("t")) / "logs")
    assert ignore.stat().st_mtime_ns == written
    assert brought != "a link" or (tmp_path / "elsewhere").read_text() == "theirs\n"


def test_a_state_of_the_go_program_gets_the_ignore_file_too(paths: Paths) -> None:
    paths.run_copies.mkdir(parents=True)
    paths.make_folder(paths.run_copies)
    assert all_files(paths.state) == [".gitignore"]


def test_an_ignore_file_that_is_a_link_is_not_written_through(paths: Paths, tmp_path: Path) -> None:
    paths.state.mkdir()
    (paths.state / ".gitignore").symlink_to(tmp_path / "elsewhere")
    paths.make_folder(paths.tmp)
    assert not (tmp_path / "elsewhere").exists()


STEPS = [".blackbird", ".blackbird/runs", ".blackbird/runs/t"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_in_the_way_is_refused_and_nothing_is_written_behind_it(
    paths: Paths, tmp_path: Path, step: str, dangling: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if not dangling:
        elsewhere.mkdir()
    link = paths.state_root / step
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    with pytest.raises(UnusableError) as raised:
        paths.make_folder(paths.task_copies(TaskId("t")))
    assert raised.value.message == f"{link} is a symbolic link, not a folder"
    assert raised.value.hint == "move it away; state is kept there"
    assert elsewhere.exists() != dangling
    assert dangling or all_files(elsewhere) == []


@pytest.mark.parametrize("step", STEPS)
def test_a_file_in_the_way_is_refused(paths: Paths, step: str) -> None:
    path = paths.state_root / step
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(UnusableError, match="is a file, not a folder"):
        paths.make_folder(paths.task_copies(TaskId("t")))
    assert path.read_text() == "mine"

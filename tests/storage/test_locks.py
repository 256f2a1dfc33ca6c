"""One runs agents, one writes; the second is told who holds the lock."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.errors import ExitCode, LockedError, UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.locks import (
    controller_holder,
    controller_lock,
    remove_lock_folders,
    session_lock,
    store_lock,
    take_slot,
    task_lock,
)
from git_blackbird.storage.paths import Paths
from tests.storage.building import STAMP, make_layout

ROOT = Path(__file__).parents[2]
HOLDER = """
import subprocess, sys
from pathlib import Path
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.locks import controller_lock

layout = Paths(Path(sys.argv[1]), Path(sys.argv[2]))
with controller_lock(layout, "execute", "2026-01-01T00:00:00Z"):
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


@pytest.fixture
def holder(paths: Paths) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Another process that holds the controller lock, and the pid of a child of its."""
    arguments = [sys.executable, "-c", HOLDER, str(paths.state_root), str(paths.private)]
    process = subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    os.kill(child, 9)
    process.kill()
    process.communicate()


def refusal(paths: Paths) -> LockedError:
    with pytest.raises(LockedError) as raised, controller_lock(paths, "resume t", STAMP):
        pass
    return raised.value


def test_a_second_holder_is_told_who_holds_the_lock_since_when(
    paths: Paths, holder: tuple["subprocess.Popen[str]", int]
) -> None:
    process, _ = holder
    said = f"execute (process {process.pid}) since 2026-01-01T00:00:00Z"
    error = refusal(paths)
    assert error.message == f"another git-blackbird is running here: {said}"
    assert error.hint == "wait for it; `git blackbird status` says what can be done from here meanwhile"
    assert error.exit_code == ExitCode.LOCKED
    assert str(controller_holder(paths)) == said


def test_the_lock_is_free_once_its_holder_is_killed_though_its_child_lives(
    paths: Paths, holder: tuple["subprocess.Popen[str]", int]
) -> None:
    process, child = holder
    process.kill()
    process.wait()
    os.kill(child, 0)
    assert controller_holder(paths) is None
    with controller_lock(paths, "execute", STAMP):
        assert str(controller_holder(paths)) == f"execute (process {os.getpid()}) since {STAMP}"
    assert controller_holder(paths) is None


def test_the_file_stays_and_a_shorter_name_leaves_nothing_of_a_longer_one(paths: Paths) -> None:
    for command in ("execute " + "t" * 500, "x"):
        with controller_lock(paths, command, STAMP):
            assert json.loads(paths.controller_lock.read_text()) == {
                "command": command,
                "pid": os.getpid(),
                "since": STAMP,
            }
    assert paths.controller_lock.exists()
    assert paths.controller_lock.stat().st_mode & 0o777 == 0o600


def test_nobody_holds_what_was_never_locked(paths: Paths) -> None:
    assert controller_holder(paths) is None
    assert not paths.private.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b"null"])
def test_a_holder_that_has_not_said_who_it_is(paths: Paths, content: bytes) -> None:
    with controller_lock(paths, "x", STAMP):
        paths.controller_lock.write_bytes(content)
        assert "a process that is just starting" in refusal(paths).message


def test_the_two_locks_are_two(paths: Paths) -> None:
    with controller_lock(paths, "x", STAMP), store_lock(paths, b"x"):
        assert controller_holder(paths) is not None


def test_a_lock_is_let_go_when_its_command_fails(paths: Paths) -> None:
    with pytest.raises(ZeroDivisionError), controller_lock(paths, "x", STAMP), store_lock(paths, b"x"):
        _ = 1 / 0
    with controller_lock(paths, "x", STAMP), store_lock(paths, b"x"):
        pass


PROBING = """
import sys
from pathlib import Path
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.locks import controller_holder

layout = Paths(Path(sys.argv[1]), Path(sys.argv[2]))
print("probing", flush=True)
for _ in range(2000):
    holder = controller_holder(layout)
    assert holder is None or holder.command in {"the test", ""}, holder
"""


def test_who_only_asks_for_the_holder_is_in_nobodys_way(paths: Paths) -> None:
    with controller_lock(paths, "the test", STAMP):
        pass
    arguments = [sys.executable, "-c", PROBING, str(paths.state_root), str(paths.private)]
    probes = [subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    for probe in probes:
        assert probe.stdout is not None
        probe.stdout.readline()
    while any(probe.poll() is None for probe in probes):
        with controller_lock(paths, "the test", STAMP):
            pass
    for probe in probes:
        probe.communicate()
    assert [probe.returncode for probe in probes] == [0, 0]


def test_a_git_folder_that_cannot_be_written_is_reported(paths: Paths) -> None:
    paths.private.parent.mkdir()
    paths.private.write_text("a file")
    for lock in (controller_lock(paths, "x", STAMP), store_lock(paths, b"x")):
        with pytest.raises(UnusableError, match="blackbird is a file, not a folder") as raised, lock:
            pass
        assert raised.value.hint == "move it away; state is kept there"


SESSION = ("codex", "01a1fe01-a020-77f2-95d5-f9263108c704")
SESSION_HOLDER = """
import sys
from pathlib import Path
from git_blackbird.storage.locks import session_lock

with session_lock(Path(sys.argv[1]), sys.argv[2], sys.argv[3], "run 1 of t in /there"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_session_at_work_elsewhere_is_refused_and_free_when_its_holder_dies(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    arguments = [sys.executable, "-c", SESSION_HOLDER, str(folder), *SESSION]
    process = subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(LockedError) as raised, session_lock(folder, *SESSION, "run 2"):
        pass
    assert raised.value.message == f"session {SESSION[1]} of codex is in use: run 1 of t in /there"
    with session_lock(folder, "claude", SESSION[1], "another provider's"):
        pass
    process.kill()
    process.communicate()
    with session_lock(folder, *SESSION, "run 2"):
        assert [path.read_text() for path in folder.iterdir()] == ["run 2"]
        remove_lock_folders(tmp_path, folder)
        assert folder.exists()
    remove_lock_folders(tmp_path, folder)
    assert not folder.exists()


def test_a_task_is_locked_for_all_worktrees_of_a_repository(tmp_path: Path) -> None:
    with task_lock(tmp_path, TaskId("a"), "run 1 of a in /there"):
        with task_lock(tmp_path, TaskId("b"), "another task"):
            assert len(list((tmp_path / "blackbird" / "tasks").iterdir())) == 2
        with pytest.raises(LockedError) as raised, task_lock(tmp_path, TaskId("a"), "run 2"):
            raise AssertionError("locked twice")
        assert raised.value.message == "task a is in use: run 1 of a in /there"
    remove_lock_folders(tmp_path, None)
    assert not (tmp_path / "blackbird").exists()


def test_a_place_for_session_locks_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UnusableError, match="file/sessions"),
        session_lock(tmp_path / "file/sessions", *SESSION, ""),
    ):
        pass


def test_a_slot_is_the_first_free_one_of_so_many(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "checks"
    with take_slot(folder, 1, "one"):
        for count in (1, 2):
            with take_slot(folder, 2, "two"), pytest.raises(LockedError, match=r"^one$"):
                take_slot(folder, count, "three")
        with take_slot(folder, 2, "two"):
            pass
    with take_slot(folder, 1, "four"):
        assert sorted(path.name for path in folder.iterdir()) == ["slot-0", "slot-1"]


def test_a_slot_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableError, match=r"cannot write .*/file/checks/slot-0: Not a directory"):
        take_slot(tmp_path / "file" / "checks", 1, "one")

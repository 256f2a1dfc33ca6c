"""A save leaves the old file or the new one, and nothing else."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.errors import ExitCode, UnusableError
from git_blackbird.storage.files import SaveError, sweep_temporaries, write_atomic, write_private
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store
from tests.storage.building import all_files, make_layout
from tests.support import hold_none, redact_none

ROOT = Path(__file__).parents[2]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return make_layout(tmp_path)


@pytest.fixture
def old_umask() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


def test_a_save_makes_and_replaces_and_leaves_nothing_beside(paths: Paths, old_umask: None) -> None:
    for data in (b"one", b"two", b""):
        write_atomic(paths, paths.plan, data)
        write_atomic(paths, paths.runs / "t" / "r.json", data, mode=0o600)
        assert paths.plan.read_bytes() == data
    assert all_files(paths.state_root) == [paths.plan.name]
    assert all_files(paths.private) == ["runs/t/r.json"]
    assert paths.plan.stat().st_mode & 0o777 == 0o644
    assert (paths.runs / "t" / "r.json").stat().st_mode & 0o777 == 0o600


def test_a_save_is_a_new_file_so_that_readers_of_the_old_one_keep_it_whole(paths: Paths) -> None:
    write_atomic(paths, paths.plan, b"old")
    with paths.plan.open("rb") as reader:
        write_atomic(paths, paths.plan, b"new")
        assert reader.read() == b"old"


@pytest.mark.parametrize("dangling", [False, True])
def test_a_plan_that_is_a_link_keeps_being_one(paths: Paths, dangling: bool) -> None:
    kept = paths.state_root / "kept"
    kept.mkdir()
    if not dangling:
        (kept / "plan.json").write_text("old")
    paths.plan.symlink_to("kept/plan.json")
    write_atomic(paths, paths.plan, b"new")
    assert paths.plan.readlink() == Path("kept/plan.json")
    assert (kept / "plan.json").read_bytes() == b"new"
    assert all_files(kept) == ["plan.json"]


def test_nothing_is_written_through_a_link_out_of_the_worktree(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    paths.plan.symlink_to("../theirs")
    with pytest.raises(SaveError, match="leads out of the worktree, to "):
        write_atomic(paths, paths.plan, b"new")
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_a_link_inside_the_state_is_replaced_not_followed(paths: Paths, tmp_path: Path) -> None:
    paths.make_folder(paths.state)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    paths.config.symlink_to(victim)
    write_atomic(paths, paths.config, b"new")
    assert (victim.read_text(), paths.config.read_bytes()) == ("mine", b"new")
    assert not paths.config.is_symlink()


def test_what_stands_in_the_way_is_named_and_stays(paths: Paths) -> None:
    paths.plan.mkdir()
    with pytest.raises(SaveError) as raised:
        write_atomic(paths, paths.plan, b"new")
    assert raised.value.message == f"cannot save {paths.plan}: Is a directory"
    assert raised.value.hint == "nothing was half-written; make it writable, then repeat the command"
    assert raised.value.exit_code == ExitCode.UNUSABLE
    assert all_files(paths.state_root) == []


def test_a_plan_that_links_to_itself_is_an_error(paths: Paths) -> None:
    paths.plan.symlink_to(paths.plan.name)
    store = Store(paths, hold_none, redact_none)
    with pytest.raises(UnusableError, match="Too many levels of symbolic links"):
        store.plan()


FULL_DISK = """
import resource, sys
from pathlib import Path
from git_blackbird.storage.files import SaveError, write_private, write_atomic
from git_blackbird.storage.paths import Paths

layout = Paths(Path(sys.argv[1]), Path(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for save in (
    lambda: write_atomic(layout, layout.plan, b"x" * 5000),
    lambda: write_atomic(layout, layout.runs / "t" / "r.json", b"x" * 5000, mode=0o600),
    lambda: write_private(layout.known_plan, b"x" * 5000),
):
    try:
        save()
    except SaveError as error:
        print(error.message)
"""


def test_a_save_that_does_not_fit_leaves_the_old_file_and_no_other(paths: Paths) -> None:
    write_atomic(paths, paths.plan, b"old")
    write_private(paths.known_plan, b"old")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(paths.state_root), str(paths.private)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        f"cannot save {path}: File too large"
        for path in (paths.plan, paths.runs / "t" / "r.json", paths.known_plan)
    ]
    assert (paths.plan.read_bytes(), paths.known_plan.read_bytes()) == (b"old", b"old")
    assert all_files(paths.state_root) == [paths.plan.name]
    assert all_files(paths.private) == ["plan-known.json"]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where this process may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_reported_and_nothing_is_half_written(full_disk: Path) -> None:
    paths = make_layout(full_disk)
    write_atomic(paths, paths.plan, b"old")
    with pytest.raises(SaveError, match=r"cannot save .*: No space left on device"):
        write_atomic(paths, paths.plan, b"x" * 200_000)
    with pytest.raises(SaveError, match="No space left on device"):
        write_atomic(paths, paths.runs / "t" / "r.json", b"x" * 200_000)
    assert paths.plan.read_bytes() == b"old"
    assert all_files(paths.state_root) == [paths.plan.name]
    write_atomic(paths, paths.plan, b"new")
    assert paths.plan.read_bytes() == b"new"


def test_a_plan_on_another_file_system_is_saved_there_as_atomically(full_disk: Path, tmp_path: Path) -> None:
    paths = Paths(full_disk.parent, tmp_path / "git-dir")
    (full_disk / "plan.json").write_text("old")
    paths.plan.symlink_to(full_disk / "plan.json")
    write_atomic(paths, paths.plan, b"new")
    assert (full_disk / "plan.json").read_bytes() == b"new"
    with pytest.raises(SaveError):
        write_atomic(paths, paths.plan, b"x" * 200_000)
    assert all_files(full_disk) == ["plan.json"]
    assert (full_disk / "plan.json").read_bytes() == b"new"
    assert not paths.state.exists()


@pytest.fixture
def read_only(full_disk: Path) -> Iterator[Paths]:
    paths = make_layout(full_disk)
    write_atomic(paths, paths.plan, b"old")
    subprocess.run(["mount", "-o", "remount,ro", str(full_disk)], check=True)
    yield paths
    subprocess.run(["mount", "-o", "remount,rw", str(full_disk)], check=True)


def test_a_read_only_repository_is_reported(read_only: Paths) -> None:
    with pytest.raises(SaveError, match="Read-only file system"):
        write_atomic(read_only, read_only.plan, b"new")
    assert read_only.plan.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_without_write_permission_is_reported(paths: Paths) -> None:
    paths.state_root.chmod(0o500)
    with pytest.raises(SaveError, match="Permission denied"):
        write_atomic(paths, paths.plan, b"new")
    paths.state_root.chmod(0o700)


def test_leftovers_of_crashed_saves_are_swept_and_nothing_else(paths: Paths) -> None:
    sweep_temporaries(paths)
    for folder in (paths.tmp, paths.private_tmp):
        folder.mkdir(parents=True)
        for name in ("plan.1.0.tmp", "r.json.99.7.tmp", "keep.txt"):
            (folder / name).write_text("x")
        (folder / "folder.tmp").mkdir()
    sweep_temporaries(paths)
    assert all_files(paths.tmp) == all_files(paths.private_tmp) == ["keep.txt"]


@pytest.mark.parametrize("linked", ["state", "tmp"])
def test_a_sweep_does_not_follow_links(paths: Paths, tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    victim = elsewhere / ("tmp/victim.tmp" if linked == "state" else "victim.tmp")
    victim.parent.mkdir(parents=True)
    victim.write_text("mine")
    if linked == "state":
        paths.state.symlink_to(elsewhere)
    else:
        paths.state.mkdir()
        paths.tmp.symlink_to(elsewhere)
    sweep_temporaries(paths)
    assert victim.read_text() == "mine"

"""What a killed agent leaves at the top of the worktree is removed, and nothing else."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.agents.protocol import TMP_FOLDER
from git_blackbird.controller.launch.run_files import (
    remove_litter,
    scratch_dir,
    scratch_dirs,
    sweep_scratch_dirs,
)
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.paths import Paths
from tests.controller.killing import run_killed

STARTED = 1_800_000_000
RUN = Run(
    id=RunId("01a1fe01a0200000"),
    task_id=TaskId("a"),
    started_at="2027-01-15T08:00:00Z",
    status=RunStatus.RUNNING,
)


def test_only_empty_folders_made_since_the_run_began_are_removed(tmp_path: Path) -> None:
    for name, age in ((".codex", 1), (".agents", -1), (".aws", 1), ("other", 1)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (STARTED + age, STARTED + age))
    (tmp_path / ".aws/config").write_text("[default]")
    os.utime(tmp_path / ".aws", (STARTED + 1, STARTED + 1))
    remove_litter(tmp_path, RUN, (".codex", ".agents", ".aws", ".missing"))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == [
        ".agents",
        ".aws",
        "other",
    ]


def test_a_link_or_a_file_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / ".codex").symlink_to(tmp_path / "home")
    (tmp_path / ".agents").write_text("")
    remove_litter(tmp_path, RUN, (".codex", ".agents"))
    assert (tmp_path / ".codex").is_symlink()
    assert (tmp_path / ".agents").is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_read_only_folders_and_what_links_lead_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o500)
    with scratch_dir(Paths(tmp_path, tmp_path), RunId("1" * 16)) as folder:
        inner = folder / "cache" / "module"
        inner.mkdir(parents=True)
        (inner / "file").touch()
        (folder / "link").symlink_to(mine)
        inner.chmod(0o500)
        inner.parent.chmod(0o500)
    assert not folder.exists()
    assert stat.S_IMODE(mine.stat().st_mode) == 0o500


def test_a_kill_while_its_folder_is_made_or_removed_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp = tmp_path / "tmp"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp))
    tmp.mkdir()
    paths, run_id = Paths(tmp_path, tmp_path / "private"), RunId("1" * 16)

    def work() -> None:
        with scratch_dir(paths, run_id) as folder:
            for name in ("a", "b", "z"):
                (folder / name).mkdir()
                (folder / name / "file").touch()

    at = 1
    while run_killed(work, at):
        assert list(scratch_dirs(paths)) == list(tmp.iterdir())
        # Even where it is not cleaned, as by a call that has no right to, it is in nobody's way.
        with scratch_dir(paths, run_id) as folder:
            assert list(folder.iterdir()) == []
        sweep_scratch_dirs(paths)
        assert [*tmp.iterdir(), *paths.scratch.iterdir()] == []
        at += 1
    assert at > 12
    # Of others nothing is removed, nor by a copy of the git directory.
    (tmp / f"git-blackbird-{'2' * 16}").mkdir()
    with scratch_dir(paths, run_id) as folder:
        shutil.copytree(paths.private, tmp_path / "copy")
        sweep_scratch_dirs(Paths(tmp_path, tmp_path / "copy"))
        assert folder.is_dir()
    assert [path.name for path in tmp.iterdir()] == [f"git-blackbird-{'2' * 16}"]


def test_a_process_is_found_by_the_folder_that_was_made_beside_one_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths, run_id = Paths(tmp_path, tmp_path / "private"), RunId("1" * 16)
    (tmp_path / f"git-blackbird-{run_id}/left").mkdir(parents=True)
    with scratch_dir(paths, run_id) as folder:
        environ = {**os.environ, "TMPDIR": str(folder / TMP_FOLDER)}
        with subprocess.Popen(["sleep", "600"], env=environ) as process:
            assert signals.marked(run_id) == [process.pid]
            process.kill()
    assert [path.name for path in tmp_path.glob("git-*")] == [f"git-blackbird-{run_id}"]

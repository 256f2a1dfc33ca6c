"""What a killed agent leaves at the top of the worktree is removed, and nothing else."""

import os
from pathlib import Path

from git_blackbird.controller.runs.agent_process import remove_litter
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.run import Run, RunStatus

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

"""Starting a command that tells a person something."""

import os
from pathlib import Path

import pytest

from git_blackbird.agents.notify import NotifyProcess, start_notification
from tests.support import wait_until

PATIENCE_SECONDS = 60.0


def ended(notification: NotifyProcess) -> str | None:
    """Wait for the end and give what is wrong with it."""
    wait_until(lambda: not notification.is_running)
    return notification.fault


def start(command: str, cwd: Path, *, seconds: float = PATIENCE_SECONDS, **variables: str) -> NotifyProcess:
    return start_notification(command, cwd=cwd, environ={**os.environ, **variables}, seconds=seconds)


def test_it_runs_through_sh_in_its_folder(tmp_path: Path) -> None:
    assert ended(start('printf "%s in %s" "$TEXT" "$PWD" >out', tmp_path, TEXT="it's due")) is None
    assert (tmp_path / "out").read_text() == f"it's due in {tmp_path}"


def test_its_output_goes_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(start("echo out; echo err >&2; cat", tmp_path)) is None
    assert capfd.readouterr() == ("", "")


def test_a_failure_is_named(tmp_path: Path) -> None:
    assert ended(start("exit 3", tmp_path)) == "exit status 3"
    assert ended(start("kill -9 $$", tmp_path)) == "signal 9"
    assert ended(start("no-such-program-anywhere", tmp_path)) == "exit status 127"


def test_one_that_takes_too_long_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    command = "sleep 1000 & echo $! >pid.tmp; mv pid.tmp pid; wait"
    assert ended(start(command, tmp_path, seconds=2)) == "it was still running after 2 s"
    pid = int((tmp_path / "pid").read_text())
    stat = Path(f"/proc/{pid}/stat")
    wait_until(lambda: not stat.exists() or " Z " in stat.read_text())


def test_one_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    assert ended(start("true", tmp_path / "nowhere")) == f"cannot work in {tmp_path / 'nowhere'}"

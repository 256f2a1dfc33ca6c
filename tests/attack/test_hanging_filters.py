"""Ctrl+C ends every wait for git, whatever a filter of the repository does."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Trial


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    """A repository with a clean filter that waits for ever where ``hang`` is there, and says that it does."""
    hang, up, held = (tmp_path / name for name in ("hang", "up", "held"))
    os.mkfifo(held)
    script = tmp_path / "filter"
    script.write_text(f"#!/bin/sh\n[ ! -e '{hang}' ] || {{ echo $$ >>'{up}'; read -r _ <'{held}'; }}\ncat\n")
    script.chmod(0o755)
    git(repo, "config", "filter.slow.clean", str(script))
    commit(repo, {".gitattributes": "*.slow filter=slow\n", "a.slow": "one\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.command("cat >/dev/null; echo more >>a.slow; touch ../hang")
    trial.configure({"execution.stopAfterEachTask": "true", "snapshot.timeoutSeconds": "3600"})
    return trial


def waiting(tmp_path: Path, number: int = 1) -> int:
    """Wait until the filter waits for that many times; gives the process of the last one."""
    up = tmp_path / "up"
    wait_until(lambda: up.exists() and len(up.read_text().splitlines()) >= number)
    return int(up.read_text().splitlines()[number - 1])


def interrupted(process: subprocess.Popen[str], filtering: int) -> tuple[int, str]:
    """Press Ctrl+C until the program ends: two presses at once count as one.

    Gives its exit status as a shell would: the last press may come when all is done, and end the process.
    """
    for _ in range(200):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            break
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    wait_until(lambda: not Path(f"/proc/{filtering}").exists())
    code = process.returncode
    return 128 - code if code < 0 else code, said


def test_before_a_run_nothing_is_started(trial: Trial, tmp_path: Path) -> None:
    (tmp_path / "hang").touch()
    (trial.repo / "a.slow").write_text("two\n")
    process = trial.start("execute", "--no-input")
    code, said = interrupted(process, waiting(tmp_path))
    assert code == 130, said
    assert trial.records("a") == []
    assert trial.statuses() == {"a": "todo", "b": "todo"}


def test_after_a_run_a_second_one_closes_it_with_a_minimal_summary(trial: Trial, tmp_path: Path) -> None:
    process = trial.start("execute", "--no-input")
    filtering = waiting(tmp_path)
    code, said = interrupted(process, filtering)
    assert code == 130, said
    [record] = trial.records("a")
    assert (record["status"], record["decision_state"]) == ("success", "pending")
    assert "was interrupted" in record["review_summary"]["minimal"]


def test_at_a_decision_it_stays_pending(trial: Trial, tmp_path: Path) -> None:
    trial.configure({"execution.commit": "approved"})
    trial.command("cat >/dev/null; echo more >>a.slow")
    trial.expect(3, "execute", "--no-input")
    (tmp_path / "hang").touch()
    os.utime(trial.repo / "a.slow", (1, 1))
    process = trial.start("decide", "a", "--approve")
    code, said = interrupted(process, waiting(tmp_path))
    assert code == 130, said
    assert trial.records("a")[0]["decision_state"] == "pending"
    (tmp_path / "hang").unlink()
    trial.expect(0, "decide", "a", "--approve")


def test_in_recovery_the_run_is_closed_by_the_next_call(trial: Trial, tmp_path: Path) -> None:
    trial.command("cat >/dev/null; echo more >>a.slow; touch ../hang; exec sleep 3600")
    process = trial.start("execute", "--no-input")
    wait_until((tmp_path / "hang").exists)
    process.kill()
    process.communicate()
    code, said = interrupted(trial.start("execute", "--no-input"), waiting(tmp_path))
    assert code == 130, said
    assert trial.records("a")[0]["status"] == "running"
    (tmp_path / "hang").unlink()
    trial.command("true")
    trial.run("execute", "--no-input")
    record = trial.records("a")[0]
    assert record["status"] != "running"
    assert record["review_summary"]["files"] == ["a.slow"]

"""A trace of the real program: what it started, read, wrote, decided and waited for."""

import fcntl
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from git_blackbird import trace
from git_blackbird.cli.errors import report_bug
from git_blackbird.git.core.repository import discover
from tests import preloaded
from tests.controller.support import agree_to_agent, configure, leaf, put_plan
from tests.support import commit, wait_until

SECRET = "the words of a prompt"
LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{6} git-blackbird\[\d+\] ([a-z ]+): (.*)")


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"old.txt": "old\n"}, "first")
    put_plan(repo, leaf("a", prompt=SECRET))
    configure(repo, agent="command", command__run="cat >/dev/null; echo done >new.txt")
    agree_to_agent(repo)
    return repo


def call(repo: Path, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run(
        [sys.executable, "-m", "git_blackbird", *args],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def events(text: str) -> list[tuple[str, str]]:
    lines = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(lines), text
    return [(match[1], match[2]) for match in lines if match is not None]


def test_a_file_has_what_was_started_read_written_and_decided(planned: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    done = call(planned, "execute", "--stop-after-each", "--no-input", BLACKBIRD_TRACE=str(file))
    assert (done.returncode, "trace" in done.stderr) == (3, False)
    assert call(planned, "decide", "a", "--approve", BLACKBIRD_TRACE=str(file)).returncode == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    seen = events(file.read_text())
    whats = {what for what, _ in seen}
    assert {"command", "start", "exit", "read", "write", "rename", "lock", "unlock"} <= whats
    assert [told for what, told in seen if what == "next action"] == ["start a", "decide a"]
    assert [told.split()[0] for what, told in seen if what == "decide"] == ["approved_continue"]
    started = [told for what, told in seen if what == "start"]
    assert any("git rev-parse" in told and told.endswith(f"in {planned}") for told in started)
    assert any("new.txt" in told for told in started)
    assert any(re.fullmatch(r"\d+ 0 \d+\.\d{3} s git .*", told) for what, told in seen if what == "exit")
    assert any(
        what == "rename" and told.endswith("to " + str(planned / "blackbird.plan.json"))
        for what, told in seen
    )


def test_no_prompt_and_no_value_of_the_environment_is_in_it(planned: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    call(planned, "execute", "--no-input", BLACKBIRD_TRACE=str(file), A_TOKEN="hunter2")
    call(planned, "resume", "a", "-m", "and a message", "--no-input", BLACKBIRD_TRACE=str(file))
    text = file.read_text()
    assert not [word for word in (SECRET, "hunter2", "and a message") if word in text]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_it_goes_to_standard_error(planned: Path, value: str) -> None:
    done = call(planned, "list", BLACKBIRD_TRACE=value)
    assert done.stdout == "a  READY  Task a\n"
    assert ("command", "list") in events(done.stderr)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("value", ["", "0", "false", "False"])
def test_without_it_nothing_is_said(planned: Path, value: str) -> None:
    assert call(planned, "list", BLACKBIRD_TRACE=value).stderr == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("2", "BLACKBIRD_TRACE is neither 0, 1, true, false nor an absolute path: 2"),
        ("a\x1b[31m", "BLACKBIRD_TRACE is neither 0, 1, true, false nor an absolute path: a\\x1b[31m"),
        ("/nowhere/trace", "cannot write the trace to /nowhere/trace: No such file or directory"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_stops_nothing(planned: Path, value: str, says: str) -> None:
    done = call(planned, "validate", BLACKBIRD_TRACE=value)
    assert (done.returncode, done.stdout, done.stderr) == (0, "OK\n", f"warning: {says}\n")


@pytest.mark.exhaustive
def test_a_folder_and_a_pipe_that_nobody_reads_are_named(planned: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, why in ((tmp_path, "Is a directory"), (pipe, "No such device or address")):
        done = call(planned, "validate", BLACKBIRD_TRACE=str(path))
        said = f"warning: cannot write the trace to {path}: {why}\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, "OK\n", said)


def test_a_full_device_ends_the_trace_alone(planned: Path) -> None:
    done = call(planned, "validate", BLACKBIRD_TRACE="/dev/full")
    assert (done.returncode, done.stdout) == (0, "OK\n")
    assert done.stderr == "warning: cannot write the trace: No space left on device\n"


def test_waiting_for_a_lock_is_timed(planned: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    lock = planned / ".git/blackbird/store.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = threading.Thread(
            target=call, args=(planned, "edit", "a", "--title", "b"), kwargs={"BLACKBIRD_TRACE": str(file)}
        )
        waiting.start()
        wait_until(lambda: file.exists() and str(lock) in file.read_text())
    waiting.join()
    (taken, *_) = (told for what, told in events(file.read_text()) if what == "lock")
    assert re.fullmatch(rf"{lock} after \d+\.\d{{3}} s", taken)


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    trace.event("exit", ["git", "a b", "\x1b[31m"], 0.25, b"raw\xff")
    assert trace.latest()[-1].endswith("exit: git 'a b' '\\x1b[31m' 0.250 s raw\\udcff")


def test_the_latest_events_are_kept_without_a_trace(repo: Path) -> None:
    put_plan(repo, leaf("a"))
    discover(repo, os.environ)
    assert any(" exit: " in line and "git rev-parse" in line for line in trace.latest())


def test_a_bug_report_ends_with_the_latest_events(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(repo))
    put_plan(repo, leaf("a"))
    discover(repo, os.environ)
    assert report_bug(ValueError("seven"), ["status"]) == 70
    (report,) = repo.glob("git-blackbird-bug-*")
    _, _, last = report.read_text().partition("\nwhat it did last:\n")
    assert any(what == "exit" and "git rev-parse" in told for what, told in events(last))

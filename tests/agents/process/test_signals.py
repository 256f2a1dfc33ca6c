import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from tests.support import wait_until

# The tests of other workers may have processes of their own.
RUN = f"run-{os.getpid()}"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="environments are read from /proc")


@contextmanager
def running(script: str, run_id: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Run a script in a session of its own, from when it has said that it is ready."""
    environ = {**os.environ, "BLACKBIRD_RUN_ID": run_id}
    argv = ["/bin/sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environ, start_new_session=True) as popen:
        assert popen.stdout is not None
        assert popen.stdout.readline() == b"ready\n"
        try:
            yield popen
        finally:
            signals.kill_orphans(signals.related_processes(popen.pid, run_id), run_id, grace_seconds=0)


def test_identity_outlives_nothing() -> None:
    with running("echo ready; sleep 600") as popen:
        who = signals.identity(popen.pid)
        assert who is not None
        assert who == signals.identity(popen.pid)
        assert signals.is_alive(popen.pid, who)
        assert not signals.is_alive(popen.pid, who + "0")
        popen.kill()
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        assert signals.identity(popen.pid) is None, "a zombie is gone"
        popen.wait()
        assert not signals.is_alive(popen.pid, who)


@linux_only
def test_identity_is_that_of_records_written_before() -> None:
    with running("echo ready; sleep 600") as popen:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        start = Path(f"/proc/{popen.pid}/stat").read_text().rpartition(")")[2].split()[19]
        assert signals.identity(popen.pid) == f"{boot}:{start}"


@linux_only
def test_processes_seen_before_are_not_of_a_run_that_began_since() -> None:
    with running("echo ready; sleep 600", RUN) as first:
        signals.related_processes(None, "")
        seen = signals.seen_processes()
        with running("echo ready; sleep 600", RUN) as second:
            assert second.pid in signals.related_processes(None, RUN, seen)
            assert first.pid not in signals.related_processes(None, RUN, seen)
            assert first.pid in signals.related_processes(None, RUN), "with nothing seen before"
            assert second.pid not in signals.related_processes(None, RUN, signals.seen_processes())


@linux_only
def test_the_processes_seen_are_those_of_the_latest_listing() -> None:
    signals.related_processes(None, "")
    seen = signals.seen_processes()
    with running("echo ready; sleep 600", RUN) as popen:
        assert signals.seen_processes() == seen, "starting an agent lists none"
        assert popen.pid in signals.related_processes(None, RUN, signals.seen_processes())


def test_identity_is_known_where_psutil_follows_the_clock_too() -> None:
    with running("echo ready; sleep 600") as popen:
        who = signals.start_from_ps(popen.pid)
        assert who is not None
        assert datetime.strptime(who + "Z", "%a-%b-%d-%H:%M:%S-%Y%z") <= datetime.now(tz=UTC)
        assert signals.start_from_ps(popen.pid) == who
        popen.kill()
        popen.wait()
        assert signals.start_from_ps(popen.pid) is None


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 5])
def test_what_is_no_process_has_no_identity(pid: int) -> None:
    assert signals.identity(pid) is None


@linux_only
def test_marked_finds_what_carries_the_run_id_and_nothing_else() -> None:
    with (
        running("setsid sleep 600 & echo ready; sleep 600", RUN) as popen,
        running("echo ready; sleep 600", f"{RUN}2"),
    ):
        # One that is becoming another program has no environment for a moment.
        wait_until(lambda: len(signals.marked(RUN)) == 3)
        assert popen.pid in signals.marked(RUN)
        assert signals.marked("run-") == []
        assert signals.marked("") == []


@linux_only
def test_stop_tree_stops_the_group_and_what_left_it() -> None:
    with running("(setsid sleep 600 &); sleep 600 & echo ready; sleep 600", RUN) as popen:
        who = signals.identity(popen.pid)
        assert signals.stop_tree(popen.pid, RUN, identity=who, grace_seconds=5) >= 3
        assert popen.wait() in {-signal.SIGINT, -signal.SIGTERM}
        assert signals.marked(RUN) == []


def test_stop_tree_ends_what_ignores_signals() -> None:
    with running("trap '' INT TERM; echo ready; while :; do sleep 0.1; done") as popen:
        who = signals.identity(popen.pid)
        signals.stop_tree(popen.pid, "", identity=who, grace_seconds=0.05)
        assert popen.wait() == -signal.SIGKILL


def test_stop_tree_leaves_another_process_of_that_number_alone() -> None:
    with running("echo ready; sleep 600") as popen:
        assert signals.stop_tree(popen.pid, RUN, identity="another", grace_seconds=0) == 0
        assert signals.stop_tree(popen.pid, RUN, identity=None, grace_seconds=0) == 0
        assert popen.poll() is None


@pytest.mark.parametrize("pid", [0, 1, os.getpid()], ids=["none", "first", "own"])
def test_nobody_signals_himself_or_the_first_process(pid: int) -> None:
    who = signals.identity(pid) or ""
    assert not signals.signal_process(pid, who, signal.SIGTERM)
    assert not signals.signal_group(pid, who, signal.SIGTERM)
    assert os.getpid() not in signals.related_processes(os.getpgrp(), "")


@linux_only
def test_a_process_that_becomes_another_program_is_never_overlooked(tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.write_text('exec sh "$0"')
    with running(f"echo ready; exec sh {again}", RUN) as popen:
        assert [signals.marked(RUN) for _ in range(300)] == [[popen.pid]] * 300

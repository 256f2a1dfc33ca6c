import asyncio
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.process.logs import cut_saved
from git_blackbird.agents.protocol import Launch, Limits
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import Ended, ExitCause
from tests.agents.running import MEGABYTE, RUN_ID, Bin, Ear, Stage, until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="what hides is found in /proc")
HURRIED = Limits(wall_seconds=60, idle_seconds=60, grace_seconds=0.2)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    yield Stage(tmp_path / "stage")
    assert signals.marked(RUN_ID) == []


def sh(script: str) -> Launch:
    return Launch(argv=("/bin/sh", "-c", script), stdin=b"")


def test_an_agent_reads_its_prompt_and_its_streams_are_kept(stage: Stage) -> None:
    ended = stage.run_shell("cat; echo oops >&2; exit 3", stdin=b"do it\n")
    assert (ended.exit_code, ended.cause) == (3, ExitCause.EXITED)
    assert (ended.stdout_tail, ended.stderr_tail) == ("do it\n", "oops\n")
    assert (ended.stdout_bytes, ended.stdout_dropped) == (6, 0)
    assert (ended.stderr_bytes, ended.stderr_dropped) == (5, 0)
    assert ended.leftovers_stopped == 0
    assert stage.logs.stdout.read_bytes() == b"do it\n"
    assert stage.logs.stderr.read_bytes() == b"oops\n"
    assert b"".join(stage.output) in {b"do it\noops\n", b"oops\ndo it\n"}


def test_prompt_and_logs_are_for_the_owner_only(stage: Stage) -> None:
    stage.run_shell("echo hello", stdin=b"secret")
    work = stage.work
    files = (stage.logs.stdout, stage.logs.stderr, work / "prompt", work / "tmp")
    assert [oct(stat.S_IMODE(path.stat().st_mode)) for path in files] == ["0o600", "0o600", "0o600", "0o700"]


def test_the_files_of_a_launch_are_there_when_it_starts_for_the_owner_only(stage: Stage) -> None:
    script = 'cat "$TMPDIR/../schema.json"; ls -l "$TMPDIR/../schema.json" | cut -c1-10'
    launch = Launch(argv=("/bin/sh", "-c", script), stdin=b"", files={"schema.json": b"{}\n"})
    child = stage.hold(launch)
    child.open_gate()
    ended = asyncio.run(stage.follow(child))
    assert ended.stdout_tail == "{}\n-rw-------\n"


def test_the_agent_leads_a_session_and_has_the_environment_of_its_run(stage: Stage) -> None:
    ended = stage.run_shell(
        'echo "$BLACKBIRD_TASK_ID $BLACKBIRD_RUN_ID"; [ -d "$TMPDIR" ] && ps -o pgid=,sid= -p $$'
    )
    first, second = ended.stdout_tail.splitlines()
    assert first == f"t1 {RUN_ID}"
    group, session = second.split()
    assert group == session


def test_nothing_happens_before_the_gate_opens(stage: Stage) -> None:
    child = stage.hold(sh("touch begun"))
    assert signals.is_alive(child.pid, child.identity)
    child.abandon()
    assert not signals.is_alive(child.pid, child.identity)
    assert list(stage.tree.iterdir()) == []


def test_an_agents_own_status_75_is_its_own(stage: Stage) -> None:
    assert stage.run_shell("exit 75").exit_code == 75


def test_a_parent_killed_before_the_gate_leaves_no_child_and_no_work(stage: Stage) -> None:
    program = f"""
import os, signal
from pathlib import Path
from tests.agents.running import Stage
from git_blackbird.agents.protocol import Launch
child = Stage(Path({str(stage.root)!r})).hold(Launch(argv=("touch", "begun"), stdin=b""))
print(child.pid, child.identity, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert completed.returncode == -signal.SIGKILL, completed.stderr
    pid, identity = completed.stdout.split()
    asyncio.run(until(lambda: not signals.is_alive(int(pid), identity)))
    assert list(stage.tree.iterdir()) == []


def test_a_parent_killed_later_leaves_a_whole_log(stage: Stage) -> None:
    program = f"""
import os, signal
from pathlib import Path
from tests.agents.running import Stage
from git_blackbird.agents.protocol import Launch
script = "until [ -e go ]; do sleep 0.01; done; echo late; touch done"
child = Stage(Path({str(stage.root)!r})).hold(Launch(argv=("/bin/sh", "-c", script), stdin=b""))
child.open_gate()
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    (stage.tree / "go").touch()
    asyncio.run(until((stage.tree / "done").exists))
    assert stage.logs.stdout.read_text() == "late\n"
    asyncio.run(until(lambda: not signals.marked(RUN_ID)))


def test_a_program_that_cannot_be_started_is_unavailable(stage: Stage) -> None:
    with pytest.raises(AgentUnavailableError, match=r"cannot start the agent: .*Argument list too long"):
        stage.hold(Launch(argv=("echo", "x" * 4 * MEGABYTE), stdin=b""))


def test_a_worktree_that_is_gone_is_unavailable(stage: Stage) -> None:
    stage.tree.rmdir()
    stage.root.joinpath("tree").write_text("a file")
    work = stage.root / "work"
    work.mkdir()
    launch = Launch(("true",), environ={"PATH": "/bin"}, folder=str(stage.root / "tree"), scratch=str(work))
    with pytest.raises(AgentUnavailableError, match=r"cannot start the agent: .*Not a directory"):
        spawn_gated(launch, stage.logs)


def test_files_that_cannot_be_made_are_named(stage: Stage) -> None:
    work = stage.root / "nowhere"
    launch = Launch(("true",), folder=str(stage.tree), scratch=str(work))
    with pytest.raises(UnusableError, match=f"cannot write {work}/prompt: No such file or directory"):
        spawn_gated(launch, stage.logs)
    work.mkdir()
    stage.logs.stdout.mkdir(parents=True)
    with pytest.raises(UnusableError, match=f"cannot write {stage.logs.stdout}: Is a directory"):
        spawn_gated(launch, stage.logs)


def test_abandoning_a_child_that_has_begun_kills_it(stage: Stage) -> None:
    child = stage.hold(sh("setsid sleep 600 & sleep 600"))
    child.open_gate()
    with pytest.raises(ValueError, match="this gate has been opened or closed before"):
        child.open_gate()
    child.abandon()
    assert not signals.is_alive(child.pid, child.identity)


def test_a_child_killed_at_the_gate_is_told_as_any_other(stage: Stage) -> None:
    child = stage.hold(sh("touch begun"))
    os.kill(child.pid, signal.SIGKILL)
    asyncio.run(until(lambda: not signals.is_alive(child.pid, child.identity)))
    child.open_gate()
    ended = asyncio.run(stage.follow(child))
    assert (ended.exit_code, ended.cause) == (-signal.SIGKILL, ExitCause.EXITED)
    assert list(stage.tree.iterdir()) == []


def test_a_child_is_told_of_though_sigchld_is_ignored(stage: Stage) -> None:
    former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = stage.run_shell("exit 0")
    finally:
        signal.signal(signal.SIGCHLD, former)
    assert ended.exit_code is None, "unknown is never success"


def test_children_that_fork_on_and_on_are_all_stopped(stage: Stage) -> None:
    stage.limits = HURRIED
    on = '[ "$1" = 18 ] && touch going; [ "$1" -gt 0 ] && setsid sh "$0" $(($1 - 1)) & sleep 600'
    (stage.tree / "spawn").write_text(on)
    ended = stage.run_shell("sh spawn 20 & while [ ! -e going ]; do sleep 0.02; done")
    assert ended.exit_code == 0
    assert ended.leftovers_stopped > 1


def test_a_prompt_that_nobody_reads_holds_nothing_up(stage: Stage) -> None:
    ended = stage.run_shell("echo done", stdin=b"x" * 10 * MEGABYTE)
    assert (ended.exit_code, ended.stdout_tail) == (0, "done\n")


def test_a_background_process_that_holds_stdout_does_not_hold_us(stage: Stage) -> None:
    stage.limits = HURRIED
    ended = stage.run_shell("sleep 600 & setsid sleep 600 & echo done")
    assert (ended.exit_code, ended.stdout_tail) == (0, "done\n")
    assert ended.leftovers_stopped == 2


def test_leftovers_that_ignore_signals_are_killed(stage: Stage) -> None:
    stage.limits = HURRIED
    stubborn = "trap '' INT TERM; touch ready; while :; do sleep 600; done"
    ended = stage.run_shell(f'setsid sh -c "{stubborn}" & while [ ! -e ready ]; do sleep 0.01; done')
    assert (ended.exit_code, ended.leftovers_stopped > 0) == (0, True)


@pytest.mark.parametrize("limit", ["wall", "idle"])
def test_a_limit_ends_grandchildren_too(stage: Stage, limit: str) -> None:
    stage.limits = Limits(
        wall_seconds=0.3 if limit == "wall" else 60,
        idle_seconds=0.3 if limit == "idle" else 60,
        grace_seconds=0.2,
    )
    ended = stage.run_shell("(setsid sleep 600 &) ; sleep 600")
    assert (ended.cause, ended.exit_code) == (ExitCause(f"{limit}_limit"), -signal.SIGINT)
    assert ended.leftovers_stopped == 1


def test_output_keeps_a_run_from_being_idle(stage: Stage) -> None:
    stage.limits = Limits(wall_seconds=60, idle_seconds=5, grace_seconds=0.2)
    ended = stage.run_shell("for i in 1 2 3 4 5 6; do sleep 0.05; echo $i >&2; done")
    assert (ended.cause, ended.exit_code) == (ExitCause.EXITED, 0)


class Answered(Ear):
    """A reader for which whatever is printed is a final result."""

    def __init__(self, *remaining: str) -> None:
        super().__init__()
        self._remaining = remaining

    def feed(self, data: bytes) -> tuple[Progress, ...]:
        self.remaining_work = self._remaining
        return super().feed(data)


def test_a_child_that_does_not_exit_after_its_result_is_stopped_and_its_result_taken(stage: Stage) -> None:
    stage.limits = Limits(wall_seconds=60, idle_seconds=60, grace_seconds=5, result_seconds=0)
    ended = stage.run_shell("sleep 0.1; echo done; sleep 600", Answered())
    assert (ended.cause, ended.exit_code) == (ExitCause.EXITED, -signal.SIGINT)
    assert ended.succeeded
    assert ended.notes == ("it did not exit within 0 seconds after its result, and was stopped",)


def test_work_in_the_background_is_waited_for_until_a_limit(stage: Stage) -> None:
    stage.limits = Limits(wall_seconds=60, idle_seconds=0.3, grace_seconds=5, result_seconds=0)
    ended = stage.run_shell("echo done; sleep 600", Answered("Serve the app"))
    assert ended.cause is ExitCause.IDLE_LIMIT
    assert ended.succeeded
    note = "it was stopped after its result, with this still at work: Serve the app"
    assert ended.notes == (note,)


def interrupt(stage: Stage, script: str, *, hurry: bool = False, twice: bool = False) -> Ended:
    """Cancel the run once its script has made the file ``ready``."""

    async def scenario() -> Ended:
        wish = asyncio.Event()
        child = stage.hold(sh(script))
        child.open_gate()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(stage.follow(child, hurry=wish))
            await until((stage.tree / "ready").exists)
            task.cancel()
            if hurry:
                wish.set()
            if twice:
                await asyncio.sleep(0.05)
                task.cancel()
        return task.result()

    ended = asyncio.run(scenario())
    assert ended.cause is ExitCause.INTERRUPTED
    return ended


def test_an_interrupted_run_may_tidy_up_and_is_no_failure(stage: Stage) -> None:
    ended = interrupt(stage, "trap 'echo tidied; exit 4' INT; touch ready; while :; do sleep 0.01; done")
    assert (ended.exit_code, ended.stdout_tail) == (4, "tidied\n")


def test_sigterm_follows_sigint_and_sigkill_follows_both(stage: Stage) -> None:
    stage.limits = HURRIED
    ended = interrupt(
        stage, "trap 'echo int' INT; trap 'echo term' TERM; touch ready; while :; do sleep 0.01; done"
    )
    assert (ended.exit_code, ended.stdout_tail) == (-signal.SIGKILL, "int\nterm\n")


@pytest.mark.parametrize("twice", [False, True])
def test_hurry_or_a_second_cancel_kills_at_once(stage: Stage, *, twice: bool) -> None:
    stage.limits = Limits(wall_seconds=600, idle_seconds=600, grace_seconds=600)
    script = "trap '' INT TERM; setsid sh -c 'touch ready; sleep 600' & while :; do sleep 0.01; done"
    ended = interrupt(stage, script, hurry=not twice, twice=twice)
    assert ended.exit_code == -signal.SIGKILL
    assert ended.leftovers_stopped >= 1


def test_cancelling_a_group_stops_the_agent_and_the_group_ends(stage: Stage) -> None:
    async def scenario() -> None:
        # No command of its own before: a shell whose command ends well goes on, whatever came meanwhile.
        child = stage.hold(sh(": >ready; exec sleep 600"))
        child.open_gate()
        with pytest.RaisesGroup(RuntimeError):
            async with asyncio.TaskGroup() as group:
                following = group.create_task(stage.follow(child))
                await until((stage.tree / "ready").exists)
                raise RuntimeError
        assert following.result().exit_code == -signal.SIGINT

    asyncio.run(scenario())


def test_a_listener_that_fails_leaves_no_agent_behind(stage: Stage) -> None:
    class Broken(Ear):
        def feed(self, data: bytes) -> tuple[Progress, ...]:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        stage.run_shell("setsid sleep 600 & echo hello; sleep 600", reader=Broken())


HIDE = "sh -c 'echo $$ >hidden; exec </dev/null >/dev/null 2>&1; exec sleep 600'"
UNTIL_HIDDEN = "while [ ! -s hidden ]; do sleep 0.01; done"


def hidden(stage: Stage) -> int:
    return int((stage.tree / "hidden").read_text())


@linux_only
def test_what_put_its_run_id_away_is_known_by_its_folder(stage: Stage) -> None:
    stage.limits = HURRIED
    ended = stage.run_shell(f"(env -u BLACKBIRD_RUN_ID setsid {HIDE} &); {UNTIL_HIDDEN}")
    assert (ended.exit_code, ended.leftovers_stopped) == (0, 1)
    assert signals.identity(hidden(stage)) is None


@linux_only
def test_what_put_its_environment_away_is_known_by_its_session(stage: Stage) -> None:
    stage.limits = HURRIED
    ended = stage.run_shell(f"set -m; (env -i {HIDE} &); {UNTIL_HIDDEN}")
    assert (ended.exit_code, ended.leftovers_stopped) == (0, 1)
    assert signals.identity(hidden(stage)) is None


@linux_only
def test_what_put_both_away_is_known_by_whom_it_descends_from_when_the_agent_is_stopped(stage: Stage) -> None:
    stage.limits = Limits(wall_seconds=0.5, idle_seconds=60, grace_seconds=0.2)
    ended = stage.run_shell(f"env -i setsid {HIDE} & {UNTIL_HIDDEN}; sleep 600")
    assert (ended.cause, ended.leftovers_stopped) == (ExitCause.WALL_LIMIT, 1)
    assert signals.identity(hidden(stage)) is None


@linux_only
def test_a_run_inside_of_another_is_none_of_its_relatives(stage: Stage, tmp_path: Path) -> None:
    inner = Stage(stage.work / "tmp" / "inner", run_id=f"{os.getpid() + 1:016x}")
    child = inner.hold(sh("sleep 600"))
    child.open_gate()
    try:
        assert signals.marked(RUN_ID) == []
        assert child.pid in signals.marked(inner.run_id)
    finally:
        child.abandon()


def test_memory_and_record_stay_bounded_whatever_is_printed(stage: Stage) -> None:
    stage.max_bytes = MEGABYTE
    printed = 300 * MEGABYTE
    child = stage.hold(sh(f"yes 'a line of text, as any other' | head -c {printed}; echo the end"))
    child.open_gate()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    heard = Ear()
    stage.output = Bin()
    ended = asyncio.run(stage.follow(child, heard))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 * 1024, "KiB"
    assert stage.logs.stdout.stat().st_blocks * 512 < 16 * MEGABYTE
    cut_saved(stage.logs.stdout, MEGABYTE)
    assert stage.logs.stdout.stat().st_size == MEGABYTE
    assert (ended.stdout_bytes, ended.stdout_dropped) == (printed + 8, printed + 8 - MEGABYTE)
    assert ended.stdout_tail.endswith("the end\n")
    assert len(ended.stdout_tail) <= 16 * 1024
    assert ended.exit_code == 0


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_printed_faster_than_it_is_read_is_left_out_and_counted(stage: Stage, *, whole: bool) -> None:
    """Unless all of it is needed; the log has it all in any case."""
    stage.max_bytes = 100 * MEGABYTE
    heard = Ear()
    heard.needs_all = whole
    ended = stage.run_shell("yes 'a line of text' | head -c 60000000; echo the end", heard)
    size = 60_000_008
    assert heard.heard == sum(map(len, stage.output))
    assert not (whole and stage.skipped)
    # A line end stands for each part that is left out.
    assert size <= heard.heard + stage.skipped <= size + len(stage.output)
    assert stage.output[-1].endswith(b"the end\n")
    assert (ended.stdout_bytes, ended.stdout_dropped) == (size, 0)
    assert stage.logs.stdout.stat().st_size == size


@pytest.mark.parametrize(
    ("what", "script"),
    [
        ("one endless line", "head -c 30000000 /dev/zero | tr '\\0' x"),
        ("binary", "head -c 3000000 /dev/urandom"),
        ("escape sequences", "printf '\\033]0;title\\007\\033[2J%.0s' $(seq 1000)"),
        ("half a JSON", 'printf \'{"type": "result", "result": "\''),
    ],
)
def test_any_output_is_kept_as_it_is_up_to_the_cap(stage: Stage, what: str, script: str) -> None:
    ended = stage.run_shell(script)
    kept = stage.logs.stdout.read_bytes()
    assert ended.exit_code == 0
    assert len(kept) == min(ended.stdout_bytes, stage.max_bytes)
    assert ended.stdout_dropped == ended.stdout_bytes - len(kept)
    assert ended.stdout_dropped or b"".join(stage.output) == kept
    assert ended.stdout_tail == kept[-16 * 1024 :].decode(errors="replace")


def test_a_child_that_empties_its_own_stream_is_followed_on(stage: Stage) -> None:
    class Witness(Ear):
        def feed(self, data: bytes) -> tuple[Progress, ...]:
            (stage.tree / "heard").touch()
            return ()

    script = "seq 1000; until [ -e heard ]; do sleep 0.01; done; echo second > /dev/stdout; echo third"
    ended = stage.run_shell(script, Witness())
    assert ended.stdout_tail.endswith("999\n1000\nsecond\nthird\n")
    assert stage.logs.stdout.read_text() == "second\nthird\n"

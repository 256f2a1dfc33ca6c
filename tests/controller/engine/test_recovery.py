"""What a killed program leaves: found, named, stopped, and gone on with."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.controller.engine.commands import ResumeRequest, resume_loop
from git_blackbird.controller.launch.run_files import scratch_dirs
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.format import run_seconds
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.model.views.events import Notice
from git_blackbird.model.views.stop import StopReason
from tests import preloaded
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    run_to_stop,
    runs_of,
    status,
    store_at,
)
from tests.support import PATIENCE_SECONDS, commit, wait_until


@pytest.fixture
def cut_off(repo: Path) -> Path:
    """A repository in which the program was killed while its agent, still alive, had edited a file."""
    commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("a"), leaf("b", deps=["a"]))
    first = "echo two >>a.txt; echo edited; sleep 600"
    script = f'cat >/dev/null; test -n "$BLACKBIRD_RESUME$(grep two a.txt)" || {{ {first}; }}'
    configure(repo, agent="command", command__run=script)
    configure(repo, execution__stopGraceSeconds="0", execution__acceptNoChange="true")
    program = preloaded.Popen(
        [sys.executable, "-m", "git_blackbird", "execute"],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: any(path.read_text() for path in repo.glob(".git/blackbird/streams/a.*.stdout")))
    program.send_signal(signal.SIGKILL)
    program.wait()
    return repo


def lives(pid: int | None) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def only_run(repo: Path) -> Run:
    (run,) = runs_of(repo, "a")
    return run


def test_a_run_is_on_disk_before_its_agent_works(cut_off: Path) -> None:
    run = only_run(cut_off)
    assert run.status == RunStatus.RUNNING
    assert lives(run.pid)
    assert status(cut_off, "a") == Status.IN_PROGRESS
    assert build_overview(open_at(cut_off)).unfinished == ("a",)
    execute(cut_off)
    assert build_overview(open_at(cut_off)).unfinished == ()


def test_an_orphan_is_named_and_stopped_and_its_work_is_kept(cut_off: Path) -> None:
    run, person = only_run(cut_off), Person()
    folders = work_folders_of(cut_off)
    stop = execute(cut_off, person)
    assert person.notices()[:2] == [
        f"a: the agent of run {run.id} is still running (process {named(person)}); stopping it",
        f"a: run {run.id} was interrupted; it is now paused",
    ]
    assert str(run.pid) in named(person)
    assert not lives(run.pid)
    assert len(folders) == 1
    assert not folders[0].exists()
    closed, continued = runs_of(cut_off, "a")
    assert (closed.status, closed.terminal_reason) == (RunStatus.PAUSED, TerminalReason.CONTROLLER_LOST)
    assert closed.review_summary is not None
    assert closed.review_summary.files == ("a.txt",)
    assert (continued.resumes, continued.status) == (closed.id, RunStatus.SUCCESS)
    assert (stop.reason, stop.text) == (StopReason.COMPLETED, "every task is done")


def test_a_lost_run_took_until_it_last_printed_something(cut_off: Path) -> None:
    # It is found long after that.
    execute(cut_off)
    lost = runs_of(cut_off, "a")[0]
    assert 0 < (run_seconds(lost, "") or 0) < PATIENCE_SECONDS


def work_folders_of(repo: Path) -> list[Path]:
    return list(scratch_dirs(open_at(repo).paths))


def named(person: Person) -> str:
    return person.notices()[0].split("(process ")[1].split(")")[0]


def test_a_cut_off_run_goes_on_in_its_session(cut_off: Path) -> None:
    workspace = open_at(cut_off)
    stop = run_to_stop(workspace, resume_loop(workspace, Person(), ResumeRequest("a")))
    first, second = runs_of(cut_off, "a")
    assert stop.reason == StopReason.COMPLETED
    assert (second.resumes, second.provider_session_ref) == (first.id, first.provider_session_ref)
    assert status(cut_off, "a") == Status.DONE


def test_a_copy_of_the_worktree_stops_nothing_of_the_one_it_was_copied_from(
    cut_off: Path, tmp_path: Path
) -> None:
    run, copy, person = only_run(cut_off), tmp_path / "copy", Person()
    shutil.copytree(cut_off, copy, symlinks=True)
    (seen,) = build_overview(open_at(copy)).running
    assert not seen.alive
    execute(copy, person)
    assert lives(run.pid)
    assert person.notices()[0] == f"a: run {run.id} was interrupted; it is now paused"
    assert runs_of(copy, "a")[0].status == RunStatus.PAUSED
    assert only_run(cut_off).status == RunStatus.RUNNING
    execute(cut_off)
    assert not lives(run.pid)


def test_a_worktree_that_was_moved_keeps_what_works_in_it(cut_off: Path, tmp_path: Path) -> None:
    run, moved = only_run(cut_off), tmp_path / "moved"
    cut_off.rename(moved)
    execute(moved)
    assert not lives(run.pid)


def test_readers_report_what_was_cut_off_and_change_nothing(cut_off: Path) -> None:
    before = {path: path.read_bytes() for path in cut_off.glob(".git/blackbird/runs/*/*.json")}
    said = preloaded.run(
        [sys.executable, "-m", "git_blackbird", "status"],
        cwd=cut_off,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert "no controller is running it" in said
    assert {path: path.read_bytes() for path in before} == before
    execute(cut_off)


def hints(person: Person) -> list[str]:
    notices = (event for event in person.events if isinstance(event, Notice))
    return [notice.hint or "" for notice in notices if "was interrupted" in notice.text]


def test_no_resume_is_hinted_at_where_the_call_goes_on_with_the_task(cut_off: Path) -> None:
    person = Person()
    execute(cut_off, person)
    assert hints(person) == [""]


def test_a_resume_is_hinted_at_where_the_call_is_about_another_task(cut_off: Path) -> None:
    put_plan(cut_off, *store_at(cut_off).plan().tasks.values(), leaf("c"))
    person = Person()
    execute(cut_off, person, "c")
    assert hints(person) == ["git blackbird resume a"]


def test_no_resume_is_hinted_at_once_the_interrupted_run_counts_no_more(cut_off: Path) -> None:
    run, person = only_run(cut_off), Person()
    with pytest.raises(RequestError, match="an agent is working on a "):
        set_status(open_at(cut_off), "a", Status.DONE)
    assert run.pid is not None
    os.killpg(run.pid, signal.SIGKILL)
    wait_until(lambda: not lives(run.pid))
    set_status(open_at(cut_off), "a", Status.DONE)
    put_plan(cut_off, *store_at(cut_off).plan().tasks.values(), leaf("c"))
    execute(cut_off, person, "c")
    assert hints(person) == [""]
    assert person.notices()[0] == f"a: run {run.id} was interrupted; it no longer counts"

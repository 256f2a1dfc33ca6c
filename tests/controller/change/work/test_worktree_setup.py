"""The worktree of a task gets ignored files, a command's preparation, a slot and ports."""

import os
import signal
import socket
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.controller.place.slots import Slots
from git_blackbird.git.worktree.linked import add_task_worktree
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    APPROVE,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git, run_trees, wait_until, write
from tests.trial.program import Trial

IGNORED = ".env\nnode_modules/\nbuild/\n*.bin\n.blackbird\nblackbird.plan.json\n"


@pytest.fixture
def parallel(repo: Path) -> Path:
    """A repository in which each task gets a worktree; its agents print what they find."""
    commit(repo, {"a.txt": "one\n", ".gitignore": IGNORED})
    configure(repo, execution__jobs="2", execution__stopGraceSeconds="1", agent="command")
    configure(repo, execution__acceptNoChange="true", execution__stopAfterEachTask="false")
    return repo


def agent(repo: Path, script: str) -> None:
    configure(repo, command__run=f"cat >/dev/null; {script}")


def place_of(repo: Path, task_id: str) -> Path:
    return repo.parent / f"{repo.name}.worktrees" / task_id


def noted(repo: Path, name: str) -> list[str]:
    note = repo.parent / name
    return note.read_text().splitlines() if note.exists() else []


def test_a_worktree_gets_the_ignored_files_that_are_named(parallel: Path) -> None:
    write(parallel, {".env": "KEY=1\n", "sub/.env": "KEY=2\n", "node_modules/x/run": "#!/bin/sh\n"})
    write(parallel, {"build/big": "big\n", "data/kept.bin": "kept\n", "data/seen": "seen\n"})
    (parallel / "node_modules/x/run").chmod(0o755)
    os.utime(parallel / "node_modules/x/run", ns=(1, 2_000_000_001))
    (parallel / "node_modules/out").symlink_to(parallel.parent)
    (parallel / "node_modules/in").symlink_to("x/run")
    configure(parallel, worktree__copy='[".env", "/node_modules", "data/"]')
    agent(parallel, "find . -name .git -prune -o -printf '%P %y %m %T@\\n' | sort >../../found")
    put_plan(parallel, leaf("a"))
    assert execute(parallel).reason is StopReason.COMPLETED
    found = {line.split(" ")[0]: line.split(" ")[1:] for line in noted(parallel, "found")}
    assert {".env", "sub/.env", "data/kept.bin"} <= found.keys()
    assert not {"build", "build/big", ".blackbird", "node_modules/out/home"} & found.keys()
    assert found["node_modules/x/run"] == ["f", "755", "2.0000000010"]
    assert (found["node_modules/in"][0], found["node_modules/out"][0]) == ("l", "l")


def test_set_up_happens_once_and_its_files_are_no_part_of_the_change(parallel: Path) -> None:
    lines = 'echo "$BLACKBIRD_TASK_ID $BLACKBIRD_SLOT $BLACKBIRD_PORT"'
    configure(parallel, worktree__setup=f"{lines} >>../../setup; echo made >made; echo two >>a.txt")
    agent(parallel, f"{lines} >>../../agent; cat made; echo new >>new.txt")
    configure(parallel, execution__stopAfterEachTask="true")
    put_plan(parallel, leaf("a"))
    assert execute(parallel, Person([changes("more"), APPROVE])).reason is StopReason.COMPLETED
    (setup,) = noted(parallel, "setup")
    assert noted(parallel, "agent") == [setup, setup]
    first, last = runs_of(parallel, "a")
    assert last.review_summary is not None
    assert first.worktree_base == first.base_tree == last.worktree_base
    assert git(parallel, "show", f"{run_trees(parallel, first.id)[0]}:made") == "made"
    assert (parallel / "new.txt").read_text() == "new\nnew\n"
    assert (parallel / "a.txt").read_text() == "one\n"
    assert not (parallel / "made").exists()
    assert "refs/stash" in first.context["systemPrompt"]


def test_tasks_at_work_have_slots_and_ports_of_their_own(parallel: Path) -> None:
    meet = "until test -e ../../at-a && test -e ../../at-b; do sleep 0.01; done"
    agent(
        parallel,
        'echo "$BLACKBIRD_SLOT $BLACKBIRD_PORT" >../../at-$BLACKBIRD_TASK_ID; '
        f"test $BLACKBIRD_TASK_ID = c || {{ {meet}; }}",
    )
    put_plan(parallel, leaf("a"), leaf("b"), leaf("c", deps=["a", "b"]))
    assert execute(parallel).reason is StopReason.COMPLETED
    (a,), (b,), (c,) = (noted(parallel, f"at-{task}") for task in "abc")
    assert sorted((a.split()[0], b.split()[0])) == ["0", "1"]
    assert c.split()[0] in {"0", "1"}
    assert abs(int(a.split()[1]) - int(b.split()[1])) >= 10


def test_ports_that_something_listens_on_are_passed_over(parallel: Path) -> None:
    with Slots(open_at(parallel)).take() as first, socket.socket() as other:
        other.bind(("127.0.0.1", first.port + 3))
        other.listen()
        with Slots(open_at(parallel)).take() as second:
            assert second.port >= first.port + 10


def test_a_task_in_place_has_no_slot(parallel: Path) -> None:
    configure(parallel, execution__jobs="1", worktree__setup="echo made >made")
    agent(parallel, "env | grep BLACKBIRD_SLOT; test ! -e made && echo new >new.txt")
    put_plan(parallel, leaf("a"))
    assert execute(parallel).reason is StopReason.COMPLETED
    assert "refs/stash" not in runs_of(parallel, "a")[0].context["systemPrompt"]
    assert (runs_of(parallel, "a")[0].stdout or "") == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_where_set_up_fails_the_task_does_not_start_and_others_do(parallel: Path, jobs: str) -> None:
    configure(parallel, execution__jobs=jobs, execution__worktrees="true")
    configure(parallel, worktree__setup="echo to out; test $BLACKBIRD_TASK_ID = b || exit 3")
    agent(parallel, "echo $BLACKBIRD_TASK_ID >new.txt")
    put_plan(parallel, leaf("a"), leaf("b"))
    person = Person()
    stop = execute(parallel, person)
    assert (stop.reason, status(parallel, "b")) == (StopReason.FAILED, Status.DONE)
    assert "the set-up of the worktree of a failed: exit 3" in stop.text
    assert "the set-up of the worktree of a failed: exit 3" in person.notices()
    assert (status(parallel, "a"), runs_of(parallel, "a")) == (Status.TODO, ())
    log = parallel / ".git/blackbird/logs/a.setup.log"
    assert log.read_text() == "to out\n"
    configure(parallel, worktree__setup="true")
    assert execute(parallel).reason is StopReason.COMPLETED
    assert status(parallel, "a") is Status.DONE


def test_a_set_up_that_takes_too_long_is_stopped(parallel: Path) -> None:
    configure(parallel, worktree__setup="sleep 600", check__timeoutSeconds="1")
    agent(parallel, "true")
    put_plan(parallel, leaf("a"))
    stop = execute(parallel)
    assert "it was not done after 1 s (check.timeoutSeconds)" in stop.text


def test_ctrl_c_stops_a_set_up(parallel: Path) -> None:
    configure(parallel, worktree__setup="echo $$ >../../setup; sleep 600")
    agent(parallel, "true")
    put_plan(parallel, leaf("a"))
    process = Trial(parallel).start("execute", "--no-input")
    wait_until(lambda: noted(parallel, "setup"))
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130, said
    assert "stopping the set-up of a; a second Ctrl+C kills it" in said
    assert signals.identity(int(noted(parallel, "setup")[0])) is None
    assert (status(parallel, "a"), runs_of(parallel, "a")) == (Status.TODO, ())


def test_one_that_was_killed_is_made_again_and_nothing_of_it_is_left(parallel: Path) -> None:
    begun = "test -e ../../begun || { echo $$ >../../begun; echo half >half; sleep 600; }"
    configure(parallel, worktree__setup=begun)
    agent(parallel, "test ! -e half && echo new >new.txt")
    put_plan(parallel, leaf("a"))
    process = Trial(parallel).start("execute", "--no-input")
    wait_until((place_of(parallel, "a") / "half").exists)
    process.kill()
    process.communicate()
    (pid,) = map(int, noted(parallel, "begun"))
    assert signals.identity(pid) is not None
    assert execute(parallel).reason is StopReason.COMPLETED
    assert signals.identity(pid) is None
    assert (parallel / "new.txt").exists()


def test_one_that_was_made_and_not_marked_yet_is_in_nobodys_way(parallel: Path) -> None:
    agent(parallel, "echo new >new.txt")
    put_plan(parallel, leaf("a"))
    made = add_task_worktree(open_at(parallel).repo, "a", place_of(parallel, "a"))
    (made.private_dir / "task").unlink()
    assert execute(parallel).reason is StopReason.COMPLETED


def test_one_that_somebody_removed_is_set_up_again(parallel: Path) -> None:
    configure(parallel, worktree__setup="mkdir node_modules; echo $BLACKBIRD_TASK_ID >>../../setup")
    configure(parallel, execution__stopAfterEachTask="true")
    agent(parallel, "ls; test -d node_modules && echo new >>new.txt")
    put_plan(parallel, leaf("a"))
    assert execute(parallel).reason is StopReason.DECISION_REQUIRED
    git(parallel, "worktree", "remove", "--force", str(place_of(parallel, "a")))
    assert execute(parallel, Person([changes("more"), APPROVE])).reason is StopReason.COMPLETED
    assert noted(parallel, "setup") == ["a", "a"]
    assert (parallel / "new.txt").read_text() == "new\nnew\n"


def test_the_check_gets_the_same(parallel: Path) -> None:
    write(parallel, {"node_modules/tool": "tool\n"})
    configure(parallel, worktree__copy='["node_modules"]', worktree__setup="echo made >made")
    configure(parallel, check__command="grep tool node_modules/tool && cat made && test $BLACKBIRD_SLOT = 0")
    agent(parallel, "echo new >new.txt")
    put_plan(parallel, leaf("a"))
    assert execute(parallel).reason is StopReason.COMPLETED
    (run,) = runs_of(parallel, "a")
    assert run.evidence is not None
    (check,) = run.evidence.checks
    assert (check.outcome, check.output) == (CheckOutcome.PASSED, "tool\nmade")
    assert check.prepared == ("node_modules", "echo made >made")


def test_a_check_that_cannot_be_set_up_is_broken(parallel: Path) -> None:
    configure(parallel, execution__jobs="1", worktree__setup="exit 3", check__command="true")
    agent(parallel, "echo new >new.txt")
    put_plan(parallel, leaf("a"))
    execute(parallel)
    (run,) = runs_of(parallel, "a")
    assert run.evidence is not None
    (check,) = run.evidence.checks
    assert (check.outcome, check.reason) == (
        CheckOutcome.BROKEN,
        "the set-up of the check of a failed: exit 3",
    )


def test_copies_do_not_leave_by_a_link_that_the_change_has(parallel: Path) -> None:
    outside = parallel.parent / "outside"
    outside.mkdir()
    write(parallel, {"build/x": "secret\n"})
    configure(parallel, execution__jobs="1", worktree__copy='["build/x"]', check__command="test -L build")
    agent(parallel, f"rm -r build; ln -s {outside} build; git add -f build; git commit -qm link")
    put_plan(parallel, leaf("a"))
    execute(parallel)
    (run,) = runs_of(parallel, "a")
    assert run.evidence is not None
    (check,) = run.evidence.checks
    assert check.outcome is CheckOutcome.PASSED
    assert list(outside.iterdir()) == []


def test_a_large_copy_that_cannot_be_shared_is_said_before(
    parallel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (parallel / "node_modules").mkdir()
    with (parallel / "node_modules/big").open("wb") as big:
        big.write(b"x")
        big.truncate(101_000_000)
    configure(parallel, worktree__copy='["node_modules"]')
    agent(parallel, "echo new >new.txt")
    put_plan(parallel, leaf("a"))
    person = Person()
    assert execute(parallel, person).reason is StopReason.COMPLETED
    (said,) = [text for text in person.notices() if text.startswith("copying")]
    assert said == "copying 101 MB for the worktree of a, which this file system cannot share"

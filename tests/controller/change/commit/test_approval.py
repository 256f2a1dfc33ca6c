"""Approvals that commit: exactly the change, before the decision is recorded, and once, whatever happens."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from git_blackbird.cli.json_values import encode
from git_blackbird.cli.printed.status import StatusOutput
from git_blackbird.controller.change.commit.refusal import ApprovalRefusedError
from git_blackbird.controller.change.decide.checkpoint import pending_checkpoint
from git_blackbird.controller.change.decide.record import DecisionResult, record_decision
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.change.undo.undo import undo_task
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.plan.edit import NewTask, add_task
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import LockedError, RequestError
from git_blackbird.messages.display.checkpoint import render_checkpoint
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.checkpoint import ApprovalCommit, Checkpoint, CommitPreview
from git_blackbird.model.views.events import Decided, Notice
from git_blackbird.model.views.stop import StopReason
from git_blackbird.storage.locks import approval_in_progress
from tests import preloaded
from tests.cli.terminal import PROGRAM, program_environ
from tests.controller.support import (
    APPROVE,
    QUIT,
    REJECT,
    Person,
    bring,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
    store_at,
)
from tests.support import Prepared, commit, git, wait_until, write

PATIENCE_SECONDS = 60
AGAIN = " and approve again; what HEAD already has is not committed again"
WITHOUT = "and approve without a commit"


@pytest.fixture
def gated(repo: Path) -> Path:
    """A repository whose approvals are committed, and a plan that the embedded agent carries out."""
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__commit="approved")
    put_plan(repo, leaf("a", "write x.txt 1\nwrite d/y.txt 2"), leaf("b", "append x.txt 3", deps=["a"]))
    return repo


@pytest.fixture
def waiting(gated: Path, prepared: Prepared) -> Path:
    """The same, with the decision on the first task pending."""
    return bring(prepared, gated, lambda: execute(gated, Person()))


def only_run(repo: Path, task_id: str = "a") -> Run:
    (run,) = runs_of(repo, task_id)
    return run


def approve(repo: Path, task_id: str = "a") -> DecisionResult:
    return record_decision(open_at(repo), task_id, APPROVE)


def refused(repo: Path) -> ApprovalRefusedError:
    """Approve, and show that nothing came of it."""
    before = _committed_and_recorded(repo)
    error = refused_for_now(repo)
    assert _committed_and_recorded(repo) == before
    return error


def _committed_and_recorded(repo: Path) -> tuple[str, str, Run]:
    run = only_run(repo).updated(hook_output=None)
    return git(repo, "rev-parse", "HEAD"), git(repo, "ls-files", "-s", "-v"), run


def refused_for_now(repo: Path) -> ApprovalRefusedError:
    """Return the refusal of an approval of which more may come yet."""
    with pytest.raises(ApprovalRefusedError) as caught:
        approve(repo)
    return caught.value


def hint_of(repo: Path) -> str:
    """Return what is said to do about an approval that is refused."""
    return refused(repo).hint or ""


def subjects(repo: Path) -> list[str]:
    return git(repo, "log", "--format=%s").splitlines()


def clean(repo: Path) -> bool:
    return git(repo, "status", "--porcelain") == ""


def hook(repo: Path, name: str, script: str) -> None:
    path = repo / ".git/hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_each_approval_is_a_commit_of_its_task_and_run(gated: Path) -> None:
    person = Person([APPROVE, QUIT])
    assert execute(gated, person).reason == StopReason.COMPLETED
    first, second = only_run(gated, "a"), only_run(gated, "b")
    oids = git(gated, "log", "-2", "--format=%H").splitlines()
    assert (second.commits, first.commits) == ((oids[0],), (oids[1],))
    assert git(gated, "log", "-2", "--format=%B%(trailers:only)").strip() == (
        f"Task b\n\nBlackbird-Task: b\nBlackbird-Run: {second.id}\n"
        f"Blackbird-Task: b\nBlackbird-Run: {second.id}\n\n"
        f"Task a\n\nBlackbird-Task: a\nBlackbird-Run: {first.id}\n"
        f"Blackbird-Task: a\nBlackbird-Run: {first.id}"
    )
    told = [event for event in person.events if isinstance(event, Decided)]
    assert [event.commit for event in told] == [ApprovalCommit(oids[1], 2), ApprovalCommit(oids[0], 1)]
    assert [checkpoint.commit for checkpoint in person.checkpoints] == [
        CommitPreview(2, "main"),
        CommitPreview(1, "main"),
    ]
    assert clean(gated)


def test_without_the_key_nothing_is_committed(gated: Path) -> None:
    git(gated, "config", "--unset", "blackbird.execution.commit")
    person = Person([QUIT])
    execute(gated, person)
    assert (subjects(gated), only_run(gated).commits) == (["a commit"], ())
    assert person.checkpoints[0].commit is None


def test_other_decisions_commit_nothing(waiting: Path) -> None:
    assert record_decision(open_at(waiting), "a", REJECT).commit is None
    assert subjects(waiting) == ["a commit"]


def test_a_run_that_changed_nothing_is_approved_without_a_commit(gated: Path) -> None:
    put_plan(gated, leaf("a", "say nothing to do"))
    person = Person([APPROVE])
    execute(gated, person)
    assert (status(gated, "a"), subjects(gated)) == (Status.DONE, ["a commit"])
    assert person.checkpoints[0].commit is None


def test_what_the_agent_committed_needs_no_second_commit(gated: Path) -> None:
    configure(gated, agent="command", command__run="echo 1 >x.txt && git add x.txt && git commit -q -m own")
    put_plan(gated, leaf("a"))
    person = Person([APPROVE])
    execute(gated, person)
    assert (status(gated, "a"), subjects(gated)) == (Status.DONE, ["own", "a commit"])
    assert person.checkpoints[0].commit == CommitPreview(0, "main")
    told = [event.commit for event in person.events if isinstance(event, Decided)]
    assert told == [ApprovalCommit()]


@pytest.mark.exhaustive
def test_an_overlap_is_foreseen_named_and_asked_again(gated: Path) -> None:
    class Mending(Person):
        async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
            self.checkpoints.append(checkpoint)
            if len(self.checkpoints) == 1:
                write(gated, {"x.txt": "mine\n"})
                return APPROVE
            if len(self.checkpoints) == 2:
                write(gated, {"x.txt": "1\n"})
                return QUIT
            raise AssertionError

    person = Mending()
    assert execute(gated, person).reason == StopReason.COMPLETED
    obstacle = "x.txt: it was edited after the run, by hand or by another task"
    foreseen = [
        checkpoint.commit.obstacles for checkpoint in person.checkpoints if checkpoint.commit is not None
    ]
    assert foreseen == [(), (obstacle,)]
    restore = f"git restore --source={head_tree(gated)} --worktree"
    assert [event for event in person.events if isinstance(event, Notice)] == [
        Notice(
            "error",  # type: ignore[arg-type]
            ("a is not approved: its change cannot be committed yet", f"- {obstacle}"),
            (
                f"set the later edits aside as below{AGAIN}",
                f"  mv -i -- x.txt x.txt.later && {restore} -- x.txt",
                "  git blackbird decide a --approve",
                "  mv -- x.txt.later x.txt",
                f"or commit by hand, {WITHOUT}: `git blackbird decide a --approve --no-commit`",
            ),
            leaf("a").id,
        )
    ]
    assert (subjects(gated), clean(gated)) == (["Task a", "a commit"], True)


def head_tree(repo: Path) -> str:
    return git(repo, "rev-parse", f"refs/blackbird/runs/{only_run(repo).id}:head")


@pytest.mark.exhaustive
def test_who_approves_for_ever_what_is_refused_is_nobody(gated: Path) -> None:
    hook(gated, "pre-commit", "exit 1")
    person = Person([APPROVE] * 50)
    stop = execute(gated, person)
    assert (stop.reason, len(person.decisions)) == (StopReason.DECISION_REQUIRED, 40)
    assert only_run(gated).is_pending


def test_edits_of_the_users_are_left_alone(waiting: Path) -> None:
    write(waiting, {"a.txt": "staged\n", "new": "n\n"})
    git(waiting, "add", "a.txt")
    write(waiting, {"a.txt": "and more\n"})
    made = approve(waiting).commit
    assert made is not None
    assert git(waiting, "diff-tree", "-r", "--no-commit-id", "--name-only", "HEAD").split() == [
        "d/y.txt",
        "x.txt",
    ]
    assert git(waiting, "status", "--porcelain") == "MM a.txt\n?? new"


def test_overlaps_leave_the_decision_pending(waiting: Path) -> None:
    write(waiting, {"x.txt": "mine\n", "d/y.txt": "mine\n"})
    git(waiting, "add", "x.txt")
    assert refused(waiting).message == (
        "a is not approved: its change cannot be committed yet\n"
        "- d/y.txt: it was edited after the run, by hand or by another task\n"
        "- x.txt: other content is staged for it"
    )
    git(waiting, "commit", "-q", "-m", "by hand", "x.txt")
    write(waiting, {"d/y.txt": "2\n"})
    assert "- x.txt: HEAD has changed this file since the change began" in refused(waiting).message


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick", "revert"])
def test_in_the_middle_of_an_operation_the_way_out_is_to_end_that(waiting: Path, command: str) -> None:
    commit(waiting, {"a.txt": "two\n"})
    git(waiting, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(waiting, {"a.txt": "three\n"})
    target = {"revert": "HEAD~1", "rebase": "main"}.get(command, "main")
    if command == "revert":
        commit(waiting, {"a.txt": "four\n"})
    options = ["--no-edit"] if command == "revert" else []
    subprocess.run(["git", command, *options, target], cwd=waiting, capture_output=True, check=False)
    refusal = refused(waiting)
    assert f"\n- a {command} is in progress\n" in refusal.message
    ways = f"(`git {command} --continue` or `git {command} --abort`)"
    assert (refusal.hint or "").startswith(f"finish or abort it first {ways} and approve again; ")
    git(waiting, command, "--abort")
    git(waiting, "checkout", "-q", "main")
    approve(waiting)


@pytest.mark.exhaustive
def test_in_the_middle_of_a_bisect_the_way_out_is_to_end_that(waiting: Path) -> None:
    git(waiting, "bisect", "start")
    assert hint_of(waiting).startswith("end it first (`git bisect reset`) and approve again; ")
    git(waiting, "bisect", "reset")
    approve(waiting)


def test_a_conflict_is_to_be_resolved(waiting: Path) -> None:
    write(waiting, {"a.txt": "mine\n"})
    git(waiting, "stash", "-q", "--", "a.txt")
    commit(waiting, {"a.txt": "two\n"})
    subprocess.run(["git", "stash", "pop"], cwd=waiting, capture_output=True, check=False)
    assert hint_of(waiting).startswith(
        "resolve what is in conflict first (`git status` names it) and approve"
    )


def test_edits_from_before_the_run_are_committed_by_themselves_first(gated: Path) -> None:
    lines = "".join(f"{number}\n" for number in range(20))
    commit(gated, {"a.txt": lines})
    put_plan(gated, leaf("a", "append a.txt more"))
    write(gated, {"a.txt": f"mine\n{lines}"})
    execute(gated, Person())
    assert "a.txt: this file had uncommitted edits, or HEAD has moved" in refused(gated).message
    git(gated, "commit", "-q", "-p", "-m", "mine", stdin=b"y\nn\n")
    approve(gated)
    assert (subjects(gated)[:2], clean(gated)) == (["Task a", "mine"], True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "marks", [["skip-worktree"], ["assume-unchanged"], ["skip-worktree", "assume-unchanged"]]
)
def test_a_file_that_git_is_told_not_to_look_at_is_told_of_with_the_way_out(
    gated: Path, marks: list[str]
) -> None:
    commit(gated, {"b$c.txt": "one\n"})
    put_plan(gated, leaf("a", "append b$c.txt more"))
    execute(gated, Person())
    for mark in marks:
        git(gated, "update-index", f"--{mark}", "b$c.txt")
    message = refused(gated).message
    assert hint_of(gated).startswith("clear these flags with the commands above first and approve again; ")
    name, _, way = message.partition("; to clear that: ")
    assert name.endswith(f"- b$c.txt: it is marked as {' and '.join(marks)}")
    subprocess.run(way.splitlines()[0], shell=True, cwd=gated, check=True)
    approve(gated)
    assert (subjects(gated)[0], clean(gated)) == ("Task a", True)


def test_a_hook_that_fails_leaves_the_decision_pending(waiting: Path) -> None:
    hook(waiting, "pre-commit", "echo 'x.txt: no final line' >&2; echo 'fix it' >&2; exit 1")
    assert refused(waiting).message == (
        "a is not approved: git did not commit its change\nx.txt: no final line\nfix it"
    )
    hook(waiting, "pre-commit", "exit 0")
    approve(waiting)
    assert subjects(waiting) == ["Task a", "a commit"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_what_a_hook_said_is_the_change_request_that_is_suggested(waiting: Path, name: str) -> None:
    hook(waiting, name, "printf '\\033[31mx.txt: no final line\\033[0m\\n' >&2; exit 1")
    assert hint_of(waiting).splitlines()[-1] == (
        "or have the agent fix it: `git blackbird decide a --request-changes` sends what the hook printed"
    )
    suggestion = (
        "A hook of the repository refused to commit your change. Fix what it reports, and check that it "
        "passes. The hook said:\n\nx.txt: no final line\n"
    )
    checkpoint = pending_checkpoint(open_at(waiting), "a")
    assert checkpoint.suggested_request == suggestion
    assert "A hook refused the commit:\n  x.txt: no final line" in "\n".join(
        line.text for line in render_checkpoint(checkpoint)
    )
    record_decision(open_at(waiting), "a", Decision(DecisionState.CHANGES_REQUESTED))
    assert only_run(waiting).decision_feedback == suggestion


def test_a_hook_that_says_much_suggests_the_end_of_it(waiting: Path) -> None:
    hook(waiting, "pre-commit", "seq -f 'line %05g of what is wrong, which is a lot' 1000; exit 1")
    assert len(refused(waiting).message.splitlines()) == 22
    suggestion = pending_checkpoint(open_at(waiting), "a").suggested_request or ""
    assert suggestion.endswith(
        "line 00999 of what is wrong, which is a lot\nline 01000 of what is wrong, which is a lot\n"
    )
    assert "characters before)\n" in suggestion
    assert 8000 < len(suggestion) < 8300


@pytest.mark.exhaustive
def test_an_approval_that_is_committed_after_all_keeps_nothing_of_the_hook(waiting: Path) -> None:
    hook(waiting, "pre-commit", "echo no; exit 1")
    refused(waiting)
    assert only_run(waiting).hook_output == "no"
    hook(waiting, "pre-commit", "exit 0")
    approve(waiting)
    assert only_run(waiting).hook_output is None


def test_without_an_identity_git_refuses_in_its_own_words(
    waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")
    git(waiting, "config", "user.useConfigOnly", "true")
    assert "fatal: no email was given and auto-detection is disabled" in refused(waiting).message
    assert pending_checkpoint(open_at(waiting), "a").suggested_request is None


def test_a_change_that_is_not_known_is_not_committed(waiting: Path) -> None:
    run = only_run(waiting)
    with store_at(waiting).transaction() as transaction:
        transaction.save_run(run.updated(review_summary=None, base_tree=None, head_tree=None))
    assert refused(waiting).message == "a is not approved: its change is not known, so it cannot be committed"


def test_trees_that_are_gone_refuse(waiting: Path) -> None:
    git(waiting, "update-ref", "-d", f"refs/blackbird/runs/{only_run(waiting).id}")
    git(waiting, "gc", "-q", "--prune=now")
    write(waiting, {"x.txt": "mine\n"})
    assert refused(waiting).message.endswith(f"{only_run(waiting).head_tree} is not in this repository")


def test_a_git_that_keeps_the_index_refuses_before_there_is_a_commit(waiting: Path) -> None:
    lock = waiting / ".git/index.lock"
    lock.write_bytes(b"")
    assert refused(waiting).message == (
        "a is not approved: its change cannot be committed: "
        f"another git process is running here: {lock} exists"
    )


def test_a_hook_that_changes_the_commit_is_told_of(gated: Path) -> None:
    hook(gated, "pre-commit", "echo formatted >x.txt; git add x.txt")
    person = Person([QUIT])
    execute(gated, person)
    assert person.notices() == ["a hook of this repository changed what was committed: x.txt"]
    assert clean(gated)


def test_what_a_hook_adds_is_counted(waiting: Path) -> None:
    hook(waiting, "pre-commit", "echo more >more.txt; git add more.txt; git rm -q --cached d/y.txt")
    made = approve(waiting).commit
    assert made is not None
    assert (made.paths, made.warnings) == (
        2,
        ("a hook of this repository changed what was committed: d/y.txt, more.txt",),
    )


def test_an_index_that_is_locked_afterwards_is_brought_along_later(waiting: Path) -> None:
    lock = waiting / ".git/index.lock"
    hook(waiting, "post-commit", f": >{lock}")
    recorded = approve(waiting)
    assert recorded.commit is not None
    assert recorded.commit.warnings == (
        f"the index was not updated for the commit: another git process is running here: {lock} exists",
    )
    assert recorded.run.decision_state == DecisionState.APPROVED_CONTINUE
    lock.unlink()
    assert not clean(waiting)
    assert repaired(waiting) == [
        f"the index was updated for commit {recorded.commit.oid[:12]}, "
        "which an interrupted approval of a made"
        if recorded.commit.oid
        else ""
    ]
    assert (clean(waiting), repaired(waiting)) == (True, [])


def repaired(repo: Path) -> list[str]:
    person = Person()
    workspace = open_at(repo)
    with hold_controller(workspace, "test"):
        recover(workspace, person, CallScope())
    return person.notices()


def in_background(action: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    failed: list[BaseException] = []

    def body() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001  # told to who waits
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    return thread, failed


def test_while_hooks_run_nobody_waits_and_nobody_decides_otherwise(waiting: Path, tmp_path: Path) -> None:
    held, go = tmp_path / "held", tmp_path / "go"
    hook(waiting, "pre-commit", f"touch {held}; while [ ! -e {go} ]; do sleep 0.05; done")
    thread, failed = in_background(lambda: approve(waiting))
    try:
        wait_until(held.exists)
        run = only_run(waiting)
        for attempt in (
            lambda: approve(waiting),
            lambda: record_decision(open_at(waiting), "a", REJECT),
            lambda: set_status(open_at(waiting), "a", Status.TODO),
            lambda: reset_task(open_at(waiting), "a"),
        ):
            with pytest.raises(LockedError) as locked:
                attempt()
            assert run.id in locked.value.message
        overview = build_overview(open_at(waiting))
        assert overview.due == ()
        assert encode(StatusOutput(overview, (), None))["approving"] == {
            "task": "a",
            "run": run.id,
        }
        command = [sys.executable, *PROGRAM, "status"]
        shown = preloaded.run(
            command, cwd=waiting, env=program_environ(), capture_output=True, text=True, check=True
        ).stdout
        assert "\nrunning\n  a  approved: its change is being committed\n" in shown
        assert "decide" not in shown
        # Everything else goes on: no lock of the store or of the index is held.
        add_task(open_at(waiting), NewTask("another"))
        git(waiting, "add", "-f", ".gitignore")
        assert only_run(waiting) == run
        assert repaired(waiting) == []
    finally:
        go.touch()
        thread.join(PATIENCE_SECONDS)
    assert not failed
    assert only_run(waiting).decision_state == DecisionState.APPROVED_CONTINUE
    assert (subjects(waiting), clean(waiting)) == (["Task a", "a commit"], True)
    with pytest.raises(RequestError, match="no decision is pending on a"):
        approve(waiting)


@pytest.mark.exhaustive
def test_who_records_elsewhere_commits_and_the_waiting_execute_goes_on(gated: Path) -> None:
    class Elsewhere(Person):
        async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
            await asyncio.to_thread(approve, gated, checkpoint.task.id)
            await asyncio.sleep(PATIENCE_SECONDS)
            raise AssertionError

    person = Elsewhere()
    assert execute(gated, person).text == "every task is done"
    told = [(event.task_id, event.elsewhere) for event in person.events if isinstance(event, Decided)]
    assert told == [("a", True), ("b", True)]
    assert subjects(gated) == ["Task b", "Task a", "a commit"]


def test_a_decision_that_got_past_is_not_overwritten(waiting: Path, tmp_path: Path) -> None:
    held, go = tmp_path / "held", tmp_path / "go"
    hook(waiting, "pre-commit", f"touch {held}; while [ ! -e {go} ]; do sleep 0.05; done")
    thread, failed = in_background(lambda: approve(waiting))
    wait_until(held.exists)
    with store_at(waiting).transaction() as transaction:
        transaction.save_run(only_run(waiting).updated(decision_state=DecisionState.REJECTED))
    go.touch()
    thread.join(PATIENCE_SECONDS)
    (error,) = failed
    made = git(waiting, "rev-parse", "HEAD")
    run = only_run(waiting)
    assert str(error) == (
        f"run {run.id} of a was decided elsewhere meanwhile; its change is already in commit {made[:12]}"
    )
    assert run.decision_state == DecisionState.REJECTED


@pytest.fixture
def held(waiting: Path, tmp_path: Path) -> Iterator[Path]:
    """An approval in another process, whose hook waits for ``go`` in the folder of the file that is given."""
    held, go = tmp_path / "held", tmp_path / "go"
    hook(
        waiting,
        "pre-commit",
        f"echo $$ >{held}.new; mv {held}.new {held}; while [ ! -e {go} ]; do sleep 0.05; done",
    )
    write(waiting, {"a.txt": "staged\n"})
    git(waiting, "add", "a.txt")
    yield held
    go.touch()


def decide_apart(repo: Path, held: Path, *, start_new_session: bool = False) -> "subprocess.Popen[str]":
    """Start ``decide --approve`` and wait until the hook of its commit is at work."""
    process = preloaded.Popen(
        [sys.executable, *PROGRAM, "decide", "a", "--approve"],
        cwd=repo,
        env=program_environ(),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
    )
    wait_until(held.exists)
    return process


def test_what_outlives_us_makes_the_commit_and_the_index_follows(waiting: Path, held: Path) -> None:
    process = decide_apart(waiting, held)
    process.kill()
    process.communicate()
    assert repaired(waiting) == []
    with pytest.raises(LockedError, match=f"is being committed here: run {only_run(waiting).id}"):
        approve(waiting)
    held.with_name("go").touch()
    wait_until(lambda: approval_in_progress(open_at(waiting).paths) is None)
    assert git(waiting, "status", "--porcelain") == "M  a.txt"
    assert only_run(waiting).is_pending
    made = git(waiting, "rev-parse", "HEAD")
    recorded = approve(waiting)
    assert (recorded.commit, recorded.run.commits) == (ApprovalCommit(made), (made,))
    assert subjects(waiting) == ["Task a", "a commit"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_it_ends_git_and_commits_nothing(waiting: Path, held: Path, number: int) -> None:
    process = decide_apart(waiting, held)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert said.startswith(
        f"error: a is not approved: git did not commit its change\ngit was ended by signal {number:d}\n"
    )
    assert process.returncode == 1
    held.with_name("go").touch()
    assert only_run(waiting).is_pending
    assert (subjects(waiting), git(waiting, "status", "--porcelain")) == (
        ["a commit"],
        "M  a.txt\n?? d/\n?? x.txt",
    )
    hook(waiting, "pre-commit", "exit 0")
    approve(waiting)
    assert git(waiting, "status", "--porcelain") == "M  a.txt"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_after_the_commit_it_is_approved_and_the_index_follows(
    waiting: Path, tmp_path: Path, number: int
) -> None:
    held = tmp_path / "held"
    hook(waiting, "post-commit", f"touch {held}; sleep 600")
    write(waiting, {"a.txt": "staged\n"})
    git(waiting, "add", "a.txt")
    process = decide_apart(waiting, held, start_new_session=True)
    os.killpg(process.pid, number)
    out, said = process.communicate(timeout=PATIENCE_SECONDS)
    made = git(waiting, "rev-parse", "HEAD")
    assert out == f"approved a; committed {made[:12]} (2 paths)\n"
    assert said == (
        f"warning: commit {made[:12]} was made, but git did not finish what comes after it: "
        f"git was ended by signal {number:d}\n"
    )
    assert process.returncode == 0
    assert (only_run(waiting).decision_state, only_run(waiting).commits) == (
        DecisionState.APPROVED_CONTINUE,
        (made,),
    )
    assert (subjects(waiting), git(waiting, "status", "--porcelain")) == (["Task a", "a commit"], "M  a.txt")
    assert cut_off_lines(waiting) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="the system names no parent of a process")
def test_when_what_commits_is_killed_the_next_approval_finds_what_git_made(waiting: Path) -> None:
    parent_of_git = "sed -n 's/^PPid:.//p' /proc/$PPID/status"
    hook(waiting, "pre-commit", f"kill -9 $({parent_of_git})")
    error = refused_for_now(waiting)
    assert error.message.startswith(
        "a is not approved: the process committing its change was killed, and git may still be at work\n"
    )
    assert (error.hint or "").startswith("wait for git and approve again; ")
    wait_until(lambda: subjects(waiting) == ["Task a", "a commit"])
    made = git(waiting, "rev-parse", "HEAD")
    assert approve(waiting).commit == ApprovalCommit(made)
    assert (only_run(waiting).commits, clean(waiting)) == ((made,), True)


@pytest.fixture
def killed(waiting: Path, tmp_path: Path) -> Callable[[str], str]:
    """Kill an approval, its git and its hook while the hook of that name runs; gives what status says."""

    def kill(name: str) -> str:
        held = tmp_path / "held"
        hook(waiting, name, f"touch {held}; sleep 600")
        process = preloaded.Popen(
            [sys.executable, *PROGRAM, "decide", "a", "--approve"],
            cwd=waiting,
            env=program_environ(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(held.exists)
        under_way = cut_off_lines(waiting)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: approval_in_progress(open_at(waiting).paths) is None)
        hook(waiting, name, "exit 0")
        assert under_way == []
        return "\n".join(cut_off_lines(waiting))

    return kill


def cut_off_lines(repo: Path) -> list[str]:
    """What ``status`` says of a cut-off approval, and that looking changes nothing."""
    before = {path: path.stat().st_mtime_ns for path in (repo / ".git/blackbird").iterdir()}
    completed = preloaded.run(
        [sys.executable, *PROGRAM, "status"],
        cwd=repo,
        env=program_environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert before == {path: path.stat().st_mtime_ns for path in (repo / ".git/blackbird").iterdir()}
    _, _, rest = completed.stdout.partition("an approval was interrupted\n")
    return rest.splitlines()


@pytest.mark.exhaustive
def test_an_approval_killed_with_its_git_before_the_commit_is_named(
    waiting: Path, killed: Callable[[str], str]
) -> None:
    assert killed("pre-commit") == (
        f"  a  run {only_run(waiting).id}: killed before it made a commit\n"
        "      git blackbird decide a --approve    # finishes it"
    )
    approve(waiting)
    assert (cut_off_lines(waiting), clean(waiting)) == ([], True)


def test_an_approval_killed_with_its_git_after_the_commit_is_named(
    waiting: Path, killed: Callable[[str], str]
) -> None:
    said = killed("post-commit")
    run, made = only_run(waiting), git(waiting, "rev-parse", "HEAD")
    assert said == (
        f"  a  run {run.id}: killed after it made commit {made[:12]}; "
        "it is not recorded, and the index may lack it\n"
        "      git blackbird decide a --approve    # finishes it"
    )
    assert encode(StatusOutput(build_overview(open_at(waiting)), (), None))["interruptedApproval"] == {
        "task": "a",
        "run": run.id,
        "commit": made,
        "command": "git blackbird decide a --approve",
    }
    git(waiting, "config", "--unset", "blackbird.execution.commit")
    assert cut_off_lines(waiting)[1] == "      git blackbird execute    # finishes it"
    assert not clean(waiting)
    repaired(waiting)
    assert (cut_off_lines(waiting), clean(waiting), only_run(waiting).is_pending) == ([], True, True)


def test_a_refused_approval_is_none_that_was_cut_off(waiting: Path) -> None:
    hook(waiting, "pre-commit", "exit 1")
    refused(waiting)
    assert cut_off_lines(waiting) == []


@pytest.mark.exhaustive
def test_approving_what_is_done_and_uncommitted_commits_it(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false")
    put_plan(waiting, leaf("z", "write z.out x"))
    execute(waiting, None, "z")
    assert status(waiting, "z") == Status.DONE
    recorded = record_decision(open_at(waiting), "z", APPROVE)
    assert recorded.commit is not None
    assert git(waiting, "show", "--format=%s", "--name-only", "HEAD").splitlines() == ["Task z", "", "z.out"]
    with pytest.raises(RequestError, match=r"no decision is pending on z .* commit [0-9a-f]{12}"):
        record_decision(open_at(waiting), "z", APPROVE)


def rerun(repo: Path, prompt: str) -> None:
    """Let z be done once more with another prompt, by a new session."""
    put_plan(repo, leaf("z", prompt))
    set_status(open_at(repo), "z", Status.TODO)
    execute(repo, None, "z")


@pytest.mark.exhaustive
def test_all_finished_runs_that_nobody_committed_are_in_the_commit_of_the_approval(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false")
    put_plan(waiting, leaf("z", "write one.out 1\nwrite two.out 1"))
    execute(waiting, None, "z")
    rerun(waiting, "append two.out 2")
    rerun(waiting, "write three.out 3")
    assert record_decision(open_at(waiting), "z", APPROVE).commit is not None
    assert git(waiting, "show", "--format=%s", "--name-only", "HEAD").splitlines() == [
        "Task z",
        "",
        "one.out",
        "three.out",
        "two.out",
    ]
    assert git(waiting, "show", "HEAD:two.out") == "1\n2"


@pytest.mark.exhaustive
def test_finished_work_that_was_committed_by_hand_is_not_committed_again(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false")
    put_plan(waiting, leaf("z", "write one.out 1\nwrite two.out 1"))
    execute(waiting, None, "z")
    write(waiting, {"two.out": "1 by hand\n"})
    git(waiting, "add", "one.out", "two.out")
    git(waiting, "commit", "-q", "-m", "by hand")
    rerun(waiting, "append two.out 2")
    assert record_decision(open_at(waiting), "z", APPROVE).commit is not None
    assert git(waiting, "show", "--format=%s", "--name-only", "HEAD").splitlines() == [
        "Task z",
        "",
        "two.out",
    ]
    assert git(waiting, "show", "HEAD:two.out") == "1 by hand\n2"


def test_finished_work_that_its_agent_committed_is_not_committed_again(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false")
    put_plan(waiting, leaf("z"))
    script = "cat >/dev/null; echo 1 >one.out; git add one.out; git commit -q -m theirs"
    configure(waiting, agent="command", command__run=script)
    execute(waiting, None, "z")
    configure(waiting, agent="demo")
    rerun(waiting, "append one.out 2")
    assert record_decision(open_at(waiting), "z", APPROVE).commit is not None
    assert git(waiting, "show", "--format=%s", "--name-only", "HEAD").splitlines() == [
        "Task z",
        "",
        "one.out",
    ]


def test_a_refusal_of_what_is_done_names_no_decision(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false")
    put_plan(waiting, leaf("z", "write z.out x"))
    execute(waiting, None, "z")
    write(waiting, {"z.out": "mine\n"})
    with pytest.raises(RequestError, match=r"z\.out: it was edited after the run") as refused:
        record_decision(open_at(waiting), "z", APPROVE)
    assert (refused.value.hint or "").endswith("\nor commit by hand")


def test_nothing_is_left_to_approve_where_approvals_commit_nothing(waiting: Path) -> None:
    configure(waiting, execution__stopAfterEachTask="false", execution__commit="never")
    put_plan(waiting, leaf("z", "write z.out x"))
    execute(waiting, None, "z")
    with pytest.raises(RequestError, match="no decision is pending on z"):
        record_decision(open_at(waiting), "z", APPROVE)


def test_edits_of_an_undecided_task_are_named_with_the_decision_that_comes_first(gated: Path) -> None:
    put_plan(gated, leaf("m1", "append a.txt first"), leaf("m2", "append a.txt second"))
    execute(gated, Person(), "m1")
    execute(gated, Person(), "m2")
    with pytest.raises(ApprovalRefusedError) as raised:
        approve(gated, "m2")
    assert raised.value.message.endswith(
        "a.txt: this file had uncommitted edits, or HEAD has moved; m1 waits for a decision on it"
    )
    way = "decide m1 first (`git blackbird decide m1 --approve`) and approve again; "
    assert (raised.value.hint or "").startswith(way)
    with pytest.raises(ApprovalRefusedError) as raised:
        approve(gated, "m1")
    assert "waits for a decision" not in raised.value.message


def interleave(repo: Path, first: str, between: str, again: str) -> None:
    """Let m1 work, then m2, then m1 once more, with both decisions pending at the end."""
    put_plan(repo, leaf("m1", f"{first}\non-feedback {again}"), leaf("m2", between))
    execute(repo, Person(), "m1")
    execute(repo, Person(), "m2")
    record_decision(open_at(repo), "m1", changes("more"))
    execute(repo, Person(), "m1")


def refusal_of(repo: Path, task_id: str) -> str:
    """Approve, and return the refusal with its hint."""
    with pytest.raises(ApprovalRefusedError) as raised:
        approve(repo, task_id)
    return f"{raised.value.message}\n{raised.value.hint}"


@pytest.mark.exhaustive
def test_of_two_tasks_that_alternate_on_a_file_the_one_that_began_there_is_decided_first(gated: Path) -> None:
    interleave(gated, "append a.txt first", "append a.txt second", "append a.txt third")
    assert "decide m1 first (`git blackbird decide m1 --approve`) and approve again" in refusal_of(
        gated, "m2"
    )
    assert approve(gated, "m1").commit is not None
    assert git(gated, "show", "HEAD:a.txt").splitlines() == ["one", "first", "second", "third"]
    committed = approve(gated, "m2").commit
    assert committed is not None
    assert (committed.oid, status(gated, "m2"), clean(gated)) == (None, Status.DONE, True)


@pytest.mark.exhaustive
def test_edits_from_before_both_are_of_neither(gated: Path) -> None:
    write(gated, {"a.txt": "one\nmine\n"})
    interleave(gated, "append a.txt first", "append a.txt second", "append a.txt third")
    own = refusal_of(gated, "m1")
    assert "m2" not in own
    assert "commit your own edits from before the run by themselves first" in own


@pytest.mark.exhaustive
def test_the_last_of_two_that_alternate_commits_on_top_of_the_other(gated: Path) -> None:
    interleave(
        gated,
        "append a.txt first",
        "append a.txt second\non-feedback append a.txt fourth",
        "append a.txt third",
    )
    record_decision(open_at(gated), "m2", changes("more"))
    execute(gated, Person(), "m2")
    steps = refusal_of(gated, "m1").splitlines()
    aside = [step.strip() for step in steps if step.startswith("  ")]
    assert aside[1] == "git blackbird decide m1 --approve"
    subprocess.run(["sh", "-c", aside[0]], cwd=gated, check=True)
    assert approve(gated, "m1").commit is not None
    subprocess.run(["sh", "-c", aside[2]], cwd=gated, check=True)
    assert approve(gated, "m2").commit is not None
    assert git(gated, "show", "HEAD^:a.txt").splitlines() == ["one", "first", "second", "third"]
    assert git(gated, "show", "HEAD:a.txt").splitlines() == ["one", "first", "second", "third", "fourth"]


@pytest.mark.exhaustive
def test_two_tasks_that_each_changed_what_the_other_had_changed_are_committed_together(gated: Path) -> None:
    interleave(
        gated,
        "append a.txt first",
        "append a.txt second\nappend b.txt second",
        "append b.txt third",
    )
    together = "git add -- a.txt b.txt && git commit -- a.txt b.txt"
    for task_id, other in (("m1", "m2"), ("m2", "m1")):
        refusal = refusal_of(gated, task_id)
        assert "m1 and m2 each changed what the other had changed" in refusal
        assert together in refusal
        assert f"decide {other} first" not in refusal
    words = "sh -c 'echo done >\"$1\"' -"
    subprocess.run(["sh", "-c", together], cwd=gated, check=True, env={**os.environ, "GIT_EDITOR": words})
    for task_id in ("m1", "m2"):
        committed = approve(gated, task_id).commit
        assert committed is not None
        assert committed.oid is None
    assert clean(gated)


@pytest.mark.exhaustive
def test_the_commit_of_a_killed_approval_is_taken_back_once_it_is_rejected(
    waiting: Path, killed: Callable[[str], str]
) -> None:
    killed("post-commit")
    made = git(waiting, "rev-parse", "HEAD")
    assert not clean(waiting)
    rejected = record_decision(open_at(waiting), "a", REJECT)
    assert rejected.undo == ("git blackbird undo a",)
    assert (cut_off_lines(waiting), clean(waiting)) == ([], True)
    assert undo_task(open_at(waiting), "a").commit == git(waiting, "rev-parse", "HEAD") != made
    assert clean(waiting)
    assert not (waiting / "x.txt").exists()

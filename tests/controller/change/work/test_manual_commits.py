"""A person's commit that names a task: what becomes of it, and what is left alone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.controller.change.work.manual_commits import record_commit
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.engine.commands import restart_loop
from git_blackbird.controller.queries.commits import find_origin
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.commits import Evidence
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType
from git_blackbird.model.run.summary import FileStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    perform,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git, run_trees, write

PATIENCE_SECONDS = 120.0
TO_DECIDE = "to decide: `git blackbird decide a --approve` or --reject"


@pytest.fixture
def gated(repo: Path) -> Path:
    commit(repo, {"old.txt": "old\n"}, "first")
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    return repo


@pytest.fixture
def free(repo: Path) -> Path:
    commit(repo, {"old.txt": "old\n"}, "first")
    configure(repo, agent="demo")
    return repo


def message(*tasks: str, title: str = "Do it") -> str:
    return f"{title}\n\n" + "".join(f"Blackbird-Task: {task}\n" for task in tasks)


def do(repo: Path, *tasks: str, replaced: str | None = None, **environ: str) -> list[str]:
    """Commit some work, and let it be recorded as the hook does."""
    oid = commit(repo, {f"{'-'.join(tasks)}.txt": "done\n"}, message(*tasks))
    return list(record_commit(open_at(repo, **environ), oid, replaced))


def head_of(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD")


def only_run(repo: Path, task: str) -> Run:
    (run,) = runs_of(repo, task)
    return run


def test_a_commit_is_a_run_with_a_decision_due(gated: Path) -> None:
    before = head_of(gated)
    put_plan(gated, leaf("a"))
    said = do(gated, "a")
    run = only_run(gated, "a")
    assert said == [f"commit {head_of(gated)[:10]} is recorded as run {run.id} of a; {TO_DECIDE}"]
    facts: dict[str, Any] = {
        "run_type": RunType.MANUAL,
        "provider": "",
        "provider_session_ref": None,
        "status": RunStatus.SUCCESS,
        "decision_state": DecisionState.PENDING,
        "decision_required": True,
        "repo_root": str(gated),
        "base_tree": git(gated, "rev-parse", "HEAD~1^{tree}"),
        "head_tree": git(gated, "rev-parse", "HEAD^{tree}"),
    }
    assert run.commits == (head_of(gated),)
    assert (run.start_branch, run.start_commit) == ("main", before)
    assert run.notes == (f"commit {head_of(gated)[:10]}: Do it",)
    assert {name: getattr(run, name) for name in facts} == facts
    assert run.completed_at is not None
    assert run.review_summary is not None
    assert [(change.status, change.path) for change in run.review_summary.changes] == [
        (FileStatus.ADDED, "a.txt")
    ]
    assert run_trees(gated, run.id) == (run.base_tree, run.head_tree)
    assert status(gated, "a") == Status.WAITING_USER


def test_the_decision_goes_the_usual_way(gated: Path) -> None:
    put_plan(gated, leaf("a"), leaf("b", "write b.txt b", deps=["a"]))
    do(gated, "a")
    person = Person([APPROVE, APPROVE])
    assert execute(gated, person).reason is StopReason.COMPLETED
    assert [checkpoint.task.id for checkpoint in person.checkpoints] == ["a", "b"]
    assert person.checkpoints[0].summary.files == ("a.txt",)
    assert [status(gated, task) for task in "ab"] == [Status.DONE, Status.DONE]


def test_what_was_rejected_can_be_done_by_an_agent(gated: Path) -> None:
    put_plan(gated, leaf("a", "write a.txt better"))
    do(gated, "a")
    record_decision(open_at(gated), "a", REJECT)
    assert status(gated, "a") == Status.FAILED
    perform(
        open_at(gated),
        Person([APPROVE]),
        lambda workspace, ui: restart_loop(workspace, ui, "a", None),
    )
    assert [run.run_type for run in runs_of(gated, "a")] == [RunType.MANUAL, RunType.EXECUTE]
    assert status(gated, "a") == Status.DONE


def test_changes_cannot_be_requested_of_nobody(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    run = only_run(gated, "a")
    with pytest.raises(RequestError) as refused:
        record_decision(open_at(gated), "a", changes("nicer"))
    assert refused.value.message == (
        f"changes cannot be requested: run {run.id} (no agent) has no session to continue"
    )
    assert refused.value.hint == "git blackbird restart a -e    # a new session, with your text; or -m TEXT"
    assert only_run(gated, "a").is_pending


def test_without_checkpoints_the_task_is_done_and_its_parents_follow(free: Path) -> None:
    put_plan(free, parent_of("p", ["a"]), leaf("a", parent="p"))
    said = do(free, "a")
    run = only_run(free, "a")
    assert said == [f"commit {head_of(free)[:10]} is recorded as run {run.id} of a; the task is done"]
    assert (run.decision_state, run.decision_required) == (None, None)
    assert [status(free, task) for task in ("a", "p")] == [Status.DONE, Status.WAITING_USER]


def test_each_task_of_a_commit_has_a_run(free: Path) -> None:
    put_plan(free, leaf("a"), leaf("b", deps=["a"]), leaf("c", deps=["d"]), leaf("d"))
    said = do(free, "a", "b", "c", "a")
    assert [line.partition(" is recorded as run ")[2].partition("; ")[2] or line for line in said] == [
        "the task is done",
        "the task is done",
        "no manual run of c: its dependency d is todo, not done",
    ]
    assert [status(free, task) for task in "abcd"] == [Status.DONE, Status.DONE, Status.TODO, Status.TODO]
    assert only_run(free, "a").commits == only_run(free, "b").commits
    assert not runs_of(free, "c")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("p", "no manual run of p: it has children (a); only leaves are executed"),
        ("x", 'no manual run of x: unknown id "x"'),
        ("b", "no manual run of b: its dependency a is todo, not done"),
        ("d", "no manual run of d: its status is done, not todo"),
        ("../a", 'no manual run of ../a: unknown id "../a"'),
    ],
)
def test_what_is_not_ready_stays_as_it_is(free: Path, task: str, said: str) -> None:
    put_plan(free, parent_of("p", ["a"]), leaf("a", parent="p"), leaf("b", deps=["a"]), leaf("d"))
    set_status(open_at(free), "d", Status.DONE)
    before = (free / "blackbird.plan.json").read_bytes()
    oid = commit(free, {"new.txt": "new\n"}, message(task))
    assert record_commit(open_at(free), oid, None) == (said,)
    assert (free / "blackbird.plan.json").read_bytes() == before
    assert not list((free / ".blackbird").glob("runs/*/*.json"))
    assert git(free, "for-each-ref", "refs/blackbird") == ""


def test_an_amended_commit_takes_the_place_of_the_first(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    was, first = head_of(gated), only_run(gated, "a")
    write(gated, {"a.txt": "better\n", "more.txt": "more\n"})
    git(gated, "add", "a.txt", "more.txt")
    git(gated, "commit", "-q", "--amend", "-m", message("a", title="Do it better"))
    said = record_commit(open_at(gated), head_of(gated), was)
    run = only_run(gated, "a")
    assert said == (f"a was amended to {head_of(gated)[:10]} (run {run.id}); {TO_DECIDE}",)
    assert (run.id, run.started_at, run.base_tree) == (first.id, first.started_at, first.base_tree)
    assert (run.commits, run.head_tree) == ((head_of(gated),), git(gated, "rev-parse", "HEAD^{tree}"))
    assert run.review_summary is not None
    assert "more.txt" in run.review_summary.files
    assert run.notes == (f"commit {head_of(gated)[:10]}: Do it better",)
    assert run_trees(gated, run.id) == (run.base_tree, run.head_tree)
    assert status(gated, "a") == Status.WAITING_USER


def test_an_amended_commit_that_needed_no_decision_is_named_by_its_run(free: Path) -> None:
    put_plan(free, leaf("a"))
    do(free, "a")
    was = head_of(free)
    git(free, "commit", "-q", "--amend", "-m", message("a", title="Say it better"))
    record_commit(open_at(free), head_of(free), was)
    assert only_run(free, "a").commits == (head_of(free),)
    assert status(free, "a") == Status.DONE


def amend(repo: Path, text: str) -> list[str]:
    """Amend the last commit, and let that be recorded as the hook does."""
    was = head_of(repo)
    git(repo, "commit", "-q", "--amend", "-m", text)
    return list(record_commit(open_at(repo), head_of(repo), was))


def test_what_was_approved_stays_however_often_its_commit_is_amended(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    names = [head_of(gated)]
    record_decision(open_at(gated), "a", APPROVE)
    decided = only_run(gated, "a")
    for title in ("Say it better", "Say it best"):
        assert amend(gated, message("a", title=title)) == []
        names.append(head_of(gated))
    assert only_run(gated, "a") == decided.updated(commits=tuple(names))
    assert status(gated, "a") == Status.DONE


def test_an_amended_commit_with_another_change_was_not_approved(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    was = head_of(gated)
    record_decision(open_at(gated), "a", APPROVE)
    decided = only_run(gated, "a")
    write(gated, {"a.txt": "another\n"})
    git(gated, "add", "a.txt")
    assert amend(gated, message("a")) == [
        (
            f"no manual run of a: commit {was[:10]} was approved; {head_of(gated)[:10]} is a different "
            "change that nobody has decided on"
        )
    ]
    assert (only_run(gated, "a"), status(gated, "a")) == (decided, Status.DONE)
    origin = find_origin(open_at(gated), "HEAD")
    assert [(maker.task_id, maker.run_id) for maker in origin.makers] == [("a", None)]
    assert origin.source is Evidence.TRAILERS
    assert [(one.run.id, one.oid, one.in_history) for one in origin.instead] == [(decided.id, was, False)]


def test_amending_what_was_rejected_is_said_to_count_for_nothing(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    record_decision(open_at(gated), "a", REJECT)
    assert amend(gated, message("a", title="Do it better")) == [
        "no manual run of a: its status is failed, not todo"
    ]


def test_a_task_that_an_amended_commit_names_no_more_is_said(free: Path) -> None:
    put_plan(free, leaf("a"), leaf("b"))
    do(free, "a")
    was, run = head_of(free), only_run(free, "a")
    left = f"run {run.id} of a was commit {was[:10]}, which does not name a any more"
    back = "to take it back: `git blackbird set-status a todo`"
    said = amend(free, message("b"))
    done = f"commit {head_of(free)[:10]} is recorded as run {only_run(free, 'b').id} of b; the task is done"
    assert said == [done, f"{left}; {back}"]
    assert only_run(free, "a") == run
    assert len(amend(free, "Nothing of that")) == 1
    assert amend(free, "Nothing of that at all") == []


def test_what_is_due_on_a_task_that_is_named_no_more_can_be_rejected(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    (said,) = amend(gated, "Nothing of that")
    assert said.endswith("; to take it back: `git blackbird decide a --reject`")


def test_a_commit_that_changes_nothing_is_said_to(free: Path) -> None:
    put_plan(free, leaf("a"))
    git(free, "commit", "-q", "--allow-empty", "-m", message("a"))
    (said,) = record_commit(open_at(free), head_of(free), None)
    assert said.startswith(f"commit {head_of(free)[:10]} is recorded as run ")
    assert said.endswith(" of a and changes nothing; the task is done")


def test_amending_someone_elses_commit_is_a_commit_of_its_own(free: Path) -> None:
    put_plan(free, leaf("a"))
    was = commit(free, {"x.txt": "x\n"}, "x")
    git(free, "commit", "-q", "--amend", "-m", message("a"))
    record_commit(open_at(free), head_of(free), was)
    assert only_run(free, "a").commits == (head_of(free),)


def test_one_commit_is_recorded_once(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    before = only_run(gated, "a")
    assert record_commit(open_at(gated), head_of(gated), None) == ()
    assert only_run(gated, "a") == before


def test_earlier_runs_are_overtaken(gated: Path) -> None:
    put_plan(gated, leaf("a", "fail 3"))
    execute(gated)
    set_status(open_at(gated), "a", Status.TODO)
    do(gated, "a")
    failed, manual = runs_of(gated, "a")
    assert (failed.superseded_at is not None, manual.superseded_at) == (True, None)
    assert status(gated, "a") == Status.WAITING_USER


def test_the_first_commit_of_a_repository_is_work_as_well(repo: Path) -> None:
    put_plan(repo, leaf("a"))
    do(repo, "a")
    run = only_run(repo, "a")
    assert run.start_commit is None
    assert run.base_tree == git(repo, "mktree", stdin=b"")
    assert run.review_summary is not None
    assert run.review_summary.files == ("a.txt",)


def test_plan_and_state_are_no_part_of_the_change(free: Path) -> None:
    put_plan(free, leaf("a"))
    git(free, "add", "blackbird.plan.json")
    do(free, "a")
    run = only_run(free, "a")
    assert git(free, "ls-tree", "--name-only", "HEAD").split() == ["a.txt", "blackbird.plan.json", "old.txt"]
    assert git(free, "ls-tree", "--name-only", run.head_tree or "").split() == ["a.txt", "old.txt"]


def test_an_agent_does_no_task_by_hand(free: Path) -> None:
    put_plan(free, leaf("a"))
    assert do(free, "a", BLACKBIRD_RUN_ID="0123456789abcdef") == []
    assert not runs_of(free, "a")


def test_a_commit_of_ours_is_none_of_a_persons(free: Path) -> None:
    put_plan(free, leaf("a"))
    oid = commit(free, {"x": "x"}, f"{message('a')}Blackbird-Run: 0123456789abcdef\n")
    assert record_commit(open_at(free), oid, None) == ()


def test_words_in_the_middle_of_a_message_are_no_trailer(free: Path) -> None:
    put_plan(free, leaf("a"))
    oid = commit(free, {"x": "x"}, f"{message('a')}\nand something to say about it\n")
    assert record_commit(open_at(free), oid, None) == ()


def test_a_configuration_that_is_not_usable_is_said(free: Path) -> None:
    put_plan(free, leaf("a"))
    configure(free, execution__stopAfterEachTsk="true")
    with pytest.raises(UnusableError, match="the configuration is not usable"):
        do(free, "a")
    assert not runs_of(free, "a")


def test_beside_an_unreadable_record_nothing_is_recorded(free: Path) -> None:
    put_plan(free, leaf("a"))
    stray = free / ".git" / "blackbird" / "runs" / "a" / "x.json"
    stray.parent.mkdir(parents=True)
    stray.write_text("{")
    (said,) = do(free, "a")
    assert said.startswith(f"no manual run of a: a is stopped by a record that cannot be used: {stray}: ")


def test_a_crash_between_record_and_plan_is_repaired(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    before = (gated / "blackbird.plan.json").read_bytes()
    do(gated, "a")
    (gated / "blackbird.plan.json").write_bytes(before)
    state = open_at(gated).plan_state()
    assert state.drift == {"a": (Status.TODO, Status.WAITING_USER)}
    execute(gated)
    assert status(gated, "a") == Status.WAITING_USER


class Hesitant(Person):
    """Amends the commit while the decision on it is asked for, and decides when asked again."""

    repo: Path

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        if not self.checkpoints:
            self.checkpoints.append(checkpoint)
            was = head_of(self.repo)
            write(self.repo, {"a.txt": "better\n"})
            git(self.repo, "commit", "-q", "-a", "--amend", "-m", message("a"))
            record_commit(open_at(self.repo), head_of(self.repo), was)
            await asyncio.sleep(PATIENCE_SECONDS)
        return await super().decide(checkpoint)


def test_a_checkpoint_on_the_screen_comes_again_when_its_commit_is_amended(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    person = Hesitant([APPROVE])
    person.repo = gated
    assert execute(gated, person).reason is StopReason.COMPLETED
    assert person.notices() == ["the commit of a was amended: its checkpoint is shown again"]
    run = only_run(gated, "a")
    assert [checkpoint.pair for checkpoint in person.checkpoints][-1] == run.tree_pair
    assert run.shown == run.tree_pair
    assert run.head_tree == git(gated, "rev-parse", "HEAD^{tree}")


def test_an_execute_offers_no_changes_of_a_commit_by_hand(gated: Path) -> None:
    put_plan(gated, leaf("a"))
    do(gated, "a")
    stop = execute(gated)
    assert (stop.reason, stop.next_steps) == (
        StopReason.DECISION_REQUIRED,
        (
            "git blackbird decide a --approve    # approves it; the task is done",
            "git blackbird restart a -e    # a new session, with your text; or -m TEXT",
            "git blackbird decide a --reject    # fails the task; your files stay as they are",
            "git blackbird runs a --diff    # shows the change",
            "git blackbird decide a --reject --undo    # fails the task; takes its change out of your files",
        ),
    )
    left_open = execute(gated, Person([Unanswered()]))
    assert left_open.next_steps == ("git blackbird decide a --approve    # or --reject",)
    owed = build_overview(open_at(gated)).due[0]
    assert owed.command == "git blackbird decide a --approve    # or --reject"
    with pytest.raises(RequestError, match="has no session to continue"):
        record_decision(open_at(gated), "a", changes("other"))
    again = perform(open_at(gated), Person(), lambda workspace, ui: restart_loop(workspace, ui, "a", "other"))
    assert again.next_steps[1].startswith("git blackbird decide a --request-changes -e    # ")
    assert [run.run_type for run in runs_of(gated, "a")] == [RunType.MANUAL, RunType.EXECUTE]

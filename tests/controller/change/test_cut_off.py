"""A landing, an undo or a redo that is killed before any of its files, and goes on after an edit."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.move import Move, prepare, write
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.errors import RequestError
from git_blackbird.git.writing.write_back import WriteBackError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import is_half_written, label_of
from git_blackbird.model.run.states import VERBS, Verb
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.stop import StopReason
from tests.cli.ui.test_plain_and_json import run as cli_run
from tests.controller.killing import kills, run_killed_where
from tests.controller.support import APPROVE, configure, execute, leaf, open_at, put_plan, runs_of
from tests.support import commit, git

BEFORE = "".join(f"line {number}\n" for number in range(9))
AFTER = BEFORE.replace("line 2\n", "theirs\n")
NAMES = ("x.txt", "y.txt", "z.txt")


# What each verb of a command does, in an order in which all can be done.
DOES: Mapping[Verb, Callable[[Path], object]] = {
    Verb.LAND: lambda repo: execute(repo, None, "a"),
    Verb.UNDO: lambda repo: undo_task(open_at(repo), "a"),
    Verb.REDO: lambda repo: redo_task(open_at(repo), "a"),
}


def test_every_verb_of_a_command_is_cut_off_here() -> None:
    assert set(DOES) == {verb for verb, words in VERBS.items() if words.command}


def nothing(_path: Path) -> None:
    """Leave it as it is."""


def edit_elsewhere(path: Path) -> None:
    path.write_text(path.read_text().replace("line 8\n", "mine\n"))


def edit_on_top(path: Path) -> None:
    """Edit the line that the change is about, where it has been written."""
    text = path.read_text()
    path.write_text(text.replace("theirs\n", "mine\n"))


def edit_what_is_back(path: Path) -> None:
    """Edit the line that the change is about, where it has been taken back."""
    text = path.read_text()
    if "theirs\n" not in text:
        path.write_text(text.replace("line 2\n", "mine\n"))


def replace_as_editors_do(path: Path) -> None:
    """Edit it in a new file that takes its place, so that neither inode nor times are as they were."""
    edit_elsewhere(path)
    copy = path.with_name("saved")
    shutil.copyfile(path, copy)
    copy.replace(path)


@pytest.fixture
def approved(repo: Path) -> Path:
    """A change of three files that was made in a worktree and is to land with a commit."""
    approve(repo, f"sed -i 's/line 2$/theirs/' {' '.join(NAMES)}")
    return repo


def approve(repo: Path, script: str) -> None:
    commit(repo, {**dict.fromkeys(NAMES, BEFORE), ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, agent="command", command__run=script)
    configure(repo, execution__worktrees="true", execution__stopAfterEachTask="true")
    configure(repo, execution__commit="approved")
    put_plan(repo, leaf("a"))
    execute(repo)
    record_decision(open_at(repo), "a", APPROVE)


def texts(repo: Path) -> Mapping[str, str]:
    return {name: (repo / name).read_text() for name in NAMES}


def changed(repo: Path) -> set[str]:
    return {line[3:] for line in git(repo, "status", "--porcelain", "-uall").splitlines()}


def subjects(repo: Path) -> list[str]:
    return git(repo, "log", "--format=%s", "--reverse").splitlines()[1:]


def require(repo: Path, at: int, commits: list[str], text: str, edited: Mapping[str, str]) -> None:
    """Show that commits and files are what they are without a kill, but for what was edited."""
    assert subjects(repo) == commits, at
    assert {git(repo, "show", f"HEAD:{name}") + "\n" for name in NAMES} == {text}, at
    assert changed(repo) == {*edited}, at
    assert texts(repo) == {**dict.fromkeys(NAMES, text), **edited}, at


@pytest.mark.sampled(1)
@pytest.mark.parametrize("edit", [nothing, edit_elsewhere, edit_on_top, replace_as_editors_do])
def test_a_landing(approved: Path, edit: Callable[[Path], None]) -> None:
    for at in kills(approved, lambda: execute(approved)):
        before = texts(approved)
        if runs_of(approved, "a")[-1].landing_pair is not None:
            edit(approved / "x.txt")
        is_edited = texts(approved) != before
        assert execute(approved).reason is StopReason.COMPLETED, at
        # One commit has all of it and nothing else; the edit is on top.
        mine = texts(approved)["x.txt"]
        require(approved, at, ["Task a"], AFTER, {"x.txt": mine} if is_edited else {})
        assert ("mine\n" in mine) is is_edited, at
        undone = undo_task(open_at(approved), "a")
        is_kept = "theirs\n" not in mine
        assert [kept.path for kept in undone.kept] == (["x.txt"] if is_kept else []), at
        assert texts(approved)["x.txt"] == (mine if is_kept else mine.replace("theirs\n", "line 2\n")), at
        assert texts(approved)["y.txt"] == texts(approved)["z.txt"] == BEFORE, at
        assert git(approved, "fsck", "--no-dangling") == ""
        assert git(approved, "worktree", "list", "--porcelain").count("worktree ") == 1, at


@pytest.mark.parametrize("verb", [verb for verb, rules in VERBS.items() if not rules.leaves])
@pytest.mark.parametrize("in_the_way", ["edit", "folder"])
def test_a_verb_that_leaves_nothing_writes_nothing_where_a_path_has_to_stay(
    approved: Path, verb: Verb, in_the_way: str
) -> None:
    run = runs_of(approved, "a")[-1]
    assert run.base_tree is not None
    assert run.head_tree is not None
    if in_the_way == "edit":
        (approved / "x.txt").write_text(BEFORE.replace("line 2\n", "mine\n"))
    else:
        (approved / "x.txt").unlink()
        (approved / "x.txt").mkdir()
        (approved / "x.txt/mine").write_text("mine\n")
    before, begun = git(approved, "status", "--porcelain", "-uall"), list[object]()
    move = Move(verb, open_at(approved), run, [Trees(run.base_tree, run.head_tree)])
    with pytest.raises(WriteBackError, match=r"x\.txt") as raised:
        write(move, prepare(move), begun.append)
    assert f"`git blackbird {VERBS[verb].command}" in (raised.value.hint or "")
    assert begun == []
    assert git(approved, "status", "--porcelain", "-uall") == before


@pytest.mark.exhaustive
def test_a_landing_with_a_file_made_executable(approved: Path) -> None:
    for at in kills(approved, lambda: execute(approved)):
        is_begun = runs_of(approved, "a")[-1].landing_pair is not None
        (approved / "x.txt").chmod(0o755 if is_begun else 0o644)
        assert execute(approved).reason is StopReason.COMPLETED, at
        require(approved, at, ["Task a"], AFTER, {"x.txt": AFTER} if is_begun else {})
        assert os.access(approved / "x.txt", os.X_OK) is is_begun, at


@pytest.mark.exhaustive
def test_a_landing_with_a_file_removed(approved: Path) -> None:
    for at in kills(approved, lambda: execute(approved)):
        if runs_of(approved, "a")[-1].landing_pair is None:
            continue
        was = (approved / "x.txt").read_text()
        (approved / "x.txt").unlink()
        # Removed after it was written, it is an edit on top; before, a conflict, and nothing has landed.
        is_whole = was == AFTER
        reason = StopReason.COMPLETED if is_whole else StopReason.DECISION_REQUIRED
        assert execute(approved).reason is reason, at
        assert changed(approved) == {"x.txt"}, at
        assert {(approved / name).read_text() for name in NAMES[1:]} == {AFTER if is_whole else BEFORE}, at
        assert subjects(approved) == (["Task a"] if is_whole else []), at


@pytest.mark.exhaustive
def test_what_starts_afterwards_begins_with_all_of_it(approved: Path) -> None:
    put_plan(approved, leaf("a"), leaf("b"))
    for at in kills(approved, lambda: execute(approved, None, "a")):
        configure(approved, execution__jobs="2")
        execute(approved)
        (begun,) = runs_of(approved, "b")
        there = {git(approved, "show", f"{begun.base_tree}:{name}") + "\n" for name in NAMES}
        assert len(there) == 1, at


@pytest.mark.sampled(1)
@pytest.mark.parametrize("complete", [undo_task, None])
@pytest.mark.parametrize("edit", [nothing, edit_elsewhere, edit_what_is_back])
def test_an_undo(approved: Path, edit: Callable[[Path], None], complete: object) -> None:
    execute(approved)
    for at in kills(approved, lambda: undo_task(open_at(approved), "a")):
        run = runs_of(approved, "a")[-1]
        if run.moving is not None:
            edit(approved / "x.txt")
            execute(approved) if complete is None else undo_task(open_at(approved), "a")
        elif run.undone_at is None:
            undo_task(open_at(approved), "a")
        is_edited = "mine\n" in texts(approved)["x.txt"]
        mine = texts(approved)["x.txt"]
        require(approved, at, ["Task a", 'Undo "Task a"'], BEFORE, {"x.txt": mine} if is_edited else {})
        assert "theirs\n" not in mine, at


@pytest.mark.exhaustive
def test_an_undo_straight_after_a_killed_landing(repo: Path) -> None:
    approve(repo, f"sed -i 's/line 2$/theirs/' {NAMES[0]}; echo new >new; rm {NAMES[2]}")
    for at in kills(repo, lambda: execute(repo)):
        run = runs_of(repo, "a")[-1]
        if run.moving or run.landed_at:
            assert undo_task(open_at(repo), "a").kept == (), at
            assert texts(repo) == dict.fromkeys(NAMES, BEFORE), at
            assert changed(repo) == set(), at


@pytest.mark.exhaustive
@pytest.mark.parametrize("edit", [nothing, edit_elsewhere, edit_on_top])
def test_a_redo(approved: Path, edit: Callable[[Path], None]) -> None:
    execute(approved)
    undo_task(open_at(approved), "a")
    for at in kills(approved, lambda: redo_task(open_at(approved), "a")):
        run = runs_of(approved, "a")[-1]
        if run.moving is not None:
            edit(approved / "x.txt")
        if run.undone_at is not None:
            redo_task(open_at(approved), "a")
        is_edited = "mine\n" in texts(approved)["x.txt"]
        mine = texts(approved)["x.txt"]
        require(
            approved,
            at,
            ["Task a", 'Undo "Task a"', 'Redo "Task a"'],
            AFTER,
            {"x.txt": mine} if is_edited else {},
        )
        assert ("mine\n" in mine) is is_edited, at


@pytest.mark.exhaustive
@pytest.mark.parametrize("complete", [undo_task, None])
def test_an_undo_that_does_what_another_had_to_leave(approved: Path, complete: object) -> None:
    execute(approved)
    plan = open_at(approved).plan_state().plan
    put_plan(approved, plan.tasks[TaskId("a")], leaf("b"))
    configure(approved, command__run=f"sed -i 's/theirs$/more/' {NAMES[0]} {NAMES[1]}; echo b >new")
    execute(approved, None, "b")
    record_decision(open_at(approved), "b", APPROVE)
    execute(approved, None, "b")
    assert [kept.path for kept in undo_task(open_at(approved), "a").kept] == [*NAMES[:2]]
    for at in kills(approved, lambda: undo_task(open_at(approved), "b")):
        if runs_of(approved, "b")[-1].moving is not None and complete is None:
            execute(approved)
        elif runs_of(approved, "b")[-1].undone_at is None:
            undo_task(open_at(approved), "b")
        assert texts(approved) == dict.fromkeys(NAMES, BEFORE), at
        assert [label_of(runs_of(approved, task)[-1]) for task in "ab"] == ["taken back"] * 2, at
        assert changed(approved) == set(), at


@pytest.mark.exhaustive
def test_what_depends_on_a_task_that_is_half_taken_back_does_not_start(approved: Path) -> None:
    execute(approved)
    plan = open_at(approved).plan_state().plan
    put_plan(approved, plan.tasks[TaskId("a")], leaf("b", deps=("a",)))
    for _ in kills(approved, lambda: undo_task(open_at(approved), "a")):
        if runs_of(approved, "a")[-1].moving is not None:
            with pytest.raises(RequestError, match="its dependency a is failed, not done"):
                execute(approved, None, "b")


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", [undo_task, redo_task])
def test_what_is_half_done_is_turned_round(approved: Path, first: Callable[..., object]) -> None:
    execute(approved)
    if first is redo_task:
        undo_task(open_at(approved), "a")
    for at in kills(approved, lambda: first(open_at(approved), "a")):
        run = runs_of(approved, "a")[-1]
        if run.moving is None:
            continue
        (redo_task if first is undo_task else undo_task)(open_at(approved), "a")
        wanted = AFTER if first is undo_task else BEFORE
        assert texts(approved) == dict.fromkeys(NAMES, wanted), at
        assert {git(approved, "show", f"HEAD:{name}") + "\n" for name in NAMES} == {wanted}, at
        assert changed(approved) == set(), at


GIVING_UP = (
    ("retry", "a"),
    ("set-status", "a", "done"),
    ("set-status", "a", "todo"),
    ("delete", "a", "--force"),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("verb", DOES)
def test_what_is_half_written_cannot_be_given_up(approved: Path, verb: Verb) -> None:
    interrupt(approved, verb)
    for command in GIVING_UP:
        refused = cli_run(approved, *command)
        why = f"the {VERBS[verb].noun} of a was interrupted, and would stay half done"
        assert (refused.returncode, why in refused.stderr) == (1, True), (command, refused)
        assert "`git blackbird execute` completes it" in refused.stderr, command
    execute(approved)
    require_whole(approved)


def interrupt(repo: Path, verb: Verb) -> None:
    """Kill a landing, an undo or a redo of a task between two of its files."""
    for before in DOES:
        if before is verb:
            break
        DOES[before](repo)
    assert run_killed_where(lambda: DOES[verb](repo), lambda: len(set(texts(repo).values())) > 1)
    assert is_half_written(runs_of(repo, "a")[-1])


def require_whole(repo: Path) -> None:
    assert not is_half_written(runs_of(repo, "a")[-1])
    assert len(set(texts(repo).values())) == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("verb", DOES)
@pytest.mark.parametrize("call", ["execute b", "resume b -m more", "restart b", "restart a", "review run b"])
def test_nothing_begins_with_half_of_a_change(approved: Path, verb: Verb, call: str) -> None:
    plan = open_at(approved).plan_state().plan
    put_plan(approved, plan.tasks[TaskId("a")], leaf("b"))
    configure(approved, command__run="cat *.txt >seen")
    if call != "execute b":
        execute(approved, None, "b")
    configure(approved, execution__stopAfterEachTask="false")
    interrupt(approved, verb)
    cli_run(approved, *call.split(), "--no-input")
    require_whole(approved)
    seen = git(approved, "show", f"{runs_of(approved, 'b')[-1].head_tree}:seen")
    assert seen.count("theirs") in {0, len(NAMES)}


@pytest.mark.exhaustive
def test_half_of_a_change_of_no_task_of_the_plan_is_told_and_nothing_begins(approved: Path) -> None:
    interrupt(approved, Verb.LAND)
    plan = (approved / "blackbird.plan.json").read_text()
    put_plan(approved, leaf("b"))
    assert "tasks that are not in this plan\n  a  run" in cli_run(approved, "status").stdout
    refused = cli_run(approved, "execute", "--no-input")
    assert refused.returncode == 1
    assert "the change of a is half written, and the plan has no such task" in refused.stderr
    (approved / "blackbird.plan.json").write_text(plan)
    execute(approved)
    require_whole(approved)


@pytest.mark.exhaustive
@pytest.mark.parametrize("verb", [verb for verb in DOES if verb is not Verb.LAND])
def test_what_an_earlier_run_did_is_moved_as_a_whole_too(approved: Path, verb: Verb) -> None:
    """The run that counts changed nothing: what is moved is the work of one before it."""
    execute(approved)
    configure(approved, command__run="exit 1", execution__stopAfterEachTask="false")
    assert cli_run(approved, "set-status", "a", "todo").returncode == 0
    execute(approved)
    assert [run.counts for run in runs_of(approved, "a")] == [False, True]
    if not VERBS[verb].takes_back:
        undo_task(open_at(approved), "a")
    assert run_killed_where(lambda: DOES[verb](approved), lambda: len(set(texts(approved).values())) > 1)
    # Of a large plan no record before the run that counts is read.
    assert [run.moving is not None for run in runs_of(approved, "a")] == [False, True]
    put_plan(approved, *open_at(approved).plan_state().plan.tasks.values(), leaf("b"))
    configure(approved, command__run="cat *.txt >seen")
    execute(approved, None, "b")
    assert len(set(texts(approved).values())) == 1
    assert not any(run.moving for run in runs_of(approved, "a"))

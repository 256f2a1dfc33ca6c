"""Stories of changes that add lines where others have added some."""

from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.checkpoint import pending_checkpoint
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.messages.display.checkpoint import render_checkpoint
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import LandingState
from tests.controller.change.land.test_landing import landings
from tests.controller.support import APPROVE, Person, configure, execute, leaf, open_at, put_plan, runs_of
from tests.support import commit, write

TOP = "top\n"
SHARED = ("log.txt", "list.txt", "notes.txt")
BOTH = "both added here, your lines first: log.txt"
CONFLICT = "it conflicts with your worktree in log.txt"


@pytest.fixture
def shared(repo: Path) -> Path:
    """A repository with shared files, to which each task appends in a worktree of its own."""
    ignored = {".gitignore": ".blackbird\nblackbird.plan.json\n"}
    commit(repo, {**dict.fromkeys(SHARED, TOP), **ignored})
    configure(repo, agent="command", command__run=append("log.txt"), execution__worktrees="true")
    return repo


def append(*names: str) -> str:
    """Append a line on the task, and on each message to its session."""
    line = 'echo "entry of $BLACKBIRD_TASK_ID"'
    return "[ ! $BLACKBIRD_RESUME ] || exit 1; " + "; ".join(f"{line} >>{name}" for name in names)


def lines(repo: Path, name: str = "log.txt") -> list[str]:
    return (repo / name).read_text().splitlines()


def decided(repo: Path) -> None:
    """Let task a be worked on until a decision is due, and a person append a line meanwhile."""
    put_plan(repo, leaf("a"))
    configure(repo, execution__stopAfterEachTask="true")
    execute(repo)
    write(repo, {"log.txt": f"{TOP}mine\n"})


def last(repo: Path, task_id: str = "a") -> Run:
    return runs_of(repo, task_id)[-1]


@pytest.mark.exhaustive
def test_eight_tasks_add_a_line_each_to_three_files_without_a_round(shared: Path) -> None:
    names = [f"t{number}" for number in range(8)]
    put_plan(shared, *map(leaf, names))
    check = " && ".join(f"! grep -q '<<<<' {name}" for name in SHARED)
    configure(shared, command__run=append(*SHARED), execution__jobs="4", check__command=check)
    person = Person()
    execute(shared, person)
    assert [len(runs_of(shared, name)) for name in names] == [1] * 8
    for name in SHARED:
        top, *entries = lines(shared, name)
        assert (top, sorted(entries)) == ("top", [f"entry of {task}" for task in names])
    added = [last(shared, name).landing_additions for name in names]
    assert {()} < {*added} <= {(), tuple(sorted(SHARED))}


def test_what_both_added_lands_once_the_check_passes(shared: Path) -> None:
    configure(shared, check__command="[ $(wc -l <log.txt) -ge 2 ]")
    decided(shared)
    person = Person([APPROVE])
    execute(shared, person)
    assert lines(shared) == ["top", "mine", "entry of a"]
    assert landings(person) == [("a", LandingState.LANDED, (BOTH,))]
    assert last(shared).landing_additions == ("log.txt",)


def test_where_the_check_fails_the_conflict_is_told(shared: Path) -> None:
    configure(shared, check__command="[ $(wc -l <log.txt) -le 2 ]")
    configure(
        shared,
        command__run='[ $BLACKBIRD_RESUME ] && exec printf "top\\nboth\\n" >log.txt; echo theirs >>log.txt',
    )
    decided(shared)
    person = Person([APPROVE, APPROVE])
    execute(shared, person)
    why = f"{CONFLICT}, and with both additions the check fails"
    assert landings(person) == [("a", LandingState.DUE, (why,)), ("a", LandingState.LANDED, ())]
    assert "Merge conflict in log.txt" in (runs_of(shared, "a")[0].decision_feedback or "")
    assert lines(shared) == ["top", "both"]
    assert last(shared).landing_additions == ()


def test_without_a_check_a_person_is_shown_what_both_added(shared: Path) -> None:
    decided(shared)
    person = Person([APPROVE])
    execute(shared, person)
    assert landings(person) == [("a", LandingState.BLOCKED, (BOTH,))]
    checkpoint = pending_checkpoint(open_at(shared), "a")
    assert checkpoint.reasons == (f"it has not landed: {BOTH}",)
    shown = [line.text for line in render_checkpoint(checkpoint)]
    at = shown.index("Both added here (your lines stay above those of the task):")
    assert shown[at + 1 : at + 3] == ["  M log.txt  +1 -0", "  log.txt"]
    assert "    +entry of a" in shown
    assert lines(shared) == ["top", "mine"]
    # What was not shown is shown first.
    write(shared, {"log.txt": f"{TOP}mine\nmore\n"})
    again = Person([APPROVE, APPROVE])
    execute(shared, again)
    assert landings(again) == [("a", LandingState.BLOCKED, (BOTH,)), ("a", LandingState.LANDED, (BOTH,))]
    assert lines(shared) == ["top", "mine", "more", "entry of a"]


def test_what_was_added_between_others_is_taken_back_and_brought_back(shared: Path) -> None:
    put_plan(shared, *map(leaf, "abc"))
    configure(shared, execution__jobs="3", check__command="true")
    execute(shared)
    first, second, third = (line[-1] for line in lines(shared)[1:])
    undo_task(open_at(shared), second)
    assert lines(shared) == ["top", f"entry of {first}", f"entry of {third}"]
    undo_task(open_at(shared), first)
    assert lines(shared) == ["top", f"entry of {third}"]
    redo_task(open_at(shared), second)
    assert lines(shared) == ["top", f"entry of {second}", f"entry of {third}"]
    redo_task(open_at(shared), first)
    assert lines(shared) == ["top", f"entry of {first}", f"entry of {second}", f"entry of {third}"]

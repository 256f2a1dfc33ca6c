"""What an agent in a worktree of its own is told of the tasks of others, at work beside it or landed."""

import json
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.queries.prompt_preview import preview
from git_blackbird.messages.outgoing.prompts import render_others
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
)
from tests.support import commit

NOT_YOURS = """## Other tasks of the plan

Others do these, not you: do not do, undo or repeat any of it. Where you need a file of theirs, change there \
only what your task asks for; your change will be merged with theirs."""
LANDED = "Landed meanwhile; your worktree may not have it yet:"


@pytest.fixture
def parallel(repo: Path) -> Path:
    """A repository whose agents note what they are sent, in worktrees, and then do what ``do`` says."""
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, execution__jobs="2", execution__stopAfterEachTask="true", agent="command")
    return repo


def act(repo: Path, script: str) -> None:
    note = "cat >../../$BLACKBIRD_TASK_ID.$(ls ../.. | grep -c ^$BLACKBIRD_TASK_ID[.]).json"
    configure(repo, command__run=f"{note}; {script}")


def sent(repo: Path, task_id: str, number: int = 0) -> dict[str, Any]:
    context: dict[str, Any] = json.loads((repo.parent / f"{task_id}.{number}.json").read_text())
    return context


def told(repo: Path, task_id: str, number: int = 0) -> str:
    """Return as prose what an agent was told of other tasks."""
    return render_others(sent(repo, task_id, number).get("otherTasks", {}))


def test_agents_are_told_who_is_at_work_and_what_has_landed_meanwhile(parallel: Path) -> None:
    # One ends once both are at work, three begins then, and two once three has landed as well.
    act(
        parallel,
        """case $BLACKBIRD_TASK_ID$BLACKBIRD_RESUME in
one) until test -e ../../two.0.json; do sleep 0.01; done; echo x >one.txt; echo x >more.txt;;
two) until test ! -e ../three -a -e ../../three.0.json -a ! -e ../one; do sleep 0.01; done; echo x >two.txt;;
three) echo x >three.txt;;
two1) echo y >two.txt;;
esac""",
    )
    put_plan(
        parallel,
        leaf("one", "Write one.txt, and src/parser.py if need be."),
        leaf("two", "Write it."),
        leaf("three", "Write three.txt after one.", deps=["one"]),
    )
    person = Person([APPROVE, APPROVE, changes("louder"), APPROVE])
    assert execute(parallel, person).reason is StopReason.COMPLETED

    one = f'{NOT_YOURS}\n\nUnder way now:\n- one: "Task one" (one.txt, src/parser.py)'
    two = f'{NOT_YOURS}\n\nUnder way now:\n- two: "Task two"'
    assert (told(parallel, "one"), told(parallel, "two"), told(parallel, "three")) == (two, one, two)
    landed = (
        f'{NOT_YOURS}\n\n{LANDED}\n- three: "Task three" (three.txt)\n- one: "Task one" (more.txt, one.txt)'
    )
    assert told(parallel, "two", 1) == landed
    request = "louder\n\nFiles of the change so far:\n- two.txt"
    assert [run.prompt for run in runs_of(parallel, "two")] == [None, f"{request}\n\n{landed}\n"]


def test_who_is_alone_or_in_place_is_told_of_nobody(parallel: Path) -> None:
    act(parallel, "echo x >$BLACKBIRD_TASK_ID.txt")
    configure(parallel, execution__stopAfterEachTask="false")
    put_plan(parallel, leaf("one"), leaf("two", deps=["one"]))
    assert execute(parallel).reason is StopReason.COMPLETED
    assert "otherTasks" not in sent(parallel, "one")
    assert "otherTasks" not in sent(parallel, "two")


def test_a_preview_has_what_the_agent_then_is_told(parallel: Path) -> None:
    act(parallel, "echo $BLACKBIRD_TASK_ID >>one.txt")
    put_plan(parallel, leaf("one"), leaf("two"), leaf("three", "See one.txt.", deps=["one"]))
    execute(parallel, Person())
    record_decision(open_at(parallel), "one", APPROVE)
    record_decision(open_at(parallel), "two", changes("louder"))
    execute(parallel, Person(), "one")
    here = open_at(parallel)
    two, three = preview(here, "two"), preview(here, "three")
    assert two.prompt == (
        f"louder\n\nFiles of the change so far:\n- one.txt\n\n{NOT_YOURS}\n\n"
        f'{LANDED}\n- one: "Task one" (one.txt)\n'
    )
    assert f'{NOT_YOURS}\n\nUnder way now:\n- two: "Task two"\n' in three.prompt
    execute(parallel, Person(), "three")
    execute(parallel, Person(), "two")
    assert sent(parallel, "two", 1)["otherTasks"]["landed"] == two.context["otherTasks"]["landed"]
    assert sent(parallel, "three") == three.context


@pytest.mark.exhaustive
def test_a_session_that_a_landing_sent_back_is_told_once_what_it_met(parallel: Path) -> None:
    act(parallel, "echo $BLACKBIRD_TASK_ID$BLACKBIRD_RESUME >shared.txt")
    put_plan(parallel, leaf("one"), leaf("two"))
    execute(parallel, Person())
    record_decision(open_at(parallel), "one", APPROVE)
    record_decision(open_at(parallel), "two", APPROVE)
    execute(parallel, Person([changes("louder"), APPROVE]))
    assert told(parallel, "two", 1) == f'{NOT_YOURS}\n\n{LANDED}\n- one: "Task one" (shared.txt)'
    assert told(parallel, "two", 2) == ""
    first, second, third = runs_of(parallel, "two")
    bases = [run.worktree.base_at for run in (second, third) if run.worktree is not None]
    assert bases == [first.decision_requested_at] * 2

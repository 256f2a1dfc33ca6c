"""Stories of the question before an agent starts that may do more than edit the worktree."""

import json
from pathlib import Path

import pytest

from git_blackbird.agents.registry import load_agent
from git_blackbird.controller.engine.commands import restart_loop
from git_blackbird.messages.document import plain
from git_blackbird.model.config.config import Config
from git_blackbird.model.plan.status import Status
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    APPROVE,
    Person,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, config_with, git

NO_STOP = "It does not stop after each task (--stop-after-each stops it)."
SCRIPT = "cat >/dev/null; echo x >$BLACKBIRD_TASK_ID.out"


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="command", command__run=SCRIPT)
    put_plan(repo, leaf("a"), leaf("b"))
    return repo


def test_it_is_asked_once_and_remembered(planned: Path) -> None:
    person = Person()
    assert execute(planned, person, limit=1).reason is StopReason.COMPLETED
    (question,) = person.agreements
    assert [*plain(question.remarks)] == [
        f"the agent 'command' may do anything you can do yourself: it runs '{SCRIPT}'.",
        NO_STOP,
    ]
    again = Person(decisions=[APPROVE])
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned, again)
    assert again.agreements == []


def test_who_agreed_to_stops_has_not_agreed_to_none(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned, Person(decisions=[APPROVE]), limit=1)
    configure(planned, execution__stopAfterEachTask="false")
    person = Person()
    execute(planned, person)
    assert len(person.agreements) == 1


def test_another_command_is_asked_about_again(planned: Path) -> None:
    execute(planned, Person(), limit=1)
    configure(planned, command__run=f"{SCRIPT} ")
    configure(planned, command__run=f": && {SCRIPT}")
    person = Person()
    execute(planned, person)
    assert len(person.agreements) == 1


def test_no_starts_and_touches_nothing(planned: Path) -> None:
    before = git(planned, "status", "--porcelain", "--ignored")
    stop = execute(planned, Person(agrees=False))
    assert (stop.reason, stop.text, int(stop.exit_code)) == (
        StopReason.INTERRUPTED,
        "the agent 'command' was not started",
        130,
    )
    assert [status(planned, task) for task in "ab"] == [Status.TODO, Status.TODO]
    assert runs_of(planned, "a") == ()
    assert git(planned, "status", "--porcelain", "--ignored") == before


def test_no_is_for_all_that_would_start_at_once(planned: Path) -> None:
    configure(planned, execution__jobs="2", execution__onLimit="wait")
    person = Person(agrees=False)
    stop = execute(planned, person)
    assert (stop.text, len(person.agreements), person.notices()) == (
        "the agent 'command' was not started",
        1,
        [],
    )


def test_no_to_a_restart_gives_up_no_run(planned: Path) -> None:
    configure(planned, command__run="exit 3")
    execute(planned, Person(), "a")
    configure(planned, command__run=SCRIPT)
    perform(
        open_at(planned),
        Person(agrees=False),
        lambda workspace, ui: restart_loop(workspace, ui, "a", None),
    )
    (run,) = runs_of(planned, "a")
    assert (status(planned, "a"), run.superseded_at) == (Status.FAILED, None)


def test_who_cannot_be_asked_is_told_the_first_time(planned: Path) -> None:
    nobody = Person(agrees=None)
    execute(planned, nobody, limit=1)
    told = f"the agent 'command' may do anything you can do yourself: it runs '{SCRIPT}'."
    assert nobody.notices() == [f"{told} {NO_STOP}"]
    later = Person(agrees=None)
    execute(planned, later)
    assert later.notices() == []


def test_being_told_is_not_having_agreed(planned: Path) -> None:
    execute(planned, Person(agrees=None), limit=1)
    person = Person()
    execute(planned, person)
    assert len(person.agreements) == 1


def test_the_demo_agent_is_never_asked_about(planned: Path) -> None:
    configure(planned, agent="demo")
    put_plan(planned, leaf("a", "write a.out x"))
    person = Person(agrees=False)
    assert execute(planned, person).text == "every task is done"
    assert person.agreements == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", ["", "[]", '{"agreed": 1}', '{"agreed": [1]}', "\0"])
def test_a_file_that_nobody_can_read_agrees_to_nothing(planned: Path, content: str) -> None:
    execute(planned, Person(), limit=1)
    kept = open_at(planned).paths.agreements
    assert list(json.loads(kept.read_bytes())) == ["agreed"]
    kept.write_text(content)
    person = Person()
    execute(planned, person)
    assert len(person.agreements) == 1


@pytest.mark.parametrize(
    ("name", "settings", "asks"),
    [
        ("claude", config_with(), True),
        ("claude", config_with(claude__permission_mode="auto"), True),
        ("claude", config_with(claude__permission_mode="acceptEdits"), False),
        ("claude", config_with(claude__permission_mode="acceptEdits", claude__args=("--x",)), True),
        ("codex", config_with(), False),
        ("codex", config_with(codex__args=("-c", "x=1")), True),
        ("codex", config_with(codex__sandbox="danger-full-access"), True),
        ("command", config_with(command__run="true"), True),
        ("demo", config_with(), False),
    ],
)
def test_only_who_may_do_more_than_edit_is_asked_about(name: str, settings: Config, *, asks: bool) -> None:
    assert (load_agent(name, settings).rights is not None) is asks


def test_a_commit_at_approval_without_approvals_is_said(planned: Path) -> None:
    configure(planned, execution__commit="approved")
    person = Person()
    execute(planned, person)
    assert person.notices() == [
        "this call commits nothing: execution.commit commits what is approved, and it does not stop for that"
    ]

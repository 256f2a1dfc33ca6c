"""Stories of several tasks at once: what goes on side by side, and what waits for what."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.snapshot import SnapshotError
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, LandingEnded, RunEnded, RunStarted
from git_blackbird.model.views.stop import Stop, StopReason
from tests.cli.ui.test_plain_and_json import run as cli_run
from tests.controller.limited import enlist
from tests.controller.support import (
    APPROVE,
    QUIT,
    Person,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    run_to_stop,
    runs_of,
    status,
    store_at,
)
from tests.support import commit, git, write

# What an agent does until a file is there; without it the test ends with the run's own limit.
UNTIL = "until [ -e {} ]; do sleep 0.01; done; "


@pytest.fixture
def project(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(
        repo,
        agent="demo",
        execution__stopGraceSeconds="1",
        execution__jobs="3",
        execution__timeoutMinutes="1",
    )
    return repo


def by_command(repo: Path, command: str) -> None:
    configure(repo, agent="command", command__run=command)


def meeting(repo: Path, names: Sequence[str]) -> str:
    """A command that ends once the agents of all these tasks are at work."""
    waits = "".join(UNTIL.format(repo.parent / f"{name}.here") for name in names)
    return f"touch {repo.parent}/$BLACKBIRD_TASK_ID.here; {waits}echo x >$BLACKBIRD_TASK_ID.txt"


def started(person: Person) -> list[str]:
    return [event.task_id for event in person.events if isinstance(event, RunStarted)]


def landed(person: Person) -> list[str]:
    ended = (event for event in person.events if isinstance(event, LandingEnded))
    return [event.task_id for event in ended if event.run.has_landed]


def test_agents_work_side_by_side(project: Path) -> None:
    put_plan(project, *(leaf(name) for name in "abc"))
    by_command(project, meeting(project, "abc"))
    person = Person()
    assert execute(project, person).reason is StopReason.COMPLETED
    assert sorted(landed(person)) == ["a", "b", "c"]
    assert git(project, "status", "--short") == "?? a.txt\n?? b.txt\n?? c.txt".replace("?? a.txt", " M a.txt")


def test_no_more_agents_work_than_there_are_jobs(project: Path) -> None:
    count = (
        f"echo $BLACKBIRD_TASK_ID >{project.parent}/at.$BLACKBIRD_TASK_ID; ls {project.parent}/at.* | wc -l; "
    )
    by_command(project, f"{count}rm {project.parent}/at.$BLACKBIRD_TASK_ID; echo x >$BLACKBIRD_TASK_ID.new")
    configure(project, execution__jobs="2")
    names = [f"t{number}" for number in range(6)]
    put_plan(project, *map(leaf, names))
    execute(project)
    assert max(int(runs_of(project, name)[0].stdout or 0) for name in names) <= 2


@pytest.mark.exhaustive
def test_a_dependent_begins_with_what_landed_before_it(project: Path) -> None:
    put_plan(
        project,
        leaf("a", "write x.txt a\\n"),
        leaf("b", "write y.txt b\\n"),
        leaf("c", "append x.txt c\nappend y.txt c", deps=["a", "b"]),
    )
    execute(project)
    assert ((project / "x.txt").read_text(), (project / "y.txt").read_text()) == ("a\nc\n", "b\nc\n")


def test_the_limit_counts_starts(project: Path) -> None:
    put_plan(project, *(leaf(name, f"write {name}.new x") for name in "abcd"))
    person = Person()
    execute(project, person, limit=2)
    assert sorted(started(person)) == ["a", "b"]


@dataclass
class Deciding(Person):
    """Decides on each task; on the first only once another has started meanwhile."""

    at_work: asyncio.Event = field(default_factory=asyncio.Event)
    asking: int = 0

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, RunEnded) and event.run.task_id == "c":
            self.at_work.set()

    async def decide(self, checkpoint: Checkpoint) -> Decision | None:
        self.asking += 1
        assert self.asking == 1
        self.checkpoints.append(checkpoint)
        await self.at_work.wait()
        self.asking -= 1
        return APPROVE


@pytest.mark.exhaustive
def test_others_work_while_a_person_decides_and_questions_come_one_at_a_time(project: Path) -> None:
    put_plan(project, *(leaf(name, f"write {name}.new x") for name in "abc"))
    configure(project, execution__jobs="2", execution__stopAfterEachTask="true")
    person = Deciding()
    assert execute(project, person).reason is StopReason.COMPLETED
    assert sorted(landed(person)) == ["a", "b", "c"]


def test_without_a_person_decisions_wait_and_others_go_on(project: Path) -> None:
    put_plan(project, *(leaf(name, f"write {name}.new x") for name in "abcdefgh"))
    configure(project, execution__stopAfterEachTask="true", execution__maxPendingDecisions="4")
    person = Person()
    stop = execute(project, person)
    assert stop.reason is StopReason.DECISION_REQUIRED
    # Those that were at work already when the fourth was to be decided on are finished.
    assert 4 <= len(started(person)) <= 6
    waiting = [name for name in "abcdefgh" if status(project, name) is Status.WAITING_USER]
    assert sorted(started(person)) == waiting
    assert all(any(f"decide {name} " in step for step in stop.next_steps) for name in waiting)


def test_approve_and_quit_lets_others_finish(project: Path) -> None:
    put_plan(project, *(leaf(name) for name in "abcd"))
    by_command(
        project,
        f"[ $BLACKBIRD_TASK_ID = a ] || {{ {UNTIL.format(project.parent / 'go')} }}; "
        "echo x >$BLACKBIRD_TASK_ID.new",
    )
    configure(project, execution__jobs="2", execution__stopAfterEachTask="true")

    class Quitting(Person):
        async def decide(self, checkpoint: Checkpoint) -> Decision:
            write(project.parent, {"go": ""})
            self.checkpoints.append(checkpoint)
            return QUIT

    person = Quitting()
    assert execute(project, person).reason is StopReason.COMPLETED
    assert [checkpoint.task.id for checkpoint in person.checkpoints] == ["a"]
    assert all(run.status is RunStatus.SUCCESS for name in started(person) for run in runs_of(project, name))


@dataclass
class Pressing(Person):
    """Presses Ctrl+C once as many agents are at work."""

    agents: int = 3
    presses: int = 1
    loop: Loop | None = None

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, RunStarted) and len(started(self)) == self.agents and self.loop is not None:
            for _ in range(self.presses):
                asyncio.get_running_loop().call_soon(self.loop.interrupt)


def press(repo: Path, person: Pressing) -> Stop:
    workspace = open_at(repo)
    person.loop = execute_loop(workspace, person, (), None)
    return run_to_stop(workspace, person.loop)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_pauses_all(project: Path, presses: int) -> None:
    put_plan(project, *(leaf(name) for name in "abcd"))
    # The child would be left behind by who stops its shell alone.
    by_command(project, "sleep 600; :")
    person = Pressing(presses=presses)
    assert press(project, person).reason is StopReason.INTERRUPTED
    runs = [runs_of(project, name)[-1] for name in "abc"]
    assert [run.terminal_reason for run in runs] == [TerminalReason.INTERRUPTED] * 3
    assert runs_of(project, "d") == ()
    by_command(project, "echo x >$BLACKBIRD_TASK_ID.new")
    again = Person()
    assert execute(project, again).reason is StopReason.COMPLETED
    assert sorted(landed(again)) == ["a", "b", "c", "d"]
    assert [run.worktree_path for run in runs] == [runs_of(project, name)[-1].worktree_path for name in "abc"]


def test_a_fault_of_one_task_stops_no_other(project: Path) -> None:
    commit(project, {".gitattributes": "*.bin filter=locked\n", "a.bin": "1\n"})
    git(project, "config", "filter.locked.required", "true")
    git(project, "config", "filter.locked.clean", "cat")
    git(project, "config", "filter.locked.smudge", "case $PWD in */b) exit 1;; esac; cat")
    put_plan(project, *(leaf(name, f"write {name}.new x") for name in "abc"))
    person = Person()
    with pytest.raises(UnusableError, match="files of b cannot be checked out"):
        execute(project, person)
    assert sorted(landed(person)) == ["a", "c"]
    assert status(project, "b") is Status.TODO
    # It is told when it happens, and not again.
    told = cli_run(project, "execute", "--no-input")
    assert told.returncode == 128
    assert told.stderr.count("the files of b cannot be checked out") == 1


def test_what_was_begun_in_place_goes_on_there(project: Path) -> None:
    configure(project, execution__jobs="1")
    by_command(project, "sleep 600; :")
    put_plan(project, *(leaf(name) for name in "xyz"))
    press(project, Pressing(agents=1))
    write(project, {"x.new": "half\n"})
    by_command(project, "echo x >>$BLACKBIRD_TASK_ID.new")
    configure(project, execution__jobs="3")
    person = Person()
    assert execute(project, person).reason is StopReason.COMPLETED
    assert (project / "x.new").read_text() == "half\nx\n"
    assert runs_of(project, "x")[-1].worktree is None
    assert sorted(landed(person)) == ["y", "z"]


@pytest.mark.exhaustive
def test_parents_are_reviewed_once_their_children_have_landed(project: Path) -> None:
    children = [leaf(name, f"write {name}.new x\\n", parent="p") for name in "abc"]
    parent = parent_of("p", "abc")
    put_plan(project, parent, *children, leaf("z", "write z.new z", deps=["p"]))
    person = Person()
    assert execute(project, person).reason is StopReason.COMPLETED
    assert started(person)[-2:] == ["p", "z"]
    review = store_at(project).records.history(parent.id).reviews[-1]
    assert review.base_tree is not None
    assert {"a.new", "b.new", "c.new"} < set(
        git(project, "ls-tree", "--name-only", review.base_tree).splitlines()
    )


@pytest.mark.exhaustive
def test_what_an_agent_writes_among_the_copies_stops_nothing_with_others_at_work(project: Path) -> None:
    put_plan(project, *(leaf(name) for name in "abc"))
    forge = f"for each in {project}/.blackbird/runs/a/*.json; do echo >>$each; done"
    by_command(project, meeting(project, "abc") + f"; [ $BLACKBIRD_TASK_ID != b ] || {{ {forge}; }}")
    person = Person()
    execute(project, person)
    said = [text for text in person.notices() if "is written again" in text]
    assert len(said) <= 1
    assert [len(list(project.glob(f".blackbird/runs/{name}/*.json"))) for name in "abc"] == [1, 1, 1]
    assert not (project / ".git/blackbird/plan-known.json").exists()


def test_an_agent_that_cannot_work_stops_what_needs_it_and_nothing_else(project: Path) -> None:
    configure(project, execution__jobs="2")
    put_plan(project, leaf("a"), *(leaf(name, f"write {name}.new x") for name in "bcd"))
    by_command(project, "sleep 600; :")
    press(project, Pressing(agents=1))
    # What was begun by one agent, and starts by another that is not there.
    by_command(project, "echo x >$BLACKBIRD_TASK_ID.new")
    configure(project, agent="codex", codex__path=str(project / "no-such-program"))
    person = Person()
    stop = execute(project, person)
    assert stop.reason is StopReason.AGENT_UNAVAILABLE
    assert sorted(landed(person)) == sorted(started(person)) != []
    assert all(status(project, name) is Status.TODO for name in "abcd" if name not in landed(person))


def test_others_go_on_while_an_agent_is_asked_for_its_version(project: Path) -> None:
    put_plan(project, leaf("a", "write a.new x"), replace(leaf("b"), agent="codex"))
    program = enlist(project, "codex") / "program"
    hangs = UNTIL.format(project / "a.new")
    program.write_text(program.read_text().replace("--version)", f"--version) {hangs}"))
    person = Person()
    stop = execute(project, person)
    assert (stop.reason, landed(person)) == (StopReason.COMPLETED, ["a", "b"]), stop.text


def test_no_worktree_is_left_where_the_users_cannot_be_recorded(project: Path) -> None:
    put_plan(project, leaf("a", "write a.new x"))
    write(project, {".gitattributes": "* filter=lost\n", "b.txt": "new\n"})
    git(project, "config", "filter.lost.clean", "false")
    git(project, "config", "filter.lost.smudge", "cat")
    git(project, "config", "filter.lost.required", "true")
    with pytest.raises(SnapshotError):
        execute(project, Person())
    assert git(project, "worktree", "list", "--porcelain").count("worktree ") == 1
    git(project, "config", "filter.lost.clean", "cat")
    person = Person()
    execute(project, person)
    assert landed(person) == ["a"]

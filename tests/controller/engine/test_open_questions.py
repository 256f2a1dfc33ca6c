"""What happens elsewhere while a person is asked: it lands, is asked about, and changes what follows."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.controller.engine.commands import decide_loop
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, LandingEnded
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    status,
)
from tests.support import commit, write

# Long enough for any machine; a person who waits in vain fails the test.
_PATIENCE_SECONDS = 30


@dataclass
class Slow(Person):
    """Does something elsewhere at the first decision, and waits with the answer until ``until`` has been."""

    elsewhere: Callable[[Checkpoint], object] = lambda _: None
    until: Callable[[Event], bool] | None = None
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self, event: Event) -> None:
        super().notify(event)
        if self.until is not None and self.until(event):
            self.seen.set()

    async def decide(self, checkpoint: Checkpoint) -> Decision:
        self.checkpoints.append(checkpoint)
        if len(self.checkpoints) == 1:
            await asyncio.to_thread(self.elsewhere, checkpoint)
            if self.until is not None:
                await asyncio.wait_for(self.seen.wait(), _PATIENCE_SECONDS)
        return APPROVE


@pytest.fixture
def project(repo: Path) -> Path:
    commit(repo, {"x": "1\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__worktrees="true")
    return repo


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_what_is_approved_elsewhere_lands_while_a_person_is_asked(project: Path, jobs: str) -> None:
    put_plan(project, leaf("a", "write a.txt 1"), leaf("b", "write b.txt 1"))
    configure(project, execution__jobs="2")
    execute(project)
    configure(project, execution__jobs=jobs)

    def approve_other(checkpoint: Checkpoint) -> None:
        other = "b" if checkpoint.task.id == "a" else "a"
        record_decision(open_at(project), other, APPROVE)

    person = Slow(elsewhere=approve_other, until=lambda event: isinstance(event, LandingEnded))
    assert execute(project, person).reason is StopReason.COMPLETED
    # The question stayed as it was, and was the only one.
    assert len(person.checkpoints) == 1
    assert (project / "a.txt").read_text() == (project / "b.txt").read_text() == "1\n"


def test_an_approval_starts_no_other_task_than_it_named(project: Path) -> None:
    put_plan(project, *(leaf(name, f"write {name}.txt 1") for name in "abc"))
    person = Slow(elsewhere=lambda _: set_status(open_at(project), "b", Status.SKIPPED))
    assert execute(project, person).reason is StopReason.COMPLETED
    followed = [(one.task.id, one.follows) for one in person.checkpoints]
    assert followed == [("a", "b"), ("a", "c"), ("c", None)]
    assert "an approval of a continues with c by now: it is asked again" in person.notices()
    assert [status(project, name) for name in "abc"] == [Status.DONE, Status.SKIPPED, Status.DONE]


def test_a_decision_that_is_refused_is_asked_for_again_where_one_alone_is(project: Path) -> None:
    put_plan(project, leaf("a", "write a.txt 1"), leaf("b", "write b.txt 1"))
    configure(project, execution__commit="approved", execution__worktrees="false")
    execute(project)
    hook = project / ".git/hooks/pre-commit"
    write(project, {str(hook.relative_to(project)): "#!/bin/sh\nexit 1\n"})
    hook.chmod(0o755)
    person = Person([APPROVE, REJECT])
    stop = perform(
        open_at(project), person, lambda workspace, ui: decide_loop(workspace, ui, (), only_next=True)
    )
    assert (stop.text, person.decisions) == ("no decision waits", [])
    assert [checkpoint.task.id for checkpoint in person.checkpoints] == ["a", "a"]
    assert status(project, "a") is Status.FAILED


def test_others_are_asked_about_while_an_agent_goes_on_with_its_answer(project: Path) -> None:
    """What was answered is begun at once; the person who answered it is free for the next question."""
    asked, decided = project.parent / "asked", project.parent / "decided"
    question = '{"questions": [{"id": "q", "prompt": "Which?"}]}'
    script = (
        f"if [ $BLACKBIRD_TASK_ID = b ]; then echo 1 >b.txt; "
        f"elif [ ! -e {asked} ]; then touch {asked}; echo '{question}'; "
        f"else until [ -e {decided} ]; do sleep 0.01; done; echo 1 >a.txt; fi"
    )
    put_plan(project, leaf("a"), leaf("b"))
    configure(project, agent="command", command__run=script, execution__jobs="2")
    configure(project, execution__timeoutMinutes="1")

    class Answering(Person):
        async def answer(self, task: Task, questions: tuple[Question, ...]) -> Mapping[str, str]:
            return {"q": "this"}

        async def decide(self, checkpoint: Checkpoint) -> Decision:
            decided.touch()
            return APPROVE

    assert execute(project, Answering()).reason is StopReason.COMPLETED
    assert [status(project, name) for name in "ab"] == [Status.DONE] * 2

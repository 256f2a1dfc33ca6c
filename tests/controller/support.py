"""A scripted person, a plan in a real repository, and the loop run over it in this process."""

import asyncio
import itertools
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from git_blackbird.cluster import join_cluster
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.core.agents import chosen_agent
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.core.workspace import Workspace, hold_controller, open_workspace, view_workspace
from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.messages.display.dialogue import Confirm, PlanPanel, PlanReply
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Decision, Reply
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, Notice
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store
from tests.support import Prepared, hold_none, redact_none, repository_at, set_config

APPROVE = Decision(DecisionState.APPROVED_CONTINUE)
QUIT = Decision(DecisionState.APPROVED_QUIT)
REJECT = Decision(DecisionState.REJECTED)
STAMP = "2026-01-01T00:00:00Z"
Prepare = Callable[[Workspace, UserInterface], Loop]


def changes(text: str) -> Decision:
    return Decision(DecisionState.CHANGES_REQUESTED, text)


@dataclass
class Person:
    """A face that replies from a list, and is not here when the list is empty."""

    decisions: list[Reply | Unanswered] = field(default_factory=list)
    answers: list[Mapping[str, str] | Unanswered] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    agreements: list[Confirm] = field(default_factory=list)
    agrees: bool | Unanswered | None = True
    wants_output: bool = False
    is_on_terminal: bool = False
    shows_checkpoints: bool = True

    def notify(self, event: Event) -> None:
        self.events.append(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        return self.answers.pop(0) if self.answers else None

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        self.agreements.append(step)
        return self.agrees

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        self.checkpoints.append(checkpoint)
        return self.decisions.pop(0) if self.decisions else None

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        return None

    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def leaf(task_id: str, prompt: str = "", *, deps: Sequence[str] = (), parent: str | None = None) -> Task:
    return replace(
        new_task(TaskId(task_id), f"Task {task_id}", STAMP),
        prompt=prompt,
        deps=tuple(map(TaskId, deps)),
        parent=None if parent is None else TaskId(parent),
    )


def parent_of(task_id: str, children: Sequence[str]) -> Task:
    return replace(
        new_task(TaskId(task_id), f"Task {task_id}", STAMP),
        children=tuple(map(TaskId, children)),
    )


def make_world(cwd: Path, **environ: str) -> Environment:
    """A world whose clock steps a second at each look, far enough on to be after everything stored.

    Ids stay random: agents of two tests at once must not be taken for one another's.
    """
    ticks = itertools.count(1_800_000_000 + _offset(cwd))
    return Environment(
        {**os.environ, **environ},
        cwd,
        lambda: next(ticks) * 1_000_000_000,
        secrets.randbits,
    )


_offsets: dict[Path, int] = {}


def _offset(cwd: Path) -> int:
    """Later worlds of one repository begin later, as later commands do."""
    _offsets[cwd] = _offsets.get(cwd, 0) + 1000
    return _offsets[cwd]


def bring(prepared: Prepared, repo: Path, prepare: Callable[[], object]) -> Path:
    """Bring a repository to a state, and its worlds behind those in which that was made."""
    prepared.bring(repo, prepare)
    _offsets[repo] = 100_000
    return repo


def open_at(repo: Path, **environ: str) -> Workspace:
    world = make_world(repo, **environ)
    return view_workspace(repository_at(repo, world.environ), world)


def store_at(repo: Path) -> Store:
    """Return the state of a worktree as a command that opens it has it; only for others is git asked."""
    git_dir = repo / ".git"
    return (
        Store(Paths(repo, git_dir / "blackbird"), hold_none, redact_none)
        if git_dir.is_dir()
        else open_at(repo).store
    )


def put_plan(repo: Path, *tasks: Task) -> None:
    with store_at(repo).transaction() as transaction:
        transaction.save_plan(Plan({task.id: task for task in tasks}))


def configure(repo: Path, **values: str) -> None:
    """Set keys of this clone; ``__`` stands for the dot."""
    set_config(repo, {name.replace("__", "."): value for name, value in values.items()})


def agree_to_agent(repo: Path) -> None:
    """Agree, as a person would once, to what the configured agent may do without a stop after each task."""
    no_stop = RawSetting("execution.stopAfterEachTask", False, Layer.FLAG, "a test")
    workspace = open_workspace(make_world(repo), [no_stop])
    asyncio.run(Call(workspace, Person(), CallScope()).require_consent(chosen_agent(workspace)))


def run_to_stop(workspace: Workspace, loop: Loop, watch: Callable[[Loop], None] | None = None) -> Stop:
    async def run() -> Stop:
        if watch is not None:
            watch(loop)
        return await loop.run(join_cluster)

    with hold_controller(workspace, "test"):
        return asyncio.run(run())


def with_no_screen(workspace: Workspace, ui: UserInterface, prepare: Prepare) -> Stop:
    return run_to_stop(workspace, prepare(workspace, ui))


stage: Callable[[Workspace, UserInterface, Prepare], Stop] = with_no_screen
"""What brings a loop and a face together. The same stories are told once more where it is another."""


def perform(workspace: Workspace, ui: UserInterface, prepare: Prepare) -> Stop:
    """Run a loop to its stop, with a face to it."""
    return stage(workspace, ui, prepare)


def execute(
    repo: Path, person: UserInterface | None = None, *task_ids: str, limit: int | None = None
) -> Stop:
    return perform(
        open_at(repo),
        person or Person(),
        lambda workspace, ui: execute_loop(workspace, ui, task_ids, limit),
    )


def status(repo: Path, task_id: str) -> Status:
    return store_at(repo).plan().tasks[TaskId(task_id)].status


def runs_of(repo: Path, task_id: str) -> tuple[Run, ...]:
    history = store_at(repo).records.history(TaskId(task_id))
    assert not history.faults
    return history.runs

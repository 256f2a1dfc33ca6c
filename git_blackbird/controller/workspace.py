"""One opened worktree: its repository, its state, its settings."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.controller.review_files import finish_reviews
from git_blackbird.controller.world import World
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.index_lock import clear_leftover_lock
from git_blackbird.git.repository import Repository, discover
from git_blackbird.git.settings import GitSetting, read_settings
from git_blackbird.model.commands import CallOptions
from git_blackbird.model.gate import Gate, Moment
from git_blackbird.model.graph import subtree
from git_blackbird.model.history import NO_HISTORY, History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.keys import KEYS
from git_blackbird.model.owed_feedback import owed_feedback
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.settings import Given, Layer, Problem, Settings, merge_layers
from git_blackbird.model.standing import Standing
from git_blackbird.model.text import quoted
from git_blackbird.storage.config_files import global_config_path, load_agent_choice, load_layer
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS
from git_blackbird.storage.store import Image, Store, Transaction

_GIT_LAYERS = {
    "system": Layer.GIT_GLOBAL,
    "global": Layer.GIT_GLOBAL,
    "local": Layer.GIT_LOCAL,
    "worktree": Layer.GIT_LOCAL,
    "command": Layer.GIT_LOCAL,
}


@dataclass(frozen=True)
class Workspace:
    """What every command works on."""

    world: World
    repo: Repository
    store: Store
    settings: Settings
    problems: tuple[Problem, ...]
    no_input: bool = False

    @property
    def call_options(self) -> CallOptions:
        """The options of this call that its next steps repeat."""
        told = (one for one in self.settings.told if one.given.layer is Layer.FLAG and one.key is not None)
        given = {one.key.name: one.value for one in told if one.key is not None}
        stop = given.get("execution.stopAfterEachTask")
        agent, reviews = given.get("agent"), given.get("reviews.mode")
        return CallOptions(
            agent=None if agent is None else str(agent),
            stop_after_each=None if stop is None else bool(stop),
            reviews=None if reviews is None else str(reviews),
            no_input=self.no_input,
        )

    @property
    def layout(self) -> Layout:
        """The places of this worktree's state."""
        return self.store.layout

    @property
    def reviews_changes(self) -> bool:
        """Whether what a task changed is reviewed before anyone decides on it (DESIGN.md 7)."""
        return self.settings.text("reviews.mode") == "parallel"

    @contextlib.contextmanager
    def transaction(self, patience: float = STORE_PATIENCE_SECONDS) -> Iterator[Transaction]:
        """Hold the store lock to change something; what a crash cut off of a review is finished first.

        Raises SaveError, and LockedError when it cannot be had within ``patience`` seconds.
        """
        with self.store.transaction(patience) as transaction:
            finish_reviews(transaction)
            yield transaction

    def standing(self, image: Image | None = None) -> Standing:
        """Give everything that what is due follows from.

        Raises UnusableError when there is no plan to be read.
        """
        plan, histories, feedback, faults, _ = image or self.store.image()
        owed = owed_feedback(plan, histories, feedback)
        broken = {TaskId(Path(fault.path).stem): (fault,) for fault in faults}
        unreadable = {
            task_id: found
            for task_id in sorted(plan.tasks.keys() & (histories.keys() | broken.keys() - owed.keys()))
            if (found := (*histories.get(task_id, NO_HISTORY).faults, *broken.get(task_id, ())))
        }
        is_gated = self.settings.flag("execution.parentReviewEnabled")
        return Standing(plan, histories, owed, is_gated, unreadable)

    def standing_of(self, task_id: str) -> Standing:
        """Give the same as far as one task, what it builds on and the reviews of parents go.

        No other record is read. Raises UnusableError when there is no plan to be read.
        """
        plan, records = self.store.plan(), self.store.records
        named = plan.tasks.get(TaskId(task_id))
        deps = () if named is None else (plan.tasks[dep] for dep in named.deps)
        wanted = {task_id, *(one.id for dep in deps for one in subtree(plan, dep))}
        names = [task.id for task in plan.tasks.values() if task.children or task.id in wanted]
        histories = {name: records.history(name) for name in names}
        return self.standing(Image(plan, histories, *self.store.feedback.load_all()))

    def moment(self, histories: Mapping[TaskId, History]) -> Moment:
        """Give the moment of a change: now, and what decides over parents by these records."""
        gate = Gate(self.settings.flag("execution.parentReviewEnabled"), histories)
        return Moment(self.world.timestamp(), gate)

    def require_settings(self) -> None:
        """Refuse to start or decide with a configuration that is not what its writer meant.

        Raises UnusableError naming file, key and the way out.
        """
        fatal = [problem for problem in self.problems if problem.fatal]
        if fatal:
            listed = "\n".join(f"- {problem} ({problem.hint})" for problem in fatal)
            raise UnusableError(f"the configuration is not usable:\n{listed}", hint="fix it, then repeat")

    def require_person(self, what: str) -> None:
        """Refuse what only a person may do when an agent asks for it.

        Raises RequestError.
        """
        self.world.require_person(what)


def open_workspace(world: World, flags: Iterable[Given] = (), *, no_input: bool = False) -> Workspace:
    """Open the worktree around the working directory, for a call that asks nobody with ``no_input``.

    Raises UnusableError when there is no usable repository.
    """
    repo = discover(world.cwd, world.environ)
    clear_leftover_lock(repo)
    layout = Layout(repo.top, repo.private_dir)
    given, problems = read_layers(world, repo, layout)
    settings = merge_layers([*given, *flags])
    problems = [*problems, *settings.problems]
    return Workspace(world, repo, Store(layout), settings, tuple(problems), no_input)


def read_layers(world: World, repo: Repository, layout: Layout) -> tuple[list[Given], list[Problem]]:
    """Read what all layers but flags say, and what is wrong with files as wholes.

    Raises GitError when git's cannot be read.
    """
    project, project_problems = load_layer(layout.config, Layer.PROJECT, layout.state_root)
    everywhere, global_problems = load_layer(global_config_path(world.environ), Layer.GLOBAL)
    from_git = [_from_git(setting) for setting in read_settings(repo)]
    go_choice = load_agent_choice(layout.agent_choice, layout.state_root)
    given = [*_from_environment(world), *from_git, *project, *everywhere, *go_choice]
    return given, [*project_problems, *global_problems]


def _from_git(setting: GitSetting) -> Given:
    return Given(setting.key, setting.value, _GIT_LAYERS[setting.scope], f"git config ({setting.scope})")


def _from_environment(world: World) -> list[Given]:
    found = [
        Given(key.name, world.environ[key.environment], Layer.ENVIRONMENT, key.environment)
        for key in KEYS.values()
        if key.environment and world.environ.get(key.environment)
    ]
    if world.environ.get("BLACKBIRD_AGENT_CMD"):
        # A command in the environment chooses the agent that runs it, before any provider named there.
        found = [one for one in found if one.key != "agent"]
        found.append(Given("agent", "command", Layer.ENVIRONMENT, "BLACKBIRD_AGENT_CMD"))
    return found


def near(workspace: Workspace, origin: str) -> str:
    """Shorten the name of a place: from the top of the worktree, or from the home of the user."""
    home = workspace.world.environ.get("HOME")
    for folder, sign in ((workspace.layout.state_root, ""), (home, "~/")):
        if folder and origin.startswith(f"{folder}/"):
            return sign + origin.removeprefix(f"{folder}/")
    return origin


def find_task(plan: Plan, task_id: str) -> Task:
    """Give the task of that id.

    Raises RequestError naming the nearest id when there is none.
    """
    task = plan.tasks.get(TaskId(task_id))
    if task is None:
        from difflib import get_close_matches  # noqa: PLC0415  # only a misspelt id pays for it

        close = get_close_matches(task_id, plan.tasks, n=1)
        hint = f"did you mean {close[0]}?" if close else "`git blackbird list --all` shows every task"
        raise RequestError(f"unknown id {quoted(task_id)}", hint=hint)
    return task

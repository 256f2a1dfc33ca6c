"""One opened worktree: its repository, its state, its settings."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from git_blackbird.controller.core.environment import Environment
from git_blackbird.errors import ElsewhereError, RequestError, UnusableError
from git_blackbird.git.core.config import color_wanted, read_settings
from git_blackbird.git.core.repository import Repository, discover
from git_blackbird.model.base.ids import IdIndex, TaskId, is_our_run_id
from git_blackbird.model.base.next_steps import CallOptions, Sentence, TaskCommand
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.change.change import Change
from git_blackbird.model.config.config import KEYS, Config, NamedCheck
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting
from git_blackbird.model.config.settings import Settings, merge_layers
from git_blackbird.model.plan.graph import dependents, subtree
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.limits import AgentModel
from git_blackbird.model.rules.reviews import ReviewGate, Transition
from git_blackbird.model.rules.spending import BudgetScope, BudgetUnit
from git_blackbird.model.rules.state import PlanRules, PlanState
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.storage.config_files import global_config_path, load_agent_choice, load_layer
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS, Holder, controller_holder, controller_lock
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import noop
from git_blackbird.storage.store import Store, Transaction

if TYPE_CHECKING:
    from git_blackbird.controller.core.plan_edits import PlanInGit
    from git_blackbird.model.base.redaction import Redactor

_MAX_NAMED = 5


@dataclass(frozen=True)
class Workspace:
    """The worktree, state and settings that every command works on.

    ``stand_ins`` names the agent that tasks start with in place of one that cannot work now.
    """

    environment: Environment
    repo: Repository
    store: Store
    settings: Settings
    no_input: bool = False
    stand_ins: Mapping[AgentModel, str] = field(default_factory=dict)

    @property
    def call_options(self) -> CallOptions:
        """The options of this call that its next steps repeat."""
        config = self.config
        names = {name for name, setting in self.settings.applied.items() if setting.layer is Layer.FLAG}
        stop = "execution.stopAfterEachTask"
        return CallOptions(
            agent=config.agent if "agent" in names else None,
            stop_after_each=config.execution.stop_after_each_task if stop in names else None,
            reviews=config.reviews.mode if "reviews.mode" in names else None,
            no_input=self.no_input,
            jobs=config.execution.jobs if "execution.jobs" in names else None,
            worktrees=config.execution.worktrees if "execution.worktrees" in names else None,
            cluster=config.cluster.address if "cluster.address" in names else None,
            budget=tuple(
                f"{unit}={getattr(config.budget.call, unit)}".removesuffix(".0")
                for unit in BudgetUnit
                if f"budget.{BudgetScope.CALL}.{unit}" in names
            ),
        )

    @property
    def config(self) -> Config:
        return self.settings.config

    @property
    def paths(self) -> Paths:
        return self.store.paths

    @cached_property
    def home(self) -> Repository:
        """The worktree that holds the state, even if ``repo`` is that of a task."""
        return replace(self.repo, top=self.paths.state_root, git_dir=self.paths.private.parent)

    @cached_property
    def is_task_worktree(self) -> bool:
        """Whether ``repo`` is a task's worktree, and not the one that holds the state."""
        return self.repo.git_dir != self.paths.private.parent

    @property
    def is_parallel(self) -> bool:
        """Whether several tasks may be at work at once, here or on the workers of a cluster."""
        return self.config.execution.jobs > 1 or bool(self.config.cluster.address)

    @property
    def uses_worktrees(self) -> bool:
        return self.config.execution.worktrees or self.is_parallel

    def gets_worktree(self, history: History, resumed: Run | None = None) -> bool:
        """Whether the next run of a task works in a worktree of its own.

        A session goes on where it was; a task that starts again has a worktree if it ever had one.
        """
        if resumed is not None:
            return not resumed.is_in_place
        newest = history.newest
        return self.uses_worktrees or (newest is not None and not newest.is_in_place)

    def in_worktree(self, linked: Repository) -> "Workspace":
        """Return the workspace with another worktree of the repository, and the same state."""
        return replace(self, repo=linked)

    def worktree_of(self, run: Run) -> str | None:
        """Return the present path of a run's own worktree, which may have been moved."""
        if run.worktree_path is None or os.path.lexists(run.worktree_path):
            return run.worktree_path
        from git_blackbird.git.worktree.linked import find_task_worktree  # rarely needed

        found = find_task_worktree(self.repo, run.task_id)
        return run.worktree_path if found is None else str(found.repo.top)

    @property
    def reviews_changes(self) -> bool:
        return self.config.reviews.mode == "parallel"

    @property
    def checks(self) -> Mapping[str, NamedCheck]:
        """The checks of what a task changed, by their names."""
        return self.config.check.all

    @property
    def has_checks(self) -> bool:
        """Whether changes are checked, be it by their criteria alone."""
        return bool(self.checks) or self.config.check.criteria

    @property
    def commits_approvals(self) -> bool:
        return self.config.execution.commit != "never"

    @property
    def commits_checked(self) -> bool:
        """Whether a change that passed the check is committed without a decision."""
        return self.config.execution.commit == "checked" and self.has_checks

    def takes_color(self, *, is_tty: bool) -> bool:
        """Whether output is to be coloured: not with ``NO_COLOR``; ``color.blackbird``, else ``color.ui``."""
        return not self.environment.environ.get("NO_COLOR") and color_wanted(self.repo, is_tty=is_tty)

    def runs_to_decide(self, history: History) -> tuple[Run, ...]:
        """Return the runs whose change a decision is about; an approval that commits takes more along."""
        change = Change.of(history)
        return (*change.uncommitted, *change.runs) if self.commits_approvals else change.runs

    @contextmanager
    def transaction(self, patience: float = STORE_PATIENCE_SECONDS) -> Iterator[Transaction]:
        """Hold the store lock to change something; what a decision says of edits of the plan is done by then.

        Raises LockedError when it cannot be had within ``patience`` seconds.
        """
        now = self.environment.timestamp
        with self.store.transaction(patience, rules=self.plan_rules, now=now) as transaction:
            if self.paths.plan_edits.exists():
                from git_blackbird.controller.core.plan_edits import settle_edits  # rarely there

                settle_edits(self.store, transaction)
            yield transaction

    @property
    def plan_rules(self) -> PlanRules:
        is_gated = self.config.execution.parent_review_enabled
        return PlanRules(is_gated, only_lasting=self.config.plan.statuses == "lasting")

    def plan_state(self) -> PlanState:
        """Read plan, records and feedback. Raises UnusableError when there is no plan to be read."""
        return self.store.state(self.plan_rules)

    def plan_state_of(self, task_id: str) -> PlanState:
        """Read the state of one task, its dependencies and dependents, and all reviews.

        No other record is read. Raises UnusableError when there is no plan to be read.
        """
        plan = self.store.plan()
        named = plan.tasks.get(TaskId(task_id))
        deps = () if named is None else (plan.tasks[dep] for dep in named.deps)
        near = () if named is None else (named, *deps, *dependents(plan, named.id))
        wanted = {TaskId(task_id), *(below.id for task in near for below in subtree(plan, task))}
        return self.store.state_of(plan, wanted, self.plan_rules)

    def transition(self, histories: Mapping[TaskId, History]) -> Transition:
        """Return the moment of a change: the time now, and the review gate by these records."""
        gate = ReviewGate(self.config.execution.parent_review_enabled, histories)
        return Transition(self.environment.timestamp(), gate)

    def require_settings(self) -> None:
        """Refuse to start or decide with an invalid configuration.

        Raises UnusableError naming file, key and the way out.
        """
        fatal = [problem for problem in self.settings.problems if problem.fatal]
        if fatal:
            listed = (f"- {problem} ({problem.hint})" for problem in fatal)
            raise UnusableError(
                ("the configuration is not usable:", *listed), hint="fix it, then repeat the command"
            )


def open_workspace(
    environment: Environment,
    flags: Iterable[RawSetting] = (),
    *,
    no_input: bool = False,
    takes_bare: bool = False,
) -> Workspace:
    """Open the worktree around the working directory, for a call that asks nobody with ``no_input``.

    Raises UnusableError when there is no usable repository, ElsewhereError in the worktree of a task.
    """
    repo = discover(environment.cwd, environment.environ, takes_bare=takes_bare)
    workspace = view_workspace(repo, environment, flags, no_input=no_input)
    if os.path.lexists(repo.index_lock):
        from git_blackbird.git.worktree.index_lock import clear_leftover_lock  # rarely there

        clear_leftover_lock(repo)
    return workspace


def view_workspace(
    repo: Repository, environment: Environment, flags: Iterable[RawSetting] = (), *, no_input: bool = False
) -> Workspace:
    """Open a worktree and change nothing in it, not even a leftover lock. Raises as ``open_workspace``."""
    if repo.git_dir != repo.common_dir:
        _require_no_task(repo)
    paths = Paths(repo.top, repo.private_dir)
    given, problems = read_layers(environment, repo, paths)
    settings = merge_layers([*given, *flags], problems)
    redactor = _redactors(repo.environ) if settings.config.records.redact else noop
    store = Store(paths, partial(_hold, repo), redactor, partial(_plan_in_git, repo))
    return Workspace(environment, repo, store, settings, no_input)


def configured_now(workspace: Workspace) -> Config:
    """Return the configuration as its files are now, without the options of the call."""
    return view_workspace(workspace.repo, workspace.environment).config


def _hold(repo: Repository, run: Run, trees: frozenset[str]) -> frozenset[str]:
    from git_blackbird.git.worktree.saved_trees import hold_trees  # reading needs none

    return hold_trees(repo, run.id, {"base": run.base_tree, "head": run.head_tree}, trees)


def _plan_in_git(repo: Repository) -> "PlanInGit":
    from git_blackbird.controller.core.plan_edits import PlanInGit  # reading needs none

    return PlanInGit(repo)


def _redactors(environ: Mapping[str, str]) -> "Callable[[], Redactor]":
    """Return what makes a redactor; the secrets of an environment are looked for once."""
    secrets: Mapping[str, str] | None = None

    def redactor() -> "Redactor":
        from git_blackbird.model.base.redaction import Redactor, secret_values  # reading needs none

        nonlocal secrets
        if secrets is None:
            secrets = secret_values(environ)
        return Redactor(secrets)

    return redactor


def _require_no_task(repo: Repository) -> None:
    """Raise ElsewhereError in the worktree of a task: its plan and records are another worktree's."""
    from git_blackbird.git.worktree.linked import home_repository, owner_of  # in linked worktrees only

    if (owner := owner_of(repo)) is not None:
        found = home_repository(repo)
        home = None if found is None else found.top
        of = "" if home is None else f" of {home}"
        raise ElsewhereError(f"this is the worktree of task {owner.task_id}{of}", home)


# The keys that a variable may set.
_IN_ENVIRONMENT = tuple(
    (name, key, key.row.environment) for name, key in KEYS.items() if key.row.environment is not None
)


def read_layers(
    environment: Environment, repo: Repository, paths: Paths
) -> tuple[list[RawSetting], list[ConfigProblem]]:
    """Read all layers but flags, and the faults of whole files. Raises GitError when git's cannot be read."""
    variables: dict[str, RawSetting] = {}
    for name, key, variable in _IN_ENVIRONMENT:
        if value := environment.environ.get(variable):
            variables[name] = RawSetting(name, value, Layer.ENVIRONMENT, variable)
            # A command in the environment chooses the agent that runs it, before any provider named there.
            if key.row.chooses is not None:
                variables["agent"] = RawSetting("agent", key.row.chooses, Layer.ENVIRONMENT, variable)
    project, project_problems = load_layer(paths.config, Layer.PROJECT, paths.state_root)
    everywhere, global_problems = load_layer(global_config_path(environment.environ), Layer.GLOBAL)
    go_choice = load_agent_choice(paths.agent_choice, paths.state_root)
    settings, format_problems = read_settings(repo)
    given = [*variables.values(), *settings, *project, *everywhere, *go_choice]
    return given, [*format_problems, *project_problems, *global_problems]


def shorten_path(workspace: Workspace, origin: str) -> str:
    """Shorten a path: relative to the top of the worktree, or to the home of the user."""
    home = workspace.environment.environ.get("HOME")
    for folder, sign in ((workspace.paths.state_root, ""), (home, "~/")):
        if folder and origin.startswith(f"{folder}/"):
            return sign + origin.removeprefix(f"{folder}/")
    return origin


def find_task(plan: Plan, task_id: str) -> Task:
    """Return the task of that id. Raises RequestError naming the nearest id when there is none."""
    task = plan.tasks.get(TaskId(task_id))
    if task is None:
        from difflib import get_close_matches  # only a misspelt id pays for it

        close = get_close_matches(task_id, plan.tasks, n=1)
        hint: str = Sentence(TaskCommand("list", rest=" --all"), " shows every task")
        if close:
            hint = f"did you mean {close[0]}?"
        elif is_our_run_id(task_id):
            hint = Sentence("the task of a run stands before it: ", TaskCommand("runs"), " has both")
        raise RequestError(f"unknown id {quoted(task_id)}", hint=hint)
    return task


def full_id(plan: Plan, name: str) -> TaskId:
    """Return the only task id that begins with the name, or the name itself if none does.

    Raises RequestError if several do.
    """
    if TaskId(name) in plan.tasks:
        return TaskId(name)
    found = IdIndex(plan.tasks).find(name)
    if len(found) > 1:
        from git_blackbird.messages.display.quantities import some_of  # only an ambiguous id pays for it

        raise RequestError(f"{quoted(name)} begins several ids: {some_of(found, _MAX_NAMED)}")
    return TaskId(found[0] if found else name)


def hold_controller(workspace: Workspace, command: str, **does: object) -> AbstractContextManager[None]:
    """Hold the controller lock for a command. Raises LockedError, saying who holds it since when.

    Readers are told what it ``does``, as ``CallScope.told`` has it.
    """
    return controller_lock(workspace.paths, command, workspace.environment.timestamp(), **does)


def lock_holder(workspace: Workspace) -> Holder | None:
    return controller_holder(workspace.paths)

"""Taking the program out of a repository: hooks, references, state, configuration, and the plan if named."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.core.locks import hold_controller
from git_blackbird.controller.core.processes import is_alive
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.setup.hooks import uninstall_hook, view_hook
from git_blackbird.errors import BlackbirdError, LockedError, RequestError
from git_blackbird.git.core.config import list_own_keys, remove_own_sections
from git_blackbird.git.core.repository import list_tracked
from git_blackbird.git.hooks.install import HookState
from git_blackbird.git.worktree.saved_trees import delete_our_refs, list_our_refs
from git_blackbird.messages.display.format import counted
from git_blackbird.model.entities.run import RunStatus
from git_blackbird.storage.cleanup import (
    has_state,
    list_own_files,
    remove_plan,
    remove_private,
    remove_state,
)
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import controller_holder
from git_blackbird.storage.paths import STATE_NAME, Paths

_COMMAND = "deinit"
_SHOWN_KEYS = 5
_SHOWN_FILES = 8
_SHOWN_TASKS = 5
_GOING_ON = frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING_USER})


class Component(StrEnum):
    """What can be taken away, in the order in which it is."""

    HOOKS = "hooks"
    REFS = "refs"
    STATE = "state"
    CONFIG = "config"
    PLAN = "plan"


_SHARED = frozenset({Component.HOOKS, Component.REFS, Component.CONFIG})
_NEEDED = frozenset({Component.REFS, Component.STATE})


class UninstallRequest(NamedTuple):
    """What is to be taken away, and whether a person agreed to it, having been told what there is."""

    parts: frozenset[Component]
    is_agreed: bool


@dataclass(frozen=True)
class ComponentStatus:
    """What there is of one part; ``is_there`` is false where there is nothing of it to take away."""

    part: Component
    text: str
    is_there: bool = True


def list_installed(workspace: Workspace) -> tuple[ComponentStatus, ...]:
    """Say what there is of each part. Writes nothing.

    Raises UnusableError.
    """
    return (
        _view_hooks(workspace),
        _view_refs(workspace),
        _view_state(workspace),
        _view_config(workspace),
        _view_plan(workspace),
    )


def _view_hooks(workspace: Workspace) -> ComponentStatus:
    view = view_hook(workspace.environment)
    if view.state is HookState.REPLACED:
        return ComponentStatus(
            Component.HOOKS, f"another hook has replaced ours and was left alone: {view.path}", False
        )
    if view.state is HookState.ABSENT and view.backup is None:
        return ComponentStatus(Component.HOOKS, "no hook", is_there=False)
    back = "" if view.backup is None else "; the one from before comes back"
    return ComponentStatus(Component.HOOKS, f"the post-commit hook {view.path}{back}")


def _view_refs(workspace: Workspace) -> ComponentStatus:
    count = len(list_our_refs(workspace.repo))
    others = sum(1 for _ in _other_layouts(workspace))
    shared = f", of all {others + 1} worktrees" if others else ""
    text = f"{counted(count, 'reference')} below refs/blackbird/{shared}: the trees that diffs are made of"
    unfinished = _unfinished(workspace)
    if unfinished:
        text = f"{text}; {_shown(unfinished)} still needs them"
    return (
        ComponentStatus(Component.REFS, text)
        if count
        else ComponentStatus(Component.REFS, "no references", is_there=False)
    )


def _unfinished(workspace: Workspace) -> list[str]:
    """Name the tasks of which a run is to be decided on, or to go on."""
    latest = {task_id: history.latest for task_id, history in workspace.store.records.histories().items()}
    return [
        task_id
        for task_id, run in sorted(latest.items())
        if run is not None and run.superseded_at is None and (run.is_pending or run.status in _GOING_ON)
    ]


def _shown(task_ids: list[str]) -> str:
    more = f" and {len(task_ids) - _SHOWN_TASKS} more" if len(task_ids) > _SHOWN_TASKS else ""
    return f"{', '.join(task_ids[:_SHOWN_TASKS])}{more}"


def _view_state(workspace: Workspace) -> ComponentStatus:
    paths = workspace.paths
    if not has_state(paths, _users_own(workspace)):
        return ComponentStatus(Component.STATE, "no state", is_there=False)
    records = sum(len(history.runs) for history in workspace.store.records.histories().values())
    text = f"{counted(records, 'run')} on record"
    return ComponentStatus(Component.STATE, f"{text}: {paths.state}, {paths.private}{_own_files(workspace)}")


def _own_files(workspace: Workspace) -> str:
    """Name what of the state a person wrote, which nothing brings back."""
    paths = workspace.paths
    own = list_own_files(paths, _users_own(workspace), list_tracked(workspace.repo, STATE_NAME))
    shown = [str(_from(paths.state_root, path)) for path in own[:_SHOWN_FILES]]
    more = [f"{len(own) - _SHOWN_FILES} more"] if len(own) > _SHOWN_FILES else []
    return f"; your own among them: {', '.join([*shown, *more])}" if own else ""


def _from(top: Path, path: Path) -> Path:
    return path.relative_to(top) if path.is_relative_to(top) else path


def _view_config(workspace: Workspace) -> ComponentStatus:
    keys = list_own_keys(workspace.repo)
    if not keys:
        return ComponentStatus(Component.CONFIG, "no keys in this repository's git config", is_there=False)
    shown = ", ".join(keys[:_SHOWN_KEYS]) + (", ..." if len(keys) > _SHOWN_KEYS else "")
    return ComponentStatus(
        Component.CONFIG, f"{counted(len(keys), 'key')} in this repository's git config: {shown}"
    )


def _view_plan(workspace: Workspace) -> ComponentStatus:
    plan = workspace.paths.plan
    if not plan.exists() and not plan.is_symlink():
        return ComponentStatus(Component.PLAN, "no plan", is_there=False)
    try:
        tasks = f", {counted(len(workspace.store.plan().tasks), 'task')}"
    except BlackbirdError:
        tasks = ", which is not valid"
    return ComponentStatus(Component.PLAN, f"the plan {plan}{tasks}")


def _users_own(workspace: Workspace) -> Path | None:
    config = global_config_path(workspace.environment.environ)
    return None if config is None else config.parent


def remove_parts(workspace: Workspace, removal: UninstallRequest) -> tuple[ComponentStatus, ...]:
    """Take these parts away; gives what was there of them.

    Raises LockedError while agents work here, or for what worktrees share, in any of them; RequestError
    where the hook is not ours alone, or where nobody agreed that what is not finished loses its trees or
    records; UnusableError where something cannot be removed. What comes after it
    stays then.
    """
    workspace.forbid_agents("remove git-blackbird from a repository")
    wanted = set(removal.parts)
    # Before the lock is taken: its file is no state to take away.
    removed = [one for one in list_installed(workspace) if one.part in wanted and one.is_there]
    with _quiet(workspace, wanted):
        if not removal.is_agreed:
            _require_finished(workspace, removed)
        for one in removed:
            _remove(workspace, one.part)
    return tuple(removed)


@contextlib.contextmanager
def _quiet(workspace: Workspace, wanted: set[Component]) -> Iterator[None]:
    """Keep agents from being started meanwhile, and leave no lock behind where there was none."""
    was_there = workspace.paths.private.exists()
    with hold_controller(workspace, _COMMAND):
        try:
            _require_idle(workspace)
            if wanted & _SHARED:
                _require_others_idle(workspace)
            yield
        finally:
            if not was_there:
                remove_private(workspace.paths)
        if Component.STATE in wanted:
            remove_private(workspace.paths)


def _require_finished(workspace: Workspace, removed: Iterable[ComponentStatus]) -> None:
    parts = [one.part.value for one in removed if one.part in _NEEDED]
    unfinished = _unfinished(workspace)
    if parts and unfinished:
        raise RequestError(
            f"{_shown(unfinished)}: a decision is due or a run is not finished, "
            f"which needs {' and '.join(parts)}",
            hint="`git blackbird status` shows what is due\nor remove it anyway: --yes",
        )


def _require_idle(workspace: Workspace) -> None:
    """Refuse while an agent lives whose controller was killed."""
    for history in workspace.store.records.histories().values():
        if history.live is not None and is_alive(history.live):
            raise LockedError(
                f"an agent is working on {history.live.task_id} (process {history.live.pid})",
                hint="`git blackbird execute` takes it up; or stop it",
            )


def _require_others_idle(workspace: Workspace) -> None:
    for paths in _other_layouts(workspace):
        holder = controller_holder(paths)
        if holder is not None:
            raise LockedError(
                f"another git-blackbird is running in a worktree of this repository: {holder}",
                hint="wait for it: hooks, references and configuration are its own too",
            )


def _other_layouts(workspace: Workspace) -> Iterator[Paths]:
    common = workspace.repo.common_dir
    for git_dir in (common, *sorted(common.glob("worktrees/*"))):
        if git_dir != workspace.repo.git_dir:
            yield Paths(git_dir, git_dir / "blackbird")


def _remove(workspace: Workspace, part: Component) -> None:
    match part:
        case Component.HOOKS:
            uninstall_hook(workspace.environment)
        case Component.REFS:
            delete_our_refs(workspace.repo)
        case Component.STATE:
            with workspace.store.transaction():
                remove_state(workspace.paths, _users_own(workspace))
        case Component.CONFIG:
            remove_own_sections(workspace.repo)
        case Component.PLAN:
            with workspace.store.transaction():
                remove_plan(workspace.paths)

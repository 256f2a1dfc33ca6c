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
from git_blackbird.controller.setup.hooks import HookStatus, uninstall_hook, view_hook
from git_blackbird.errors import BlackbirdError, LockedError, RequestError
from git_blackbird.git.core.config import list_own_keys, remove_own_sections
from git_blackbird.git.core.repository import list_tracked
from git_blackbird.git.hooks.install import HookState
from git_blackbird.git.worktree.saved_trees import delete_our_refs, list_our_refs
from git_blackbird.messages.display.format import counted
from git_blackbird.model.entities.run import RunStatus
from git_blackbird.storage.cleanup import has_state, list_own_files, remove, remove_state
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import controller_holder
from git_blackbird.storage.paths import STATE_NAME, Paths

_COMMAND = "deinit"
_MAX_KEYS = 5
_MAX_FILES = 8
_MAX_TASKS = 5
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
    """What to remove, and whether a person confirmed it after seeing the list."""

    parts: frozenset[Component]
    is_agreed: bool


@dataclass(frozen=True)
class ComponentStatus:
    """What there is of one part; ``is_there`` is false where there is nothing of it to take away."""

    part: Component
    text: str
    is_there: bool = True


_ABSENT = {
    Component.HOOKS: "no hook",
    Component.REFS: "no references",
    Component.STATE: "no state",
    Component.CONFIG: "no keys in this repository's git config",
    Component.PLAN: "no plan",
}


def list_installed(workspace: Workspace) -> tuple[ComponentStatus, ...]:
    """Say what there is of each part. Writes nothing."""
    hook = view_hook(workspace.environment)
    found = {
        Component.HOOKS: _describe_hook(hook),
        Component.REFS: _describe_refs(workspace),
        Component.STATE: _describe_state(workspace),
        Component.CONFIG: _describe_config(workspace),
        Component.PLAN: _describe_plan(workspace),
    }
    absent = dict(_ABSENT)
    if hook.state is HookState.REPLACED:
        absent[Component.HOOKS] = f"another hook has replaced ours and was left alone: {hook.path}"
    return tuple(
        ComponentStatus(part, text or absent[part], is_there=text is not None) for part, text in found.items()
    )


def _describe_hook(hook: HookStatus) -> str | None:
    if hook.state is HookState.REPLACED or (hook.state is HookState.ABSENT and hook.backup is None):
        return None
    back = "" if hook.backup is None else "; the one from before comes back"
    return f"the post-commit hook {hook.path}{back}"


def _describe_refs(workspace: Workspace) -> str | None:
    count = len(list_our_refs(workspace.repo))
    if not count:
        return None
    others = sum(1 for _ in _other_layouts(workspace))
    shared = f", of all {others + 1} worktrees" if others else ""
    text = f"{counted(count, 'reference')} below refs/blackbird/{shared}: the trees that diffs are made of"
    unfinished = _unfinished(workspace)
    return f"{text}; {_listed(unfinished)} still needs them" if unfinished else text


def _unfinished(workspace: Workspace) -> list[str]:
    """Name the tasks with a run to decide on or to continue."""
    latest = {task_id: history.latest for task_id, history in workspace.store.records.histories().items()}
    return [
        task_id
        for task_id, run in sorted(latest.items())
        if run is not None and run.superseded_at is None and (run.is_pending or run.status in _GOING_ON)
    ]


def _listed(task_ids: list[str]) -> str:
    more = f" and {len(task_ids) - _MAX_TASKS} more" if len(task_ids) > _MAX_TASKS else ""
    return f"{', '.join(task_ids[:_MAX_TASKS])}{more}"


def _describe_state(workspace: Workspace) -> str | None:
    paths = workspace.paths
    if not has_state(paths, _users_own(workspace)):
        return None
    records = sum(len(history.runs) for history in workspace.store.records.histories().values())
    text = f"{counted(records, 'run')} on record"
    return f"{text}: {paths.state}, {paths.private}{_own_files(workspace)}"


def _own_files(workspace: Workspace) -> str:
    """Name what of the state a person wrote, which nothing brings back."""
    paths = workspace.paths
    own = list_own_files(paths, _users_own(workspace), list_tracked(workspace.repo, STATE_NAME))
    named = [str(_from(paths.state_root, path)) for path in own[:_MAX_FILES]]
    more = [f"{len(own) - _MAX_FILES} more"] if len(own) > _MAX_FILES else []
    return f"; your own among them: {', '.join([*named, *more])}" if own else ""


def _from(top: Path, path: Path) -> Path:
    return path.relative_to(top) if path.is_relative_to(top) else path


def _describe_config(workspace: Workspace) -> str | None:
    keys = list_own_keys(workspace.repo)
    if not keys:
        return None
    listed = ", ".join(keys[:_MAX_KEYS]) + (", ..." if len(keys) > _MAX_KEYS else "")
    return f"{counted(len(keys), 'key')} in this repository's git config: {listed}"


def _describe_plan(workspace: Workspace) -> str | None:
    plan = workspace.paths.plan
    if not plan.exists() and not plan.is_symlink():
        return None
    try:
        tasks = f", {counted(len(workspace.store.plan().tasks), 'task')}"
    except BlackbirdError:
        tasks = ", which is not valid"
    return f"the plan {plan}{tasks}"


def _users_own(workspace: Workspace) -> Path | None:
    config = global_config_path(workspace.environment.environ)
    return None if config is None else config.parent


def remove_parts(workspace: Workspace, removal: UninstallRequest) -> tuple[ComponentStatus, ...]:
    """Remove these parts; return those that were there.

    Raises LockedError while agents work here, or for what worktrees share, in any of them; RequestError
    where the hook is not ours alone, or where nobody agreed that what is not finished loses its trees or
    records; UnusableError where something cannot be removed. What comes after it
    stays then.
    """
    workspace.forbid_agents("remove git-blackbird from a repository")
    wanted = set(removal.parts)
    # Before the lock is taken: its file is no state to take away.
    removed = [status for status in list_installed(workspace) if status.part in wanted and status.is_there]
    with _quiet(workspace, wanted):
        if not removal.is_agreed:
            _require_finished(workspace, removed)
        for status in removed:
            _remove(workspace, status.part)
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
                remove(workspace.paths.private)
        if Component.STATE in wanted:
            remove(workspace.paths.private)


def _require_finished(workspace: Workspace, removed: Iterable[ComponentStatus]) -> None:
    parts = [status.part.value for status in removed if status.part in _NEEDED]
    unfinished = _unfinished(workspace)
    if parts and unfinished:
        raise RequestError(
            f"{_listed(unfinished)}: a decision is due or a run is not finished, "
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
                remove(workspace.paths.plan)

"""The post-commit hook, and taking the program out of a repository: hook, references, state, settings."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.guards import is_alive
from git_blackbird.controller.core.workspace import Workspace, hold_controller
from git_blackbird.errors import BlackbirdError, LockedError, RequestError, UnusableError
from git_blackbird.git.core.config import list_own_keys, remove_own_sections
from git_blackbird.git.core.repository import discover, list_tracked
from git_blackbird.git.hooks import install as hook_files
from git_blackbird.git.hooks.install import HookAction, HookResult, HookState, HookStatus
from git_blackbird.git.hooks.merge_driver import (
    driver_fault,
    install_driver,
    is_driver_installed,
    remove_driver,
)
from git_blackbird.git.hooks.script import HookCommand
from git_blackbird.git.worktree.linked import task_worktrees
from git_blackbird.git.worktree.saved_trees import delete_refs, list_our_refs
from git_blackbird.messages.display.quantities import counted, some_of
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, ShellLine, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import STATE_NAME
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import controller_holder
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.removal import has_state, list_own_files, remove, remove_state, state_to_keep

__all__ = [
    "HookAction",
    "HookResult",
    "HookState",
    "HookStatus",
    "install_hook",
    "uninstall_hook",
    "view_hook",
]

_ENTRY = Path(__file__).parents[2] / "hook.py"
_MERGE_ENTRY = _ENTRY.with_name("merge_plan.py")


def view_hook(environment: Environment) -> HookStatus:
    """Look at the hook that git would run here."""
    return hook_files.view_hook(discover(environment.cwd, environment.environ), _caller())


def install_hook(environment: Environment) -> HookResult:
    """Install the hook, which runs an existing hook first, and the plan's merge driver.

    Raises RequestError if something would be overwritten, UnusableError.
    """
    environment.forbid_agents("change the hooks")
    repo, caller = discover(environment.cwd, environment.environ), _caller()
    result = hook_files.install_hook(repo, caller)
    with _writing_attributes():
        install_driver(repo, _merge_caller())
    return result


def uninstall_hook(environment: Environment) -> HookResult:
    """Remove the hook and the merge driver; the earlier hook is restored.

    Raises RequestError if the hook is no longer ours alone, UnusableError.
    """
    environment.forbid_agents("change the hooks")
    repo = discover(environment.cwd, environment.environ)
    result = hook_files.uninstall_hook(repo, _caller())
    with _writing_attributes():
        remove_driver(repo)
    return result


def merges_plan(environment: Environment) -> bool:
    """Whether git merges the plan by task and field here."""
    return is_driver_installed(discover(environment.cwd, environment.environ))


def merge_driver_fault(environment: Environment) -> str | None:
    """Return what is wrong with the plan's merge driver; None if nothing is, or it is not installed."""
    return driver_fault(discover(environment.cwd, environment.environ), _merge_caller())


@contextlib.contextmanager
def _writing_attributes() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnusableError(f"cannot write {error.filename}: {error.strerror}") from error


def _caller() -> HookCommand:
    if not sys.executable:
        raise UnusableError("this Python does not know its own path, which the hook needs")
    return HookCommand(Path(sys.executable), _ENTRY)


def _merge_caller() -> HookCommand:
    return replace(_caller(), entry=_MERGE_ENTRY)


_COMMAND = "deinit"
_MAX_KEYS = 5
_MAX_FILES = 8
_MAX_TASKS = 5
_GOING_ON = frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING_USER})


class Installed(NamedTuple):
    """The parts of the program in a repository, in words: those that ``remove_all`` takes, and the rest."""

    goes: tuple[str, ...]
    stays: tuple[str, ...]


def list_installed(workspace: Workspace) -> Installed:
    """List the installed parts. Writes nothing."""
    hook = view_hook(workspace.environment)
    tracked = list_tracked(workspace.repo, STATE_NAME)
    return Installed(tuple(_going(workspace, hook, tracked)), tuple(_staying(workspace, hook, tracked)))


def _going(workspace: Workspace, hook: HookStatus, tracked: Iterable[str]) -> Iterator[str]:
    paths, repo = workspace.paths, workspace.repo
    if _is_ours(hook):
        back = "" if hook.backup is None else "; the one from before comes back"
        yield f"the post-commit hook {hook.path}{back}"
    if is_driver_installed(repo):
        yield "the merge driver for the plan"
    histories = workspace.store.records.histories()
    if count := len(list_our_refs(repo)):
        others = sum(1 for _ in other_layouts(workspace))
        shared = f", of all {others + 1} worktrees" if others else ""
        text = (
            f"{counted(count, 'reference')} below refs/blackbird/{shared}: the trees that diffs are made of"
        )
        unfinished = [
            task_id
            for task_id, history in sorted(histories.items())
            if (run := history.latest) is not None
            and not run.is_superseded
            and (run.is_pending or run.status in _GOING_ON)
        ]
        yield f"{text}; {some_of(unfinished, _MAX_TASKS)} still needs them" if unfinished else text
    kept = _kept_state(workspace, tracked)
    if has_state(paths, kept):
        records = sum(len(history.runs) for history in histories.values())
        text = f"{counted(records, 'run')} on record: {paths.state}, {paths.private}"
        if places := [place.task_id for place in task_worktrees(repo)]:
            text += f"; worktrees of {some_of(places, _MAX_TASKS)}"
        # Text that a person wrote cannot be recovered.
        own = _names(workspace, list_own_files(paths, kept))
        yield text + (f"; your own among them: {own}" if own else "")
    if keys := list_own_keys(repo):
        listed = ", ".join(keys[:_MAX_KEYS]) + (", ..." if len(keys) > _MAX_KEYS else "")
        yield f"{counted(len(keys), 'key')} in this repository's git config: {listed}"


def _staying(workspace: Workspace, hook: HookStatus, tracked: Iterable[str]) -> Iterator[str]:
    if hook.state is HookState.REPLACED:
        yield f"the hook that has replaced ours: {hook.path}"
    if kept := state_to_keep(workspace.paths, None, tracked):
        yield f"what git tracks (`git rm` removes it): {_names(workspace, sorted(kept))}"
    plan = workspace.paths.plan
    if os.path.lexists(plan):
        try:
            tasks = f", {counted(len(workspace.store.plan().tasks), 'task')}"
        except BlackbirdError:
            tasks = ", which is not valid"
        yield f"the plan {plan}{tasks}"


def _is_ours(hook: HookStatus) -> bool:
    return hook.state is not HookState.REPLACED and (
        hook.state is not HookState.ABSENT or hook.backup is not None
    )


def _names(workspace: Workspace, files: Sequence[Path]) -> str:
    top = workspace.paths.state_root
    named = [str(path.relative_to(top) if path.is_relative_to(top) else path) for path in files[:_MAX_FILES]]
    more = [f"{len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else []
    return ", ".join([*named, *more])


def _kept_state(workspace: Workspace, tracked: Iterable[str]) -> frozenset[Path]:
    config = global_config_path(workspace.environment.environ)
    users_own = None if config is None else config.parent
    return state_to_keep(workspace.paths, users_own, tracked)


def remove_all(workspace: Workspace) -> None:
    """Remove what ``list_installed`` says goes.

    Raises LockedError while agents work in any of the repository's worktrees; RequestError where the hook is
    not ours alone, or tasks have worktrees; UnusableError where something cannot be removed. What comes after
    it stays then.
    """
    workspace.environment.forbid_agents("remove git-blackbird from a repository")
    with _without_agents(workspace):
        # Nothing would know them any more.
        if places := [str(place.repo.top) for place in task_worktrees(workspace.repo)]:
            others = (ShellLine(f"git worktree remove --force {shell_word(place)}") for place in places)
            done = Sentence(TaskCommand("worktrees prune"), " removes those that are done with; the others:")
            raise RequestError(
                f"tasks have worktrees of their own: {', '.join(places)}",
                hint=(done, *others),
            )
        if _is_ours(view_hook(workspace.environment)):
            uninstall_hook(workspace.environment)
        with _writing_attributes():
            remove_driver(workspace.repo)
        delete_refs(workspace.repo, list_our_refs(workspace.repo))
        with workspace.store.transaction():
            tracked = list_tracked(workspace.repo, STATE_NAME)
            remove_state(workspace.paths, _kept_state(workspace, tracked))
        remove_own_sections(workspace.repo)
    # The locks lie there too.
    remove(workspace.paths.private)


@contextlib.contextmanager
def _without_agents(workspace: Workspace) -> Iterator[None]:
    """Hold the locks against starts of agents; remove their folder if it was not there before."""
    was_there = workspace.paths.private.exists()
    with hold_controller(workspace, _COMMAND):
        try:
            # One lives whose controller was killed, or works in another worktree.
            for history in workspace.store.records.histories().values():
                if history.live is not None and is_alive(history.live):
                    raise LockedError(
                        f"an agent is working on {history.live.task_id} (process {history.live.pid})",
                        hint=Sentence(EXECUTE, " takes it up; or stop it"),
                    )
            for holder in filter(None, map(controller_holder, other_layouts(workspace))):
                raise LockedError(
                    f"another git-blackbird is running in a worktree of this repository: {holder}",
                    hint="wait for it: hooks, references and configuration are its own too",
                )
            yield
        finally:
            if not was_there:
                remove(workspace.paths.private)


def other_layouts(workspace: Workspace) -> Iterator[Paths]:
    """Yield the paths of the repository's other worktrees, those whose folders are gone included."""
    common = workspace.repo.common_dir
    for git_dir in (common, *sorted(common.glob("worktrees/*"))):
        if git_dir != workspace.repo.git_dir:
            yield Paths(git_dir, git_dir / "blackbird")

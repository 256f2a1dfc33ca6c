"""Find what is wrong in a repository, and have it mended by what other commands do as well."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace, hold_controller, view_workspace
from git_blackbird.controller.doctor.checks import CHECKS, Seen, finding_of
from git_blackbird.controller.doctor.prune import unheld_runs
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.launch.run_files import sweep_scratch_dirs
from git_blackbird.controller.place.listing import missing_places, prune_places
from git_blackbird.controller.place.worktrees import kept_text, reopen_place
from git_blackbird.controller.queries.agents import AgentView
from git_blackbird.controller.setup.install import install_hook
from git_blackbird.errors import BlackbirdError, ElsewhereError, UnusableError
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree.index_lock import clear_leftover_lock
from git_blackbird.git.worktree.saved_trees import broken_refs
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.views.doctor import DiskUse, Finding, Mend


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, and what was ``mended``; the agents as they were probed, and the room that runs take.

    ``workspace`` is None where the repository cannot be opened.
    """

    findings: tuple[Finding, ...]
    mended: tuple[Finding, ...] = ()
    agents: tuple[AgentView, ...] = ()
    disk_use: DiskUse | None = None
    workspace: Workspace | None = None


def diagnose(environment: Environment) -> Diagnosis:
    """Look at everything, and change nothing. Raises ElsewhereError in the worktree of a task."""
    try:
        workspace = view_workspace(discover(environment.cwd, environment.environ), environment)
    except ElsewhereError:
        raise
    except UnusableError as error:
        ways = error.ways_out or (ShellLine("git status", "says the same until it is mended"),)
        return Diagnosis((Finding(error.message, str(environment.cwd), None, ways, "repository"),))
    seen = _look(workspace)
    return Diagnosis(
        findings=tuple(one for one in seen if isinstance(one, Finding)),
        agents=tuple(one for one in seen if isinstance(one, AgentView)),
        disk_use=next((one for one in seen if isinstance(one, DiskUse)), None),
        workspace=workspace,
    )


def _look(workspace: Workspace) -> list[Seen]:
    """Return what all checks see; that one of them fails is a finding, unless another one says the same."""
    seen: list[Seen] = []
    for subject, check in CHECKS.items():
        try:
            for one in check(workspace):
                named = one._replace(subject=subject) if isinstance(one, Finding) else one
                seen.append(named)
        except Exception as error:  # noqa: BLE001  # whatever is broken, the other checks go on
            failure = finding_of(error, workspace.paths.private)._replace(subject=subject)
            if not any(isinstance(one, Finding) and one.what == failure.what for one in seen):
                seen.append(failure)
    return seen


def mend(diagnosis: Diagnosis, ui: UserInterface) -> Diagnosis:
    """Mend what can be mended, and look at everything again.

    ``ui`` is told what is done, and what fails. Raises RequestError for an agent.
    """
    workspace = diagnosis.workspace
    if workspace is None:
        return diagnosis
    workspace.environment.forbid_agents("mend a repository")
    for way in Mend:
        if any(finding.mend is way for finding in diagnosis.findings):
            try:
                _MENDS[way](workspace, ui)
            except (BlackbirdError, OSError) as error:
                failure = finding_of(error, workspace.paths.private)
                text = f"{way.value.replace('_', ' ')}: {failure.what}"
                warn(ui, text, hint=failure.ways_out)
    after = diagnose(workspace.environment)
    mended = tuple(one for one in diagnosis.findings if one not in after.findings)
    # Of what could not be mended another way out goes first, if there is one.
    left = (
        one._replace(mend=None) if one in diagnosis.findings and one.ways_out else one
        for one in after.findings
    )
    return replace(after, findings=tuple(left), mended=mended)


def _recover(workspace: Workspace, ui: UserInterface) -> None:
    with hold_controller(workspace, "doctor"):
        recover(workspace, ui, CallScope(starts_left=0, starts_agents=False))
        sweep_scratch_dirs(workspace.paths)


def _mend_worktrees(workspace: Workspace, ui: UserInterface) -> None:
    for place, _, kept in prune_places(workspace, dry_run=False):
        if kept is not None:
            inform(ui, kept_text(place.task_id, kept), place.task_id)
    with hold_controller(workspace, "doctor"):
        for run in list(missing_places(workspace)):
            try:
                reopen_place(workspace, run)
            except BlackbirdError as error:
                warn(ui, error.message, run.task_id, hint=error.ways_out)


def _hold_again(workspace: Workspace, ui: UserInterface) -> None:
    """Restore the references to those trees of records that are still there."""
    with workspace.transaction():
        for name in broken_refs(workspace.repo):
            (workspace.repo.common_dir / name).unlink()
        for run in unheld_runs(workspace):
            if lost := workspace.store.hold(run, run.named_trees):
                warn(ui, f"{counted(len(lost), 'tree')} of run {run.id} are gone", run.task_id)


def _write_copies(workspace: Workspace) -> None:
    with workspace.transaction():
        for record in list(workspace.store.copies.missing()):
            workspace.store.copies.write(record)


_MENDS: Mapping[Mend, Callable[[Workspace, UserInterface], object]] = {
    Mend.INDEX_LOCK: lambda workspace, _: clear_leftover_lock(workspace.repo),
    Mend.RECOVERY: _recover,
    Mend.COPIES: lambda workspace, _: _write_copies(workspace),
    Mend.REFERENCES: _hold_again,
    Mend.WORKTREES: _mend_worktrees,
    Mend.HOOKS: lambda workspace, _: install_hook(workspace.environment),
}

"""Plan, records and commits while an agent works: what it changed is shown, what it broke is set aside."""

import os
from dataclasses import dataclass

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.hooks.attribution import list_commits, mark_active, unmark_active
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.entities.run import Run
from git_blackbird.model.rules.graph import describe_changes
from git_blackbird.model.views import Level, Notice
from git_blackbird.storage.ledger import WatchEnd
from git_blackbird.storage.plan_file import InvalidPlanError, parse_plan
from git_blackbird.storage.store import Transaction


@dataclass(frozen=True)
class PlanCheck:
    """What happened to the plan during a run: changes in words, and what was set aside."""

    changes: tuple[str, ...] = ()
    warning: str | None = None


def watch_agent(transaction: Transaction, run: Run) -> None:
    """Keep what is compared once the agent of this run has ended, unless it is kept for another at work."""
    transaction.begin_watch(run)
    if transaction.plan_backup() is None:
        transaction.backup_plan()


def check_plan(workspace: Workspace, transaction: Transaction, run_id: RunId) -> PlanCheck:
    """Compare the plan with the last one this program knew as valid; restore that one when it must be.

    To be called under the store lock when an agent has ended, or is found dead.
    """
    known = transaction.plan_backup()
    if known is None:
        return PlanCheck()
    replacement, restored = transaction.plan_replacement(), "and the last valid plan has been restored"
    if replacement is not None:
        aside = _set_aside(workspace, transaction, run_id, known)
        what = f"the plan file was replaced by {replacement} during the run; that is kept as {aside}"
        return PlanCheck(warning=f"{what}, {restored}")
    now = workspace.store.plan_bytes()
    if now is None:
        transaction.restore_plan(known)
        return PlanCheck(warning="the plan file was deleted during the run; it has been restored")
    if now == known:
        return PlanCheck()
    try:
        after = transaction.plan()
    except InvalidPlanError as error:
        aside = _set_aside(workspace, transaction, run_id, known)
        what = f"the plan was made invalid during the run ({error.faults[0]}); it is kept as {aside}"
        return PlanCheck(warning=f"{what}, {restored}")
    return PlanCheck(describe_changes(parse_plan(known, "the plan before the run"), after))


def _set_aside(workspace: Workspace, transaction: Transaction, run_id: RunId, known: bytes) -> str:
    """Put the last valid plan in the place of what is there; name where that is now, from the top."""
    aside = transaction.quarantine_plan(run_id, known)
    return shell_word(os.path.relpath(aside, workspace.repo.top))


def settle_plan(workspace: Workspace, transaction: Transaction) -> None:
    """Forget a plan kept for a run that is closed; should the file be gone, restore it first.

    For when no agent works: a crash just after a record was closed leaves such a copy behind.
    """
    known = transaction.plan_backup()
    if known is not None:
        if transaction.plan_replacement() is None and workspace.store.plan_bytes() is None:
            transaction.restore_plan(known)
        transaction.drop_plan_backup()


NOT_WATCHED = (
    "what was written among the records during the run is not known: "
    "the notes on it were removed from the git directory"
)
_MAX_NAMED = 8


def found_notices(workspace: Workspace, found: WatchEnd | None, task_id: TaskId | None) -> list[Notice]:
    """Name each file that counts for nothing, that stops its task, or that is gone."""
    if found is None:
        return []
    kinds: tuple[list[tuple[str, str | None]], ...] = (
        [(f"record ignored: {record.path}: {record.what}", record.command) for record in found.unconfirmed],
        [
            (f"record blocks its task: {record.path}: {record.what}", record.hint)
            for record in found.rewritten
        ],
        [(f"a record was removed while an agent worked: {path}", None) for path in found.removed],
    )
    texts: list[tuple[str, str | None]] = []
    for kind in kinds:
        texts += kind[:_MAX_NAMED]
        if len(kind) > _MAX_NAMED:
            texts.append((f"and {len(kind) - _MAX_NAMED} more among the records", "git blackbird status"))
    top = f"{workspace.paths.state_root}/"
    return [Notice(Level.WARNING, text.replace(top, ""), hint, task_id) for text, hint in texts]


def settle_watch(workspace: Workspace, ui: UserInterface) -> None:
    """Stop noting what is written, now that no agent is at work, and name what was found."""
    if not workspace.store.ledger.is_watching():
        return
    with workspace.transaction() as transaction:
        found = transaction.end_watch()
    for notice in found_notices(workspace, found, None):
        ui.notify(notice)


def start_tracking(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Let the hook note who commits what from now on; a run does not fail for want of that."""
    try:
        mark_active(workspace.repo)
    except OSError as error:
        warn(ui, f"commits of run {run.id} may be attributed to a person: {error.strerror}", run.task_id)


def list_tracked(workspace: Workspace, ui: UserInterface, run: Run) -> tuple[str, ...]:
    """Return the commits of a run, oldest first."""
    try:
        return list_commits(workspace.repo, run.id)
    except OSError as error:
        warn(ui, f"the commits of run {run.id} are not known: {error.strerror}", run.task_id)
        return ()


def stop_tracking(workspace: Workspace) -> None:
    """End what ``start_tracking`` began, once the record is closed; there may be nothing to end."""
    try:
        unmark_active(workspace.repo)
    except OSError as error:
        message = f"cannot clean up {workspace.repo.private_dir}: {error.strerror}"
        raise UnusableError(message, hint="make it writable, then repeat the command") from error

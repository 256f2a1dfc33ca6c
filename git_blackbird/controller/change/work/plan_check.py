"""What became of the plan file while an agent worked."""

from git_blackbird.controller.core.plan_edits import edits_at_work, hold_edits, undecided_edits
from git_blackbird.controller.core.workspace import Workspace, shorten_path
from git_blackbird.model.run.run import Run
from git_blackbird.storage.plan_file import InvalidPlanError
from git_blackbird.storage.store import Transaction


def check_plan(
    workspace: Workspace, transaction: Transaction, run: Run
) -> tuple[tuple[str, ...], str | None]:
    """Compare the plan file with what counts of it; restore the last valid plan when it must be.

    Edits wait for the decision on the run. Where there is none on such a run, they are set aside.
    """
    known = transaction.plan_backup()
    if known is None:
        return (), None
    replacement = transaction.plan_replacement()
    if replacement is None and transaction.plan_bytes() is None:
        transaction.restore_plan(known)
        return (), "the plan file was deleted during the run; it has been restored"
    try:
        changes = () if replacement is not None else edits_at_work(transaction)
    except InvalidPlanError as error:
        fault = f"the plan was made invalid during the run ({error.faults[0]}); it"
        return (), _set_aside(workspace, transaction, run, known, fault)
    if replacement is not None:
        fault = f"the plan file was replaced by {replacement} during the run; that"
        return (), _set_aside(workspace, transaction, run, known, fault)
    if changes and not _is_decided_on(workspace, run):
        known = workspace.store.renderer.render(transaction.plan())
        return (), _set_aside(workspace, transaction, run, known, "the plan was edited during the run; that")
    if changes:
        hold_edits(workspace.store, transaction, run.task_id, run.id)
    return changes, None


def _set_aside(workspace: Workspace, transaction: Transaction, run: Run, counting: bytes, fault: str) -> str:
    """Put the plan that counts in the place of what is there; return what is to be said of that."""
    aside = shorten_path(workspace, str(transaction.quarantine_plan(run.id, counting)))
    return f"{fault} is kept as {aside}, and the last valid plan has been restored"


def _is_decided_on(workspace: Workspace, run: Run) -> bool:
    """Whether a decision on the change of a run may follow."""
    stored = workspace.store.records.history(run.task_id).find(run.id) or run
    return not (run.is_review or run.is_superseded or stored.is_superseded)


def drop_stale_plan_backup(workspace: Workspace) -> None:
    """Drop the backup of the plan of a closed run; if the plan file is gone, restore it first.

    For when no agent works: a crash just after a record was closed leaves such a copy behind, and in the plan
    file the edits that wait with that run.
    """
    with workspace.transaction() as transaction:
        known = transaction.plan_backup()
        if known is None:
            return
        if transaction.plan_replacement() is None and transaction.plan_bytes() is None:
            transaction.restore_plan(known)
        held = undecided_edits(workspace.store)
        if held is None:
            transaction.drop_plan_backup()
        else:
            hold_edits(workspace.store, transaction, held.task_id, held.run_id)
            transaction.renew_plan_backup()

"""The plan while an agent works: what it changed past the store lock is shown, what it broke is set aside."""

from dataclasses import dataclass

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.plan.graph import describe_changes
from git_blackbird.storage.plan_file import InvalidPlanError, parse_plan
from git_blackbird.storage.store import Transaction


@dataclass(frozen=True)
class PlanCheck:
    """What happened to the plan during a run: changes in words, and what was set aside."""

    changes: tuple[str, ...] = ()
    warning: str | None = None


def check_plan(transaction: Transaction, run_id: RunId) -> PlanCheck:
    """Compare the plan with the last one this program knew as valid; restore that one when it must be.

    To be called under the store lock when an agent has ended, or is found dead.
    """
    known = transaction.plan_backup()
    if known is None:
        return PlanCheck()
    replacement = transaction.plan_replacement()
    if replacement is None and transaction.plan_bytes() == known:
        return PlanCheck()
    if replacement is not None:
        aside = transaction.quarantine_plan(run_id, known)
        return PlanCheck(
            warning=f"the plan file was replaced by {replacement} during the run; "
            f"that is kept as {aside.name}, and the last valid plan has been restored"
        )
    try:
        after: Plan | None = transaction.plan_if_there()
        fault = None
    except InvalidPlanError as error:
        after, fault = None, str(error.faults[0])
    if after is not None:
        return PlanCheck(describe_changes(parse_plan(known, "the plan before the run"), after))
    if fault is None:
        transaction.restore_plan(known)
        return PlanCheck(warning="the plan file was deleted during the run; it has been restored")
    aside = transaction.quarantine_plan(run_id, known)
    return PlanCheck(
        warning=f"the plan was made invalid during the run ({fault}); "
        f"it is kept as {aside.name}, and the last valid plan has been restored"
    )


def settle_plan(transaction: Transaction) -> None:
    """Forget a plan kept for a run that is closed; should the file be gone, restore it first.

    For when no agent works: a crash just after a record was closed leaves such a copy behind.
    """
    known = transaction.plan_backup()
    if known is None:
        return
    if transaction.plan_replacement() is None and transaction.plan_bytes() is None:
        transaction.restore_plan(known)
    transaction.drop_plan_backup()

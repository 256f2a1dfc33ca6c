"""Changes that are committed without a decision, since they passed the check."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.run.parts import CheckOutcome, LandingDue
from git_blackbird.model.run.run import Run


def after_verdicts(workspace: Workspace, run: Run, now: str) -> Run:
    """Return a record whose check and reviews leave it to a person only where that was required before.

    The commit of a change that was made in the user's worktree is due in the same save.
    """
    if run.decision_required:
        return run.awaiting_decision(now)
    is_due = workspace.commits_checked and run.is_in_place and has_passed(run)
    return run.updated(landing=LandingDue()) if is_due else run


def has_passed(run: Run) -> bool:
    """Whether the change passed the user's check."""
    return run.check is not None and run.check.outcome is CheckOutcome.PASSED

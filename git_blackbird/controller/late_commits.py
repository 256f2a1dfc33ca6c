"""Recording commits without letting one wait: what cannot be recorded at once is kept for the next call."""

from git_blackbird.controller.manual_runs import record_commit
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import LockedError
from git_blackbird.storage.late_commits import LateCommit, drop_late, keep_late, list_late
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS

# Who commits should not notice it.
_HOOK_PATIENCE_SECONDS = 0.5


def record_or_keep(workspace: Workspace, oid: str, replaced: str | None) -> tuple[str, ...]:
    """Record a commit, and those before it that were kept; where that would take long, keep this one as well.

    Gives a line for each. Raises UnusableError.
    """
    try:
        before = record_late(workspace, _HOOK_PATIENCE_SECONDS)
        return before + record_commit(workspace, oid, replaced, _HOOK_PATIENCE_SECONDS)
    except LockedError as error:
        keep_late(workspace.layout, LateCommit(oid, replaced))
        way = "the next `git blackbird decide` or `execute` records it"
        return (f"commit {oid[:10]} is not recorded yet: {error.message}; {way}",)


def record_late(workspace: Workspace, patience: float = STORE_PATIENCE_SECONDS) -> tuple[str, ...]:
    """Record the commits that were kept; gives a line for each.

    Raises UnusableError, LockedError; what is not recorded then stays kept.
    """
    said: list[str] = []
    for late in list_late(workspace.layout):
        said += record_commit(workspace, late.oid, late.replaced, patience)
        drop_late(workspace.layout, late.oid)
    return tuple(said)

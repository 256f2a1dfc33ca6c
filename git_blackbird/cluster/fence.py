"""Start each run at most once: whoever sets its reference on the remote first makes it."""

from git_blackbird.cluster.orders import RunRefs
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.core.process import GitError, revisions
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.remote_refs import fetch, list_refs, push
from git_blackbird.model.base.timestamps import SECOND

HOME = "/home"
"""Has a run that no worker is to begin; no name of a worker has a slash."""


class FencedError(RequestError):
    """The run was started before, or given up: no agent starts for it."""


def claim(workspace: Workspace, remote: str, run_id: str, who: str) -> str:
    """Claim a run on the remote, and return the commit that says so. Raises FencedError, GitError."""
    repo, now, ref = workspace.repo, workspace.environment.now(), RunRefs.of(run_id).fence
    nonce = workspace.environment.random_bits(64)
    mine = write_commit(repo, TreeStore(repo).save({}), (), f"{who} {nonce:016x}\n", now // SECOND)
    try:
        push(repo, remote, {ref: mine}, {ref: ""})
    except GitError:
        # The push may have succeeded although its reply was lost.
        there = list_refs(repo, remote, ref).get(ref)
        if there is None:
            raise
        if there != mine:
            raise FencedError(f"run {run_id} was started before, or given up") from None
    return mine


def owner(workspace: Workspace, remote: str, run_id: str) -> str | None:
    """Return the worker that owns a run, or ``HOME``; None while nobody does. Raises GitError."""
    ref = RunRefs.of(run_id).fence
    if ref not in list_refs(workspace.repo, remote, ref):
        return None
    fetch(workspace.repo, remote, [ref])
    subject = workspace.repo.git("log", "-1", "--format=%s", *revisions(ref)).answer("replace")
    return subject.rpartition(" ")[0]

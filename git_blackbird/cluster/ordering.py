"""Order a run: send its files to the remote, and let Dask choose the worker."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from git_blackbird.agents.protocol import Assignment
from git_blackbird.cluster.orders import RunOrder, RunRefs, write_order
from git_blackbird.cluster.worker import AGENT, make_here, resource_of
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.remote_refs import push, without_login
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.config.keys import Value
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.run.run import Run
from git_blackbird.storage.notes import RunKey, save_key

if TYPE_CHECKING:
    from distributed import Client, Future

_KEY_BITS = 256


class NotSentError(RequestError):
    """The remote does not take the files of a run."""


def send_base(workspace: Workspace, run: Run, assignment: Assignment, remote: str) -> RunOrder:
    """Push the files that an agent is to find, and return the order. Raises NotSentError."""
    repo, now = workspace.repo, workspace.environment.now()
    at = head(repo).commit
    message = f"What {run.task_id} begins with\n"
    parents = () if at is None else (at,)
    base = write_commit(repo, run.base_tree or "", parents, message, now // SECOND)
    try:
        push(repo, remote, {RunRefs.of(run.id).base: base})
    except GitError as error:
        raise NotSentError(f"its files cannot be sent to the workers: {error.message}") from error
    key = RunKey(f"{workspace.environment.random_bits(_KEY_BITS):0{_KEY_BITS // 4}x}", base)
    save_key(workspace.paths, run.id, key)
    settings = tuple(_portable_settings(workspace))
    return RunOrder(without_login(remote), base, assignment, settings, key.key)


def submit(client: "Client", order: RunOrder, pinned: str | None) -> "Future[Any]":
    """Let a worker that can start the agent make the run, or the one that it is ``pinned`` to."""
    return client.submit(
        make_here,
        write_order(order),
        key=f"blackbird-{order.assignment.run_id}",
        resources={AGENT: 1, resource_of(order.assignment.agent): 1},
        workers=None if pinned is None else [pinned],
        allow_other_workers=False,
        retries=0,
        pure=False,
    )


def _portable_settings(workspace: Workspace) -> Iterator[tuple[str, Value | None]]:
    """Yield the settings, except programs and paths of this machine."""
    for name, setting in workspace.settings.applied.items():
        if setting.layer is not Layer.DEFAULT and setting.key.row.own != "machine":
            yield name, setting.value

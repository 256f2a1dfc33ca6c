"""What home sends for a run, through the remote and Dask, and what it brings home of it."""

import hmac
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from git_blackbird.agents.protocol import Assignment
from git_blackbird.cluster.orders import RunEnd, RunOrder, RunRefs, read_end, signature, write_order
from git_blackbird.cluster.unsent import END, FILES, SETUP, SIGNATURE, STDERR, STDOUT
from git_blackbird.cluster.worker import AGENT, make_here, resource_of
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import LOG_BYTES, log_paths
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import head, open_libgit2, using_objects
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import is_our_commit, write_commit
from git_blackbird.git.worktree.log import commit_parts
from git_blackbird.git.worktree.remote_refs import fetch_checked, list_refs, push, without_login
from git_blackbird.git.worktree.saved_trees import keep_commit
from git_blackbird.git.writing.write_back import take_signatures, write_all_paths
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.config.keys import Value
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import write_private
from git_blackbird.storage.notes import RunKey, load_key, save_key

if TYPE_CHECKING:
    from distributed import Client, Future

_KEY_BITS = 256
# The most that is read of a run's end, and of the output of a set-up.
_MOST_BYTES = 64 << 20


class NotSentError(RequestError):
    """The remote does not take the files of a run."""


class UnreadableEndError(UnusableError):
    """The end of a run on a cluster cannot be read, or was not signed by its worker."""


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
    """Submit a run to the workers that can start its agent, or to the ``pinned`` one alone."""
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


def fetch_end(workspace: Workspace, run: Run, remote: str) -> RunEnd | None:
    """Bring home the end of a run, its files into its worktree; None while it has not ended.

    Raises GitError, UnreadableEndError, WriteBackError if the files cannot be written into its worktree.
    """
    ref = RunRefs.of(run.id).end
    if ref not in list_refs(workspace.repo, remote, ref):
        return None
    try:
        fetch_checked(workspace.repo, remote, ref)
    except GitError as error:
        if b"fsck" not in error.stderr and b"bad object" not in error.stderr:
            raise
        raise UnreadableEndError(f"git refuses its objects: {error.message}") from error
    try:
        commit = _verified(workspace, run, ref)
        tree, (_, *made) = commit_parts(workspace.repo, commit)
        brought = _ReceivedTree(workspace, tree)
        end, files = read_end(brought.read(END)), brought.entries[FILES].oid
        paths = frozenset(brought.trees.changed_paths(run.base_tree or files, files))
    except (BlackbirdError, KeyError, ValueError) as error:
        raise UnreadableEndError(str(getattr(error, "message", error))) from error
    if run.base_tree is not None and run.base_tree != files:
        # What the agent changed goes into the worktree of its task here.
        expected = take_signatures(workspace.repo, paths)
        seconds = float(workspace.config.snapshot.timeout_seconds)
        write_all_paths(workspace.repo, run.base_tree, files, expected, timeout_seconds=seconds)
    for name, path in zip((STDOUT, STDERR), log_paths(workspace.paths, run), strict=True):
        if name in brought.entries:
            write_private(path, brought.read(name, LOG_BYTES))
    if SETUP in brought.entries:
        write_private(workspace.paths.setup_log(run.task_id), brought.read(SETUP))
    for made_there in made:
        with using_objects(workspace.repo):
            is_ours = is_our_commit(open_libgit2(workspace.repo), made_there)
        if not is_ours:
            keep_commit(workspace.repo, run.id, made_there)
    return end


def _verified(workspace: Workspace, run: Run, ref: str) -> str:
    """Return the commit that brings a run home, if its worker signed it. Raises UnreadableEndError."""
    tree, (commit, *_) = commit_parts(workspace.repo, ref)
    signed, key = _ReceivedTree(workspace, tree).read(SIGNATURE), load_key(workspace.paths, run.id)
    if key is None:
        raise UnreadableEndError("this repository has no key for the run")
    if not hmac.compare_digest(signed, signature(key.key, run.id, key.base, commit).encode()):
        raise UnreadableEndError("it is not signed by the worker that has the run")
    return commit


class _ReceivedTree:
    def __init__(self, workspace: Workspace, tree: str) -> None:
        self.trees = TreeStore(workspace.repo)
        self.entries = self.trees.load(tree)

    def read(self, name: bytes, most: int = _MOST_BYTES) -> bytes:
        """Return the content of a file of at most so many bytes. Raises KeyError, UnusableError."""
        return self.trees.content(self.entries[name].oid, most)

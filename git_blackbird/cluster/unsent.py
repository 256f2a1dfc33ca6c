"""What a worker sends home of a run: its files, its logs and its result in a commit."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.agents.process.logs import LogFiles, cut_saved, mask_saved
from git_blackbird.cluster.orders import (
    FencedError,
    RunEnd,
    RunOrder,
    RunRefs,
    read_order,
    signature,
    write_end,
    write_order,
)
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import LOG_BYTES, log_files
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import head
from git_blackbird.git.core.trees import DIRECTORY, REGULAR, TreeEntry, TreeStore
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.linked import find_task_worktree
from git_blackbird.git.worktree.log import commit_parts
from git_blackbird.git.worktree.remote_refs import list_refs, push
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.storage.files import write_private

FILES, END, STDOUT, STDERR, SETUP = b"files", b"end.json", b"stdout", b"stderr", b"setup.log"
SIGNATURE = b"signature"


@dataclass
class UnsentRun:
    """A run that this worker has begun and not sent home yet, in a file that outlives the worker.

    ``fence`` is the commit by which it has the run, ``end`` the one to be sent, once there is one.
    """

    file: Path
    order: RunOrder
    fence: str
    end: str | None = None

    def save(self) -> None:
        """Write the file. Raises SaveError."""
        told = {"order": json.loads(write_order(self.order)), "fence": self.fence, "end": self.end}
        write_private(self.file, json.dumps(told).encode())

    @classmethod
    def load(cls, file: Path) -> "UnsentRun":
        """Read the file. Raises UnusableError, OSError, ValueError."""
        told = json.loads(file.read_bytes())
        return cls(file, read_order(json.dumps(told["order"]).encode()), told["fence"], told["end"])


def unsent_run_file(workspace: Workspace, run_id: str) -> Path:
    return workspace.paths.state_root.parent / "runs" / f"{run_id}.json"


def send_end(workspace: Workspace, kept: UnsentRun) -> None:
    """Push the end of a run, if this worker still owns it. Raises GitError, FencedError."""
    refs, order = RunRefs.of(kept.order.assignment.run_id), kept.order
    commits = {refs.end: kept.end or "", refs.fence: kept.fence}
    try:
        push(workspace.repo, order.remote, commits, {refs.fence: kept.fence})
    except GitError:
        if list_refs(workspace.repo, order.remote, refs.fence).get(refs.fence) != kept.fence:
            raise FencedError(f"run {order.assignment.run_id} is no longer this worker's") from None
        raise


def logs_of(workspace: Workspace, order: RunOrder) -> LogFiles:
    task_id, run_id = TaskId(order.assignment.task_id), RunId(order.assignment.run_id)
    stdout, stderr = (workspace.paths.stream(task_id, run_id, name) for name in ("stdout", "stderr"))
    return log_files(workspace, stdout, stderr)


def end_commit(workspace: Workspace, order: RunOrder, end: RunEnd) -> str:
    """Write the commit that brings a run home: its files, its logs and its result."""
    repo = workspace.repo
    trees = TreeStore(repo)
    files, _ = commit_parts(repo, order.base)
    made = tuple[str, ...]()
    found = find_task_worktree(repo, order.assignment.task_id)
    linked = None if found is None else found.repo
    if linked is not None and end.ended is not None:
        taken = snapshot(workspace.in_worktree(linked), since=files)
        files = taken.tree
        notes = tuple(f"not in the snapshot: {skipped.path} ({skipped.reason})" for skipped in taken.left_out)
        end = replace(end, notes=(*end.notes, *notes))
        at = head(linked).commit
        made = () if at is None else (at,)
    entries = {FILES: TreeEntry(DIRECTORY, files), END: _blob(trees, write_end(end))}
    logs, setup = logs_of(workspace, order), workspace.paths.setup_log(TaskId(order.assignment.task_id))
    for log in (logs.stdout, logs.stderr):
        cut_saved(log, LOG_BYTES)
        mask_saved(log, logs.redactor)
    for name, log in ((STDOUT, logs.stdout), (STDERR, logs.stderr), (SETUP, setup)):
        if log.exists() and (log != setup or not end.is_set_up):
            entries[name] = _blob(trees, log.read_bytes())
    now = workspace.environment.now() // SECOND
    run_id = order.assignment.run_id
    end_of_run = write_commit(
        repo, trees.save(entries), (order.base, *made), f"The end of run {run_id}\n", now
    )
    signed = _blob(trees, signature(order.key, run_id, order.base, end_of_run).encode())
    return write_commit(repo, trees.save({SIGNATURE: signed}), (end_of_run,), "Signed\n", now)


def _blob(trees: TreeStore, data: bytes) -> TreeEntry:
    return TreeEntry(REGULAR, trees.save_file(data))

"""Bringing home what a run on a worker left: its files, its logs, and how it ended."""

from git_blackbird.controller.cluster.orders import RunEnd, RunRefs, read_end
from git_blackbird.controller.cluster.remote_run import END, FILES, SETUP, STDERR, STDOUT, commit_parts
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.agent_process import log_paths
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.linked import is_made_here
from git_blackbird.git.worktree.remote_refs import fetch, list_refs
from git_blackbird.git.worktree.saved_trees import keep_commit
from git_blackbird.git.worktree.write_back import take_signatures, write_all_paths
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.files import write_private


def fetch_end(workspace: Workspace, run: Run, remote: str) -> RunEnd | None:
    """Bring the end of a run home, its files into its worktree; None while there is none.

    Raises GitError, MessageError, WriteBackError where its worktree cannot have its files.
    """
    ref = RunRefs.of(run.id).end
    if ref not in list_refs(workspace.repo, remote, ref):
        return None
    fetch(workspace.repo, remote, [ref])
    trees = TreeStore(workspace.repo)
    tree, (_, *made) = commit_parts(workspace.repo, ref)
    entries = trees.load(tree)
    if FILES not in entries or END not in entries:
        raise UnusableError(f"{ref} is not the end of a run")
    end = read_end(trees.objects.read(entries[END].oid)[1])
    _write_files(workspace, run, entries[FILES].oid)
    logs = (*log_paths(workspace.paths, run), workspace.paths.setup_log(run.task_id))
    for name, path in zip((STDOUT, STDERR, SETUP), logs, strict=True):
        if name in entries:
            write_private(path, trees.objects.read(entries[name].oid)[1])
    for commit in made:
        _keep_commits(workspace.repo, run, commit)
    return end


def _write_files(workspace: Workspace, run: Run, head: str) -> None:
    """Write what the agent changed into the worktree of its task here."""
    repo, base = workspace.repo, run.base_tree
    if base is None or base == head:
        return
    expected = take_signatures(repo, TreeStore(repo).changed_paths(base, head))
    seconds = float(workspace.config.snapshot.timeout_seconds)
    write_all_paths(repo, base, head, expected, timeout_seconds=seconds)


def _keep_commits(repo: Repository, run: Run, commit: str) -> None:
    """Keep what the agent committed there, under the name of its run."""
    with using_objects(repo):
        is_ours = is_made_here(open_libgit2(repo), commit)
    if not is_ours:
        keep_commit(repo, run.id, commit)

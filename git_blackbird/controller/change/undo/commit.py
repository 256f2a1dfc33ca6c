"""The commit that an undo or a redo makes where the branch has commits of the change."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from git_blackbird.controller.change.commit.carried import follow_commit, follow_in_staged_plan, with_status
from git_blackbird.controller.change.work.watch import moved_branch, own_writes
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import own_commits
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import Carrier, changed_paths, without_paths
from git_blackbird.git.change.parts import without_change
from git_blackbird.git.commit.create import CommitRefusedError, IndexUpdateError, commit_in_subprocess
from git_blackbird.git.commit.plan import plan_commit
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.log import commit_of_run, commit_parts, commits_in_head, find_commit, tree_of
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.commits import render_undo_message, undo_mark
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, RunType, Verb
from git_blackbird.model.run.summary import Trees
from git_blackbird.storage.locks import approval_lock


class UndoCommit(NamedTuple):
    """The commit that was made for it, or why none was; ``is_refused`` by git or a hook.

    ``behind`` is why the index does not follow it; with ``is_locked`` it can later.
    """

    oid: str | None = None
    why_not: str | None = None
    is_refused: bool = False
    behind: str | None = None
    is_locked: bool = False


NO_COMMIT = UndoCommit()


@dataclass(frozen=True)
class UndoCommitter:
    """Commits what was taken back of these runs, or brought back; the record of ``marked`` notes it.

    ``others`` are commits by which other tasks were taken back, with what this one had to leave. One that
    ``goes_on`` may have been cut off after its commit.
    """

    workspace: Workspace
    task: Task
    runs: Sequence[Run]
    marked: Run
    verb: Verb
    others: Collection[str]
    goes_on: bool

    def commit(
        self, written: Trees, latest: Run, after: Callable[[Run, str], Run], *, is_whole: bool
    ) -> UndoCommit:
        """Commit the undo if the branch has commits of the change; say why if that fails.

        ``after`` is what the record of the task's latest run will be at a time, for the status in the plan.
        """
        workspace, run_id = self.workspace, self.marked.id
        wanted = self._to_commit(written)
        if wanted.is_empty:
            return NO_COMMIT
        again = TaskCommand(VERBS[self.verb].command, self.task.id)
        if not is_whole:
            why = Sentence("some files could not be written; ", again, " tries again")
            return UndoCommit(why_not=why, is_refused=True)
        plan = plan_commit(workspace.repo, wanted, wanted.head)
        mark = undo_mark(self.verb, run_id)
        if not plan.edits and not plan.obstacles and self.goes_on:
            made = commit_of_run(workspace.repo, mark, self.marked.start_commit)
            return NO_COMMIT if made is None else _update_index(workspace, made)
        if plan.obstacles or not plan.edits:
            return UndoCommit(why_not="; ".join(plan.obstacles) or None)
        plan = with_status(workspace, plan, latest, after)
        message = render_undo_message(self.verb, self.task, run_id)
        try:
            moved = moved_branch(plan.head)
            with approval_lock(workspace.paths, run_id) as right, own_writes(workspace, *moved):
                created = commit_in_subprocess(workspace.repo, plan, message, mark, right)
        except CommitRefusedError as error:
            why = Sentence(error.message, "\n", again, " tries again")
            return UndoCommit(why_not=why, is_refused=True)
        created = follow_in_staged_plan(workspace, plan.base_tree, created)
        is_locked = created.left_behind is not None and not created.is_final
        return UndoCommit(created.oid, behind=created.left_behind, is_locked=is_locked)

    def _to_commit(self, written: Trees) -> Trees:
        """Return the part to commit: not what a person did; a redo commits only what a commit took back."""
        repo, nothing = self.workspace.repo, Trees(written.head, written.head)
        if VERBS[self.verb].takes_back:
            if not self._is_in_head():
                return nothing
            return without_paths(repo, self._as_in(head(repo).commit, written), self._paths_of_persons())
        made = self.marked.undo_commit
        if made is None and self.goes_on:
            made = commit_of_run(repo, undo_mark(Verb.UNDO, self.marked.id), self.marked.start_commit)
        if made is None or find_commit(repo, made) is None:
            return nothing
        carrier, committed = Carrier(repo), frozenset[bytes]()
        for commit in {made, *self.others}:
            if find_commit(repo, commit) is not None:
                committed |= carrier.changed_by(find_commit(repo, f"{commit}^"), commit)
        uncommitted = (changed_paths(repo, written) - committed) | self._paths_of_persons()
        return without_paths(repo, self._as_in(find_commit(repo, f"{made}^"), written), uncommitted)

    def _as_in(self, commit: str | None, written: Trees) -> Trees:
        """Return what was written with what a commit has of the files that were approved in part."""
        repo = self.workspace.repo
        tree = None if commit is None else tree_of(repo, commit)
        for run in self.runs:
            if run.is_in_place and run.decided_in_part and run.shown and run.head_tree and tree:
                left = Trees(run.shown.head, run.head_tree)
                others = changed_paths(repo, left) & changed_paths(repo, Trees(tree, left.base))
                left = without_paths(repo, left, others)
                written = Trees(*(without_change(repo, each, left) for each in written))
        return written

    def _paths_of_persons(self) -> frozenset[bytes]:
        return self._paths(is_persons=True) - self._paths(is_persons=False)

    def _paths(self, *, is_persons: bool) -> frozenset[bytes]:
        runs = (run for run in self.runs if (run.run_type is RunType.MANUAL) is is_persons)
        pairs = (run.change_in_place or run.landing_pair for run in runs)
        return frozenset[bytes]().union(
            *(changed_paths(self.workspace.repo, pair) for pair in pairs if pair is not None)
        )

    def _is_in_head(self) -> bool:
        repo, began = self.workspace.repo, min(self.runs, key=lambda run: run.sort_key).start_commit
        made = (run for run in self.runs if run.run_type is not RunType.MANUAL)
        own = frozenset[str]().union(*(own_commits(self.workspace, run) for run in made))
        if commits_in_head(repo, own, began):
            return True
        # That of a killed approval is in no record.
        return any(commit_of_run(repo, run.id, began) for run in self.runs)


def _update_index(workspace: Workspace, commit: str) -> UndoCommit:
    tree, (parent, *_) = commit_parts(workspace.repo, commit)
    try:
        follow_commit(workspace, tree_of(workspace.repo, parent), tree)
    except UnusableError as error:
        return UndoCommit(commit, behind=error.message, is_locked=not isinstance(error, IndexUpdateError))
    return UndoCommit(commit)

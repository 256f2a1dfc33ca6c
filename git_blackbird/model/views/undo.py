"""The result of an undo or a redo."""

from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import Sentence
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Verb
from git_blackbird.model.run.summary import KeptPath, Summary


class UndoResult(NamedTuple):
    """What was taken back, or as ``verb`` says brought back.

    ``summary`` is what that changed in the worktree, ``kept`` the paths that stay as they are. ``dependents``
    are tasks that ran after this one and depend on it. ``completes`` are undos and redos of others that had
    left something which is done with it. ``commit`` is the commit that was made for it;
    ``uncommitted`` says why there is none though the change was committed, ``behind`` why the index does not
    follow it. ``is_whole`` is False where a file or the index could not be written, or a redo left something:
    the next execute, or the same command, completes it.
    """

    task: Task
    run: Run
    verb: Verb
    summary: Summary
    kept: tuple[KeptPath, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    completes: tuple[str, ...] = ()
    commit: str | None = None
    uncommitted: str | None = None
    behind: str | None = None
    is_dry_run: bool = False
    is_whole: bool = True

    @property
    def remarks(self) -> Iterator[str]:
        yield from (f"left as it is: {kept.path}: {kept.reason}" for kept in self.kept)
        yield from self.warnings

    @property
    def warnings(self) -> Iterator[str]:
        if self.uncommitted is not None:
            yield Sentence("this is in the worktree only, not committed: ", self.uncommitted)
        if self.behind is not None:
            yield f"the index was not updated for the commit: {self.behind}"

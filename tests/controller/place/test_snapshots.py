"""When a run begins with the snapshot with which the one before it ended, and when with one of its own."""

from dataclasses import dataclass
from pathlib import Path

from git_blackbird.controller.place.snapshots import EndSnapshot, snapshot
from git_blackbird.git.worktree.log import log_size
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.views.checkpoint import Checkpoint
from tests.controller.support import (
    APPROVE,
    Person,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
)
from tests.support import commit, git, write


def test_it_counts_once_and_at_once_while_nothing_else_happens(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    workspace, now = open_at(repo), [0.0]
    end, taken = EndSnapshot(lambda: now[0]), snapshot(workspace)

    def keep() -> None:
        end.keep(workspace, taken, log_size(workspace.repo.git_dir))

    assert end.take(workspace) is None
    keep()
    now[0] = 0.1
    assert end.take(workspace) == taken
    assert end.take(workspace) is None
    keep()
    now[0] = 60.0
    assert end.take(workspace) is None
    keep()
    end.drop()
    assert end.take(workspace) is None
    keep()
    git(repo, "commit", "--allow-empty", "-qm", "by a person")
    assert end.take(workspace) is None


def test_what_is_ignored_by_now_is_in_no_further_change(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    write(repo, {"built.o": "before\n"})
    workspace, end = open_at(repo), EndSnapshot(lambda: 0.0)
    before = snapshot(workspace)
    write(repo, {".gitignore": "*.o\n"})
    after = snapshot(workspace, since=before.tree)
    assert after.has_unlisted
    assert after.tree != snapshot(workspace).tree
    end.keep(workspace, after, 0)
    assert end.take(workspace) is None


@dataclass
class Editor(Person):
    """Someone who edits a file at each checkpoint, before the answer."""

    repo: Path = Path()

    async def decide(self, checkpoint: Checkpoint) -> Reply | None:
        write(self.repo, {"mine.txt": f"written at {checkpoint.task.id}\n"})
        return APPROVE


def test_what_a_person_writes_between_two_runs_is_in_neither_change(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("first"), leaf("second"))
    configure(
        repo,
        agent="command",
        command__run='echo more >>"$BLACKBIRD_TASK_ID.txt"',
        execution__stopAfterEachTask="true",
        execution__commit="never",
    )
    execute(repo, Editor(repo=repo))
    ((first,), (second,)) = runs_of(repo, "first"), runs_of(repo, "second")
    for run, name in (first, "first.txt"), (second, "second.txt"):
        assert git(repo, "diff", "--name-only", str(run.base_tree), str(run.head_tree)).split() == [name]
    assert git(repo, "show", f"{second.base_tree}:mine.txt") == "written at first"

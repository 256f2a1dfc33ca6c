"""A redo commits what commits took back, whichever task's undo had made them."""

from pathlib import Path

from tests.support import commit, git
from tests.trial.program import Trial


def test_what_the_undo_of_another_took_back_is_committed_with_the_redo(repo: Path) -> None:
    commit(repo, {"old.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.command('echo "$BLACKBIRD_TASK_ID" | tee "$BLACKBIRD_TASK_ID.txt" >old.txt')
    trial.configure({"execution.commit": "approved", "execution.stopAfterEachTask": "true"})
    for task in ("a", "b"):
        trial.expect(3, "execute", "--no-input", task)
        trial.expect(0, "decide", task, "--approve")
    # The change of b builds on that of a in old.txt: it comes back with a, though its commit was b's.
    assert "left as it is: old.txt" in trial.expect(0, "undo", "a")
    trial.expect(0, "undo", "b")
    assert "left as it is: old.txt" in trial.expect(1, "redo", "b")
    trial.expect(0, "redo", "a")
    assert (repo / "old.txt").read_text() == "b\n"
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "show", "--format=", "--name-only", "HEAD").split() == ["a.txt", "old.txt"]

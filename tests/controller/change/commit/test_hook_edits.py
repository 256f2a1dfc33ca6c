"""A hook that mends files and refuses the commit: what it made is offered as a part of the change."""

from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.checkpoint import pending_checkpoint
from git_blackbird.messages.display.checkpoint import render_checkpoint
from tests.controller.support import open_at
from tests.git.support import script
from tests.support import commit, git, write
from tests.trial.program import Trial

# As formatters that pre-commit runs: what is staged is mended in the worktree, and not staged.
FORMATTER = """
status=0
for name in $(git diff --cached --name-only -- '*.py'); do
    grep -q ' $' "$name" && { sed -i 's/ *$//' "$name"; echo "mended $name"; status=1; }
done
exit $status
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.py": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    script(repo / ".git/hooks/pre-commit", FORMATTER)
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command(r'printf "x = 1  \n" >a.py; printf "y = 2\n" >>old.py; echo mine >mine.txt')
    return trial


PLACES = {
    "in place": {"execution.commit": "approved", "execution.stopAfterEachTask": "true"},
    "without a person": {"execution.commit": "checked", "check.command": "true"},
    "apart": {
        "execution.commit": "approved",
        "execution.stopAfterEachTask": "true",
        "execution.worktrees": "true",
        "check.command": "true",
    },
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_formatter_made_is_shown_and_committed_by_the_next_approval(trial: Trial, place: str) -> None:
    trial.configure(PLACES[place])
    trial.expect(3, "execute", "--no-input")
    if place != "without a person":
        _, said = trial.run("decide", "a", "--approve")
        assert "mended a.py" in said
    assert trial.statuses() == {"a": "waiting_user"}
    shown = "\n".join(line.text for line in render_checkpoint(pending_checkpoint(open_at(trial.repo), "a")))
    assert "the hook that refused the commit changed a.py: that is part of the change now" in shown
    assert ("its check saw it before" in shown) is (place != "in place")
    diff = trial.expect(0, "runs", "a", "--diff")
    assert "+x = 1\n" in diff
    assert "+y = 2\n" in diff
    said = trial.expect(0, "decide", "a", "--approve")
    assert "committed" in said
    assert git(trial.repo, "show", "HEAD:a.py") == "x = 1"
    assert git(trial.repo, "status", "--porcelain") == ""
    trial.expect(0, "undo", "a")
    assert not (trial.repo / "a.py").exists()
    assert (trial.repo / "old.py").read_text() == "old\n"
    trial.expect(0, "redo", "a")
    assert (trial.repo / "a.py").read_text() == "x = 1\n"


@pytest.mark.exhaustive
def test_of_a_change_in_several_runs_the_files_of_each_are_offered_and_no_others(trial: Trial) -> None:
    trial.configure(PLACES["in place"])
    write(trial.repo, {"users.py": "trailing  \n"})
    trial.expect(3, "execute", "--no-input")
    trial.command(r'printf "z = 3\n" >b.py')
    trial.expect(3, "resume", "a", "-m", "more", "--no-input")
    write(trial.repo, {"users.py": "trailing, edited  \n"})
    said = trial.expect(1, "decide", "a", "--approve")
    assert "look at what the hook made of a.py, which is part of the change now" in said
    script(trial.repo / ".git/hooks/pre-commit", "sed -i s/z/zz/ b.py; rm a.py; echo b; exit 1")
    assert "look at what the hook made of a.py, b.py" in trial.expect(1, "decide", "a", "--approve")
    (trial.repo / ".git/hooks/pre-commit").unlink()
    trial.expect(0, "decide", "a", "--approve")
    assert git(trial.repo, "show", "--name-only", "--format=").split() == ["b.py", "mine.txt", "old.py"]
    assert git(trial.repo, "show", "HEAD:b.py") == "zz = 3"
    assert git(trial.repo, "status", "--porcelain") == "?? users.py"


@pytest.mark.exhaustive
def test_what_a_person_edits_after_the_hook_is_not_taken(trial: Trial) -> None:
    trial.configure(PLACES["in place"])
    trial.expect(3, "execute", "--no-input")
    trial.expect(1, "decide", "a", "--approve")
    write(trial.repo, {"a.py": "by hand\n"})
    said = trial.expect(1, "decide", "a", "--approve")
    assert "a.py: it was edited after the run, by hand or by another task" in said
    assert "by hand" not in trial.expect(0, "runs", "a", "--diff")

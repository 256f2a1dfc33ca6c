"""Commits of changes take the status of their task in the plan along."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.storage.locks import approval_in_progress
from tests.controller.support import open_at
from tests.support import commit, git, wait_until
from tests.trial.program import Trial

PLAN = "blackbird.plan.json"


def set_up(repo: Path, statuses: str = "lasting") -> Trial:
    """A plan in git: a and b below p, c beside it; approvals commit."""
    commit(repo, {".gitignore": ".blackbird\n"})
    trial = Trial(repo)
    trial.expect(0, "init", "--no-hooks", "--statuses", statuses)
    trial.configure(
        {"agent": "demo", "execution.commit": "approved", "execution.parentReviewEnabled": "false"}
    )
    trial.expect(0, "add", "--title", "p")
    for task_id in ("a", "b"):
        trial.expect(0, "add", "--title", task_id, "--parent", "p", "--prompt", f"write {task_id}.txt x")
    trial.expect(0, "add", "--title", "c", "--prompt", "write c.txt x")
    commit_plan(trial)
    return trial


def commit_plan(trial: Trial) -> None:
    git(trial.repo, "add", PLAN)
    git(trial.repo, "commit", "-q", "-m", "plan")


@pytest.fixture
def trial(repo: Path) -> Trial:
    return set_up(repo)


def is_clean(trial: Trial) -> bool:
    return git(trial.repo, "status", "--porcelain") == ""


def committed(trial: Trial, revision: str = "HEAD") -> dict[str, str]:
    plan = json.loads(git(trial.repo, "show", f"{revision}:{PLAN}"))
    return {task: item["status"] for task, item in sorted(plan["items"].items())}


def work(trial: Trial, *tasks: str) -> None:
    for task in tasks:
        trial.expect(3, "execute", task, "--no-input")
        trial.expect(0, "decide", task, "--approve")


def test_an_approval_commits_that_its_task_is_done_and_the_parent_with_its_last(trial: Trial) -> None:
    work(trial, "a")
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    assert is_clean(trial)
    work(trial, "b")
    assert committed(trial) == {"a": "done", "b": "done", "c": "todo", "p": "done"}
    assert git(trial.repo, "show", "--name-only", "--format=%s").split() == ["b", "b.txt", PLAN]
    assert is_clean(trial)


def test_what_runs_asks_waits_or_fails_leaves_the_plan_alone(trial: Trial) -> None:
    trial.expect(0, "add", "--title", "fails", "--prompt", "fail 3")
    trial.expect(0, "add", "--title", "asks", "--prompt", "ask x Which? | 1 | 2\nanswered x d.txt")
    commit_plan(trial)
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(3, "execute", "fails", "--no-input")
    trial.expect(0, "decide", "fails", "--reject")
    trial.expect(4, "execute", "asks", "--no-input")
    assert git(trial.repo, "status", "--porcelain") == "?? a.txt"
    trial.expect(0, "decide", "a", "--approve")
    assert is_clean(trial)
    assert committed(trial)["fails"] == "todo"


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", ["--jobs=2", "--worktrees"])
def test_changes_that_land_bring_their_status(trial: Trial, place: str) -> None:
    for task in "abc":
        trial.expect(3, "execute", "--no-input", place)
        trial.expect(0, "decide", task, "--approve")
        assert committed(trial)[task] == "done"
        assert is_clean(trial)
    assert committed(trial)["p"] == "done"


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", ["--jobs=1", "--jobs=2"])
def test_changes_that_pass_the_check_bring_their_status(trial: Trial, place: str) -> None:
    trial.configure({"execution.commit": "checked", "check.command": "true"})
    trial.expect(0, "config", "--project", "execution.stopAfterEachTask", "false")
    trial.expect(0, "execute", "--no-input", place)
    assert committed(trial) == dict.fromkeys("abcp", "done")
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_a_commit_of_a_call_that_was_killed_is_recorded_at_the_time_that_it_has(trial: Trial) -> None:
    trial.configure({"execution.commit": "checked", "check.command": "true"})
    trial.expect(0, "config", "--project", "execution.stopAfterEachTask", "false")
    caller, hook = trial.repo / ".git/caller", trial.repo / ".git/hooks/post-commit"
    hook.write_text(f"#!/bin/sh\nuntil [ -s {caller} ]; do sleep 0.01; done; kill -9 $(cat {caller})\n")
    hook.chmod(0o755)
    killed = trial.start("execute", "--no-input", "c")
    caller.write_text(str(killed.pid))
    killed.communicate()
    wait_until(lambda: approval_in_progress(open_at(trial.repo).paths) is None)
    hook.unlink()
    assert (committed(trial)["c"], trial.statuses()["c"]) == ("done", "todo")
    trial.expect(0, "execute", "--no-input", "c")
    assert git(trial.repo, "log", "--format=%s", "--grep=Blackbird-Run").split() == ["c"]
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_what_was_done_without_a_commit_brings_its_status_with_a_later_one(trial: Trial) -> None:
    trial.expect(3, "execute", "c", "--no-input")
    trial.expect(0, "decide", "c", "--approve", "--no-commit")
    assert committed(trial)["c"] == "todo"
    trial.expect(0, "decide", "c", "--approve")
    assert committed(trial)["c"] == "done"
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_with_all_statuses_only_the_one_that_is_done_goes_along(repo: Path) -> None:
    trial = set_up(repo, "all")
    trial.expect(3, "execute", "c", "--no-input")
    trial.expect(0, "decide", "c", "--reject")
    trial.expect(0, "undo", "c")
    work(trial, "a")
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "failed", "p": "in_progress"}
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    work(trial, "b")
    assert committed(trial) == {"a": "done", "b": "done", "c": "todo", "p": "done"}
    assert git(trial.repo, "diff", "--stat", "HEAD").endswith("2 insertions(+), 2 deletions(-)")


def staged_and_not(trial: Trial) -> tuple[str, str]:
    """Edit the plan in the index and then in the worktree, and return the two differences."""
    trial.expect(0, "edit", "b", "--title", "staged by hand")
    git(trial.repo, "add", PLAN)
    trial.expect(0, "edit", "c", "--title", "edited by hand")
    return edits(trial)


def edits(trial: Trial) -> tuple[str, str]:
    """Return the changed lines that are staged, and those that are not."""
    both = (git(trial.repo, "diff", "-U0", *options, PLAN) for options in (["--cached"], []))
    staged, unstaged = (
        "\n".join(line for line in text.splitlines() if line[:2] in {"+ ", "- "}) for text in both
    )
    return staged, unstaged


@pytest.mark.exhaustive
def test_edits_of_the_plan_stay_staged_or_not_as_they_were(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    before = staged_and_not(trial)
    trial.expect(0, "decide", "a", "--approve")
    assert edits(trial) == before
    assert "staged by hand" in before[0]
    assert "edited by hand" in before[1]
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    trial.expect(0, "undo", "a")
    assert edits(trial) == before
    assert committed(trial)["a"] == "todo"
    trial.expect(0, "redo", "a")
    assert edits(trial) == before
    assert committed(trial)["a"] == "done"


@pytest.mark.exhaustive
def test_edits_of_the_same_task_stay_uncommitted(trial: Trial) -> None:
    trial.expect(3, "execute", "c", "--no-input")
    trial.expect(0, "edit", "c", "--title", "edited by hand")
    trial.expect(0, "decide", "c", "--approve")
    title = '      "title": "{}",'.format
    assert edits(trial) == ("", f"-{title('c')}\n+{title('edited by hand')}")
    assert committed(trial)["c"] == "done"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "command",
    [
        ["git", "rm", "-q", "--cached", PLAN],
        ["git", "update-index", "--skip-worktree", PLAN],
        ["git", "update-index", "--assume-unchanged", PLAN],
    ],
)
def test_what_git_was_told_of_the_plan_stays(trial: Trial, command: list[str]) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    git(trial.repo, *command[1:])
    before = git(trial.repo, "ls-files", "-s", "-v", PLAN)
    trial.expect(0, "decide", "a", "--approve")
    assert git(trial.repo, "ls-files", "-s", "-v", PLAN) == before


def plan_ignored(trial: Trial) -> None:
    git(trial.repo, "rm", "-q", "--cached", PLAN)
    commit(trial.repo, {".gitignore": f".blackbird\n{PLAN}\n"})


def plan_untracked(trial: Trial) -> None:
    git(trial.repo, "rm", "-q", "--cached", PLAN)
    git(trial.repo, "commit", "-q", "-m", "no plan")


def plan_staged_only(trial: Trial) -> None:
    plan_untracked(trial)
    git(trial.repo, "add", PLAN)


def plan_broken_in_git(trial: Trial) -> None:
    path = trial.repo / PLAN
    content = path.read_text()
    path.write_text(content.replace('"schemaVersion": 1', '"schemaVersion": 2'))
    git(trial.repo, "commit", "-q", "-a", "-m", "broken")
    path.write_text(content)


def plan_with_a_key_twice_in_git(trial: Trial) -> None:
    path = trial.repo / PLAN
    content = path.read_text()
    path.write_text(content.replace('"title": "c"', '"title": "old", "title": "c"'))
    git(trial.repo, "commit", "-q", "-a", "-m", "twice")
    path.write_text(content)


def plan_without_the_task_in_git(trial: Trial) -> None:
    path = trial.repo / PLAN
    content = path.read_text()
    trial.expect(0, "delete", "p", "--cascade-children")
    git(trial.repo, "commit", "-q", "-a", "-m", "without a")
    path.write_text(content)


def plan_never_committed(trial: Trial) -> None:
    git(trial.repo, "update-ref", "-d", "HEAD")
    git(trial.repo, "rm", "-q", "-r", "--cached", ".")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "make",
    [
        plan_ignored,
        plan_untracked,
        plan_staged_only,
        plan_broken_in_git,
        plan_with_a_key_twice_in_git,
        plan_without_the_task_in_git,
        plan_never_committed,
    ],
)
def test_where_git_has_no_line_to_change_the_change_alone_is_committed(
    trial: Trial, make: Callable[[Trial], None]
) -> None:
    make(trial)
    in_index = git(trial.repo, "ls-files", "-s", PLAN)
    trial.expect(3, "execute", "a", "--no-input")
    said = trial.expect(0, "decide", "a", "--approve")
    assert "(1 path)" in said
    assert git(trial.repo, "show", "--name-only", "--format=").split() == ["a.txt"]
    assert git(trial.repo, "ls-files", "-s", PLAN) == in_index
    assert trial.statuses()["a"] == "done"


def test_no_commit_is_made_for_the_status_alone(trial: Trial) -> None:
    trial.command("echo x >c.txt; git add c.txt; git commit -q -m own")
    trial.expect(3, "execute", "c", "--no-input")
    assert "nothing was left to commit" in trial.expect(0, "decide", "c", "--approve")
    assert git(trial.repo, "log", "-1", "--format=%s") == "own"
    assert git(trial.repo, "status", "--porcelain") == f" M {PLAN}"


@pytest.mark.exhaustive
def test_a_plan_that_people_wrote_is_committed_in_the_form_in_which_it_is_saved(trial: Trial) -> None:
    path = trial.repo / PLAN
    path.write_text(json.dumps(json.loads(path.read_text())))
    commit_plan(trial)
    work(trial, "c")
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_a_hook_sees_the_plan_and_may_refuse_or_change_it(trial: Trial) -> None:
    hook = trial.repo / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\ngit show :{PLAN} | grep -q '\"done\"' && exit 1\n")
    hook.chmod(0o755)
    trial.expect(3, "execute", "c", "--no-input")
    trial.expect(1, "decide", "c", "--approve")
    assert git(trial.repo, "status", "--porcelain") == "?? c.txt"
    edit = f'git show :{PLAN} | sed "s/\\"title\\": \\"a\\"/\\"title\\": \\"A\\"/" >.git/plan'
    blob = "git hash-object -w .git/plan"
    hook.write_text(f"#!/bin/sh\n{edit}\ngit update-index --cacheinfo 100644,$({blob}),{PLAN}\n")
    said = trial.expect(0, "decide", "c", "--approve")
    assert f"a hook of this repository changed what was committed: {PLAN}" in said
    title = '      "title": "{}",'.format
    assert edits(trial) == ("", f"-{title('A')}\n+{title('a')}")


@pytest.mark.exhaustive
def test_the_checkpoint_counts_the_plan(trial: Trial) -> None:
    said = trial.expect(0, "execute", "c", stdin="1\n")
    assert "Approving commits 2 paths on main, its status in the plan included" in said
    assert re.search(r"committed [0-9a-f]{12} \(2 paths\)", said)


def test_undo_commits_that_the_task_and_its_parent_are_not_done_and_redo_that_they_are(
    trial: Trial,
) -> None:
    work(trial, "a", "b")
    trial.expect(0, "undo", "b")
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    assert is_clean(trial)
    trial.expect(0, "redo", "b")
    assert committed(trial) == {"a": "done", "b": "done", "c": "todo", "p": "done"}
    assert is_clean(trial)
    trial.expect(0, "undo", "b")
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_a_redo_that_a_hook_refused_is_committed_by_the_next(trial: Trial) -> None:
    work(trial, "c")
    trial.expect(0, "undo", "c")
    hook = trial.repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert "not committed" in trial.expect(0, "redo", "c")
    assert git(trial.repo, "status", "--porcelain") == "?? c.txt"
    hook.unlink()
    trial.expect(0, "redo", "c")
    assert committed(trial)["c"] == "done"
    assert is_clean(trial)


@pytest.mark.exhaustive
def test_a_parent_that_its_review_finds_good_goes_along_with_the_next_commit(repo: Path) -> None:
    trial = set_up(repo)
    trial.configure({"execution.parentReviewEnabled": "true"})
    work(trial, "a", "b")
    assert is_clean(trial)
    trial.expect(3, "execute", "--no-input")
    assert trial.statuses()["p"] == "done"
    assert committed(trial)["p"] == "todo"
    trial.expect(0, "decide", "c", "--approve")
    assert committed(trial) == dict.fromkeys("abcp", "done")
    assert is_clean(trial)
    assert len(trial.records("p")) == 1


@pytest.mark.exhaustive
def test_a_clone_reads_what_is_done(trial: Trial, tmp_path: Path) -> None:
    work(trial, "a", "b")
    git(trial.repo, "clone", "-q", ".", str(tmp_path / "clone"))
    clone = Trial(tmp_path / "clone")
    assert clone.statuses() == {"a": "done", "b": "done", "c": "todo", "p": "done"}
    assert clone.expect(0, "list", "--status", "todo").split()[:2] == ["c", "READY"]

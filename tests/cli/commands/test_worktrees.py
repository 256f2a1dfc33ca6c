"""``worktrees`` lists the worktrees of tasks, and removes those that are done with."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.controller.setup.install import list_installed
from tests.controller.support import open_at
from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A plan whose first task waits for a decision in its worktree."""
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\nignored\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.worktrees": "true", "execution.stopAfterEachTask": "true"})
    trial.command("echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt; echo ignored >ignored")
    trial.expect(3, "execute", "a", "--no-input")
    return trial


def place_of(trial: Trial, task_id: str) -> Path:
    return trial.repo.parent / f"{trial.repo.name}.worktrees" / task_id


def listed(trial: Trial, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(trial.expect(0, "worktrees", *args, "--json"))["data"][
        "worktrees"
    ]
    return found


def test_it_lists_task_state_age_room_and_path(trial: Trial) -> None:
    (row,) = trial.expect(0, "worktrees").splitlines()
    assert row.split()[:4] == ["a", "waits", "for", "decision"]
    assert row.endswith(str(place_of(trial, "a")))
    (place,) = listed(trial)
    assert place["task"] == "a"
    assert place["state"] == "waits_for_decision"
    assert place["path"] == str(place_of(trial, "a"))
    assert place["since"] == trial.records("a")[0]["startedAt"]
    assert place["diskBytes"] > 0


def test_open_prints_the_path_alone(trial: Trial) -> None:
    assert trial.expect(0, "worktrees", "open", "a") == f"{place_of(trial, 'a')}\n"
    assert "b has no worktree of its own\nhint: git blackbird worktrees" in trial.expect(
        1, "worktrees", "open", "b"
    )
    assert "worktrees open needs a task" in trial.expect(2, "worktrees", "open")
    assert "only open takes a task" in trial.expect(2, "worktrees", "list", "a")
    assert "--dry-run goes with prune" in trial.expect(2, "worktrees", "list", "--dry-run")


def test_in_the_worktree_of_a_task_the_command_to_type_is_named(trial: Trial) -> None:
    place, before = place_of(trial, "a"), git(trial.repo, "status", "--porcelain")
    for args in (("decide", "a", "--approve"), ("init",), ("status",), ("branch", "a", "it's"), ()):
        written = " ".join(args).replace("it's", "'it'\\''s'")
        assert trial.expect(128, *args, cwd=place) == (
            f"fatal: this is the worktree of task a of {trial.repo}\n"
            f"hint: git -C {trial.repo} blackbird {written}".rstrip()
            + "\n"
        )
    assert not (place / "blackbird.plan.json").exists()
    assert git(trial.repo, "status", "--porcelain") == before


@pytest.mark.exhaustive
def test_one_that_was_moved_is_followed_and_goes_back_where_its_session_looks_for_it(trial: Trial) -> None:
    place, moved = place_of(trial, "a"), trial.repo.parent / "moved"
    git(trial.repo, "worktree", "move", str(place), str(moved))
    (moved / "hand.txt").write_text("hand\n")
    (row,) = listed(trial)
    assert (row["state"], row["path"]) == ("waits_for_decision", str(moved))
    assert trial.expect(0, "worktrees", "prune") == f"left {moved}: a, waits for decision\n"
    trial.environ["COLUMNS"] = "1000"
    said = trial.expect(0, "show", "a")
    assert f"worktree  {moved}\n" in said, said
    assert f"  worktree  {moved}\n" in trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    trial.expect(0, "decide", "a", "--request-changes", "-m", "more")
    said = trial.expect(3, "execute", "a", "--no-input")
    assert f"the worktree of a is back at {place}, where its session looks for it" in said
    assert (place / "hand.txt").read_text() == "hand\n"
    git(trial.repo, "worktree", "move", str(place), str(moved))
    (moved / "late.txt").write_text("late\n")
    trial.approve("a")
    assert "landed a" in trial.expect(3, "execute", "--no-input")
    assert (trial.repo / "hand.txt").read_text() + (trial.repo / "late.txt").read_text() == "hand\nlate\n"
    assert not moved.exists()


def test_git_forgets_one_whose_folder_was_removed_once_it_is_done_with(trial: Trial) -> None:
    place = place_of(trial, "a")
    shutil.rmtree(place)
    assert trial.expect(0, "worktrees", "prune") == "no worktrees of tasks\n"
    assert str(place) in git(trial.repo, "worktree", "list")
    trial.expect(0, "decide", "a", "--reject")
    assert trial.expect(0, "worktrees", "prune", "--dry-run") == f"would remove {place}: a, given up\n"
    assert trial.expect(0, "worktrees", "prune") == f"removed {place}: a, given up\n"
    assert str(place) not in git(trial.repo, "worktree", "list")


def test_what_is_needed_stays_and_why_is_said(trial: Trial) -> None:
    assert trial.expect(0, "worktrees", "prune") == f"left {place_of(trial, 'a')}: a, waits for decision\n"
    assert place_of(trial, "a").is_dir()
    (place,) = listed(trial, "prune")
    assert place["reason"] == "waits for decision"


def test_of_a_record_that_cannot_be_read_the_worktree_stays(trial: Trial) -> None:
    (record,) = (trial.repo / ".git/blackbird/runs/a").glob("*.json")
    record.write_text("{")
    assert trial.expect(0, "worktrees", "prune").startswith(f"left {place_of(trial, 'a')}: a, unreadable\n")
    assert place_of(trial, "a").is_dir()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", [("decide", "a", "--reject"), ("retry", "a"), ("delete", "a", "--yes")])
def test_what_was_given_up_goes_and_is_kept_by_a_reference(trial: Trial, way: tuple[str, ...]) -> None:
    tree = fact(trial.records("a")[0], "head_tree")
    (place_of(trial, "a") / "later.txt").write_text("later\n")
    if way[0] == "delete":
        trial.expect(0, "retry", "a")
    trial.run(*way)
    said = f"{place_of(trial, 'a')}: a, given up\n"
    assert trial.expect(0, "worktrees", "prune", "--dry-run") == f"would remove {said}"
    assert place_of(trial, "a").is_dir()
    pruned = trial.expect(0, "worktrees", "prune")
    assert pruned.startswith(f"removed {said}  what was edited in the worktree of a is kept in refs/")
    restore = pruned.split("`")[1].split()[2:]
    assert not place_of(trial, "a").exists()
    assert trial.expect(0, "worktrees") == "no worktrees of tasks\n"
    (kept,) = git(trial.repo, "for-each-ref", "--format=%(refname)", "refs/blackbird/worktrees").splitlines()
    assert git(trial.repo, "show", f"{kept}:head/later.txt") == "later"
    assert git(trial.repo, "rev-parse", f"{kept}:head") != tree
    trial.expect(0, *restore)
    assert git(trial.repo, "show", f"{restore[-1]}:later.txt") == "later"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", [["restart", "a"], ["retry", "a"]])
def test_what_was_edited_before_a_restart_is_named_with_the_command_that_has_it(
    trial: Trial, way: list[str]
) -> None:
    (place_of(trial, "a") / "hand").write_text("hand\n")
    _, said = trial.run(*way, "--no-input")
    if way[0] == "retry":
        said = trial.expect(3, "execute", "a", "--no-input")
    assert not (place_of(trial, "a") / "hand").exists()
    (line,) = [line for line in said.splitlines() if "what was edited" in line]
    (kept,) = git(trial.repo, "for-each-ref", "--format=%(refname)", "refs/blackbird/worktrees").splitlines()
    name = kept.rpartition("/")[2]
    command = f"git blackbird restore {kept} --branch kept-{name}"
    assert line.endswith(f"what was edited in the worktree of a is kept in {kept}:head; `{command}` has it")
    assert trial.expect(0, *command.split()[2:]).startswith(f"branch kept-{name} has the files of a worktree")
    assert git(trial.repo, "show", f"kept-{name}:hand") == "hand"
    trial.expect(0, "restore", name, str(trial.repo.parent / "folder"))
    assert (trial.repo.parent / "folder" / "hand").read_text() == "hand\n"
    data = json.loads(trial.expect(0, "restore", kept, "--branch", "again", "--json"))["data"]
    assert (data["kept"], data["task"], data["run"], data["branch"]) == (kept, None, None, "again")


def test_one_with_a_file_that_cannot_be_kept_stays(trial: Trial) -> None:
    trial.configure({"snapshot.maxUntrackedBytes": "10"})
    (place_of(trial, "a") / "large").write_text("more than ten bytes\n")
    trial.expect(0, "retry", "a")
    foretold = trial.expect(0, "worktrees", "prune", "--dry-run")
    said = trial.expect(0, "worktrees", "prune")
    assert foretold == said
    assert said.startswith(f"left {place_of(trial, 'a')}: a, given up: ")
    assert "no snapshot has large" in said
    assert (place_of(trial, "a") / "large").exists()


@pytest.mark.exhaustive
def test_one_whose_set_up_failed_goes(trial: Trial) -> None:
    trial.configure({"worktree.setup": "echo made >made; exit 3"})
    trial.expect(1, "execute", "b", "--no-input")
    assert [(place["task"], place["state"]) for place in listed(trial)] == [
        ("a", "waits_for_decision"),
        ("b", "not_started"),
    ]
    assert f"removed {place_of(trial, 'b')}: b, not started\n" in trial.expect(0, "worktrees", "prune")


def test_those_of_another_worktrees_plan_are_left_alone(trial: Trial, tmp_path: Path) -> None:
    git(trial.repo, "worktree", "add", "-q", str(tmp_path / "other"))
    other = Trial(tmp_path / "other")
    other.plan({"c": ()})
    assert other.expect(0, "worktrees", "prune") == "no worktrees of tasks\n"
    assert place_of(trial, "a").is_dir()


def test_deinit_leaves_none_behind(trial: Trial) -> None:
    assert any(text.endswith("; worktrees of a") for text in list_installed(open_at(trial.repo)).goes)
    said = trial.expect(1, "deinit", "--yes")
    assert f"tasks have worktrees of their own: {place_of(trial, 'a')}" in said
    assert f"git worktree remove --force {place_of(trial, 'a')}" in said
    trial.expect(0, "retry", "a")
    trial.expect(0, "worktrees", "prune")
    trial.expect(0, "deinit", "--yes")

"""What reject prints takes the change back, and nothing that anyone did since."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.git.support import ODD
from tests.support import commit, git, write
from tests.trial.program import Trial

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": LINES, ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


EDITED = "edited since the run ended; `git blackbird runs a --diff` shows what to take back by hand"


def commands(said: str) -> list[str]:
    return [
        line.partition(": ")[2] for line in said.splitlines() if line.startswith("to take the change back: ")
    ]


def work(trial: Trial, script: str) -> None:
    trial.command(script)
    trial.expect(3, "execute", "--no-input")


def take_back(trial: Trial, said: str) -> None:
    for command in commands(said):
        environ = {**os.environ, "GIT_EDITOR": "true"}
        subprocess.run(command, shell=True, cwd=trial.repo, check=True, env=environ)


def test_a_later_edit_of_mine_is_named_and_left_alone(trial: Trial) -> None:
    work(trial, "echo agent >>old.txt; echo agent >new.txt; echo agent >other.txt")
    write(trial.repo, {"old.txt": f"mine\n{LINES}agent\n", "new.txt": "agent\nmine\n"})
    output = trial.expect(0, "decide", "a", "--reject")
    assert f"  it leaves new.txt as it is: {EDITED}\n" in output
    assert f"  it leaves old.txt as it is: {EDITED}\n" in output
    take_back(trial, output)
    assert git(trial.repo, "status", "--porcelain", "-uall").splitlines() == [" M old.txt", "?? new.txt"]
    assert (trial.repo / "old.txt").read_text() == f"mine\n{LINES}agent\n"
    assert (trial.repo / "new.txt").read_text() == "agent\nmine\n"


def test_what_is_edited_after_the_rejection_stays_too(trial: Trial) -> None:
    work(trial, "echo agent >>old.txt; echo agent >new.txt")
    [command] = commands(trial.expect(0, "decide", "a", "--reject"))
    write(trial.repo, {"new.txt": "mine\n"})
    completed = subprocess.run(
        command, shell=True, cwd=trial.repo, check=False, capture_output=True, text=True
    )
    assert (completed.returncode, completed.stderr) == (
        1,
        "error: patch failed: new.txt:1\nerror: new.txt: patch does not apply\n",
    )
    assert (trial.repo / "old.txt").read_text() == f"{LINES}agent\n"


@pytest.mark.parametrize("has_hook", [True, False])
def test_commits_of_the_run_are_reverted(trial: Trial, has_hook: bool) -> None:
    if has_hook:
        trial.expect(0, "hooks", "install")
    work(trial, "echo agent >>old.txt; git commit -q -a -m agent; echo loose >new.txt")
    oid = git(trial.repo, "rev-parse", "HEAD")
    output = trial.expect(0, "decide", "a", "--reject")
    assert commands(output)[1:] == [f"git revert {oid}"]
    take_back(trial, output)
    assert (trial.repo / "old.txt").read_text() == LINES
    assert git(trial.repo, "status", "--porcelain") == ""


def test_hostile_paths_in_a_long_place_fit_a_narrow_terminal(trial: Trial, tmp_path: Path) -> None:
    there = tmp_path / ("it's a long place " * 5) / "linked"
    git(trial.repo, "worktree", "add", "-q", str(there))
    linked = Trial(there)
    write(there, dict.fromkeys(ODD[:5], "1\n"))
    git(there, "add", "--", *(f":(literal){name}" for name in ODD[:5]))
    git(there, "commit", "-q", "-m", "odd")
    linked.plan({"a": ()})
    (tmp_path / "names").write_bytes(b"\0".join(os.fsencode(name) for name in ODD))
    linked.configure({"execution.stopAfterEachTask": "true"})
    work(linked, f"xargs -0 -a {tmp_path}/names -I NAME sh -c 'echo agent >\"$1\"' sh NAME")
    assert len(git(there, "status", "--porcelain", "-z", "-uall").split("\0")) > len(ODD)
    output = linked.expect(0, "decide", "a", "--reject")
    [command] = commands(output)
    assert len(f"to take the change back: {command}") <= 100
    assert commands(linked.expect(0, "show", "a").replace("\n  ", "\n")) == [command]
    take_back(linked, output)
    assert git(there, "status", "--porcelain") == ""


def test_show_names_it_for_scripts_until_the_task_is_started_again(trial: Trial) -> None:
    work(trial, "echo agent >new.txt; echo agent >mine.txt")
    write(trial.repo, {"mine.txt": "mine\n"})
    said = json.loads(trial.expect(0, "decide", "a", "--reject", "--json"))["data"]
    kept = [{"path": "mine.txt", "reason": EDITED}]
    assert (len(said["undo"]), said["undoLeaves"]) == (1, kept)
    shown = json.loads(trial.expect(0, "show", "a", "--json"))["data"]["undo"]
    assert shown == {"commands": said["undo"], "kept": kept}
    take_back(trial, f"to take the change back: {said['undo'][0]}")
    trial.expect(3, "restart", "a", "--no-input")
    assert json.loads(trial.expect(0, "show", "a", "--json"))["data"]["undo"] is None


def test_what_the_trees_need_outlives_a_collection_of_garbage(trial: Trial) -> None:
    work(trial, "echo agent >new.txt; echo agent >mine.txt")
    write(trial.repo, {"mine.txt": "mine\n"})
    output = trial.expect(0, "decide", "a", "--reject")
    git(trial.repo, "gc", "-q", "--prune=now")
    take_back(trial, output)
    assert git(trial.repo, "status", "--porcelain", "-uall").splitlines() == ["?? mine.txt"]

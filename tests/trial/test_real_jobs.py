"""The real agents side by side, each in a worktree of its own."""

import threading
from pathlib import Path

import pytest

from tests.standin.install import Program
from tests.standin.real import real
from tests.standin.server import Dialect, Reply, StandIn
from tests.support import commit, git
from tests.trial.program import Trial
from tests.trial.real_trial import assert_one_session, enlist

TASKS = ("one", "two")


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    # The narrowest rights with which each can work.
    trial.configure({"agent": program.agent, "claude.permissionMode": "acceptEdits"})
    trial.plan(dict.fromkeys(TASKS, ()))
    return trial


def resolving(speech: Dialect, path: Path) -> tuple[Reply, ...]:
    """Take git's markers out, by what the program may do: Claude Code edits parts of lines."""
    if speech.agent != "claude":
        return (Reply("I resolve it.", (speech.shell("sed -i '/^[<=>]\\{7\\}/d' shared.py"),)),)
    return tuple(reply for marker in "<=>" for reply in speech.edits(path, marker * 7, "#"))


@pytest.mark.parametrize("program", real(), indirect=True)
def test_two_sessions_work_at_once_and_the_one_that_conflicts_goes_on(trial: Trial, model: StandIn) -> None:
    both_at_work, speech = threading.Barrier(len(TASKS)), model.dialect
    for task in TASKS:
        place = trial.repo.parent / f"{trial.repo.name}.worktrees" / task
        made = (
            speech.writes(place / f"{task}.py", f"print('{task}')\n"),
            speech.writes(place / "shared.py", f"{task}\n"),
        )
        model.tell_part(
            f"Write {task}.py.",
            *(
                Reply("I write.", (call,), wait=both_at_work.wait if call is made[0] else None)
                for call in made
            ),
            f"{task} is done.",
            *resolving(speech, place / "shared.py"),
            "Both are in it.",
        )
    output = trial.expect(0, "execute", "--no-input", "--no-stop", "--jobs", "2")
    assert trial.statuses() == dict.fromkeys(TASKS, "done")
    sent_back = next(task for task in TASKS if f"{task} goes back to its agent" in output)
    records = {task: trial.records(task) for task in TASKS}
    assert {task: len(found) for task, found in records.items()} == {
        task: 2 if task == sent_back else 1 for task in TASKS
    }
    assert_one_session(records[sent_back])
    assert len({record["worktree"] for record in records[sent_back]}) == 1
    shared = (trial.repo / "shared.py").read_text()
    assert {"one", "two"} <= set(shared.splitlines())
    assert "<<<<<<<" not in shared
    names = git(trial.repo, "status", "--short", "--", "*.py").split()
    assert names == ["??", "one.py", "??", "shared.py", "??", "two.py"]
    assert not (trial.repo.parent / f"{trial.repo.name}.worktrees").exists()

"""Criteria of tasks that are done run again on what later changes make, and what breaks names the change."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import ENTER, Terminal
from tests.support import commit, wait_until
from tests.trial.program import Trial
from tests.trial.test_criteria import planned

ONE, TWO = "$ grep -q one=1 lib.txt", "$ grep -q two=2 lib.txt"
NEVER = "$ grep -qx never t1.txt"
BREAKS = "sed -i s/one=1/one=3/ lib.txt"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n", "lib.txt": "one=1\ntwo=2\n"}, "start")
    trial = Trial(repo)
    trial.command('sh "$HOME/$BLACKBIRD_TASK_ID.sh"')
    trial.configure({"check.criteria": "true", "execution.worktrees": "true"})
    return trial


def works(**scripts: str) -> None:
    """Say what the agent of each of these tasks does."""
    for task, script in scripts.items():
        Path.home().joinpath(f"{task}.sh").write_text(script)


def execute_first(trial: Trial) -> str:
    """Execute, and agree to the agent's rights and to the commands of the plan."""
    with Terminal(trial.repo, "execute") as terminal:
        for question in ("2) Yes, start it", "2) Yes, run them"):
            terminal.wait_for(question)
            terminal.type("2", ENTER)
        assert terminal.end() == 0
        return terminal.text


def broken(trial: Trial) -> list[tuple[str, str]]:
    """Return what `status` says is broken, and since which task."""
    due = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    items = [item for item in due if item["kind"] == "broken"]
    return [(item["task"], one["task_id"]) for item in items for one in item["details"]["criteria"]]


def test_what_a_landing_breaks_is_due_with_it_until_it_passes_again(trial: Trial) -> None:
    works(a="echo a=1 >>lib.txt", b="echo b=1 >b", c=BREAKS, d="echo d >d")
    planned(trial, a=[ONE, TWO], b=["$ test -e b"], c=[TWO], d=["$ test -e d"])
    said = " ".join(execute_first(trial).split())
    assert "warning: c breaks a, which is done: criterion $ grep -q one=1 lib.txt failed: exit 1" in said
    assert "checking b after" not in said
    assert "done_criteria" not in trial.expect(0, "status", "--json")
    assert broken(trial) == [("a", "c")]
    assert trial.statuses()["a"] == "done"
    status = trial.expect(0, "status")
    assert "a  A: broken since c\n" in status
    assert "its criterion $ grep -q one=1 lib.txt failed: exit 1" in status
    assert "git blackbird verify --done" in trial.expect(0, "show", "a")
    said = trial.expect(1, "verify", "--done")
    assert "a: criterion $ grep -q one=1 lib.txt failed: exit 1, since c (run " in said
    assert "4 of 5 criteria of 4 tasks pass" in said
    # It is there as long as what broke it is, and the criterion.
    trial.expect(0, "undo", "c")
    assert broken(trial) == []
    trial.expect(0, "redo", "c")
    assert broken(trial) == [("a", "c")]
    (trial.repo / "other.txt").write_text("edited\n")
    assert "failed: exit 1, since c (run " in trial.expect(1, "verify", "--done")
    assert broken(trial) == [("a", "c")]
    works(e="sed -i s/one=3/one=1/ lib.txt")
    planned_too(trial, e=[ONE])
    trial.expect(3, "execute", "--no-input", "--stop-after-each")
    assert "3 of 3 criteria of done tasks pass after e" in trial.expect(0, "decide", "e", "--approve")
    assert broken(trial) == []
    assert "6 of 6 criteria of 5 tasks pass" in trial.expect(0, "verify", "--done")


def planned_too(trial: Trial, **criteria: list[str]) -> None:
    """Add tasks with criteria to the plan."""
    for task, texts in criteria.items():
        trial.expect(
            0, "add", task.title(), "--id", task, *(word for text in texts for word in ("--ac", text))
        )


@pytest.mark.exhaustive
def test_of_thirty_criteria_those_that_five_of_ten_landings_break_are_named(trial: Trial) -> None:
    names = [f"t{number}" for number in range(10)]
    lines = {name: [f"{name}.{line}" for line in "abc"] for name in names}
    criteria = {name: [f"$ grep -qx {line} {name}.txt" for line in lines[name]] for name in names}
    works(**{name: f"printf '%s\\n' {' '.join(lines[name])} >{name}.txt" for name in names})
    # This one fails once in a while, and the one below was never met: neither is broken by anybody.
    criteria["t2"].append(f"$ mkdir {trial.repo.parent}/odd 2>&- || ! rmdir {trial.repo.parent}/odd")
    planned(trial, **criteria)
    execute_first(trial)
    trial.expect(0, "edit", "t1", *(word for text in (*criteria["t1"], NEVER) for word in ("--ac", text)))
    with Terminal(trial.repo, "verify", "--done") as terminal:
        terminal.wait_for("2) Yes, run them")
        terminal.type("2", ENTER)
        assert terminal.end() == 1
        assert f"t1: criterion {NEVER} failed: exit 1" in terminal.text
    breaks = {f"later-{name}": f"sed -i s/{name}.b/-/ {name}.txt" for name in names[::2]}
    works(**breaks, **{f"later-{name}": f"echo more >>{name}.txt" for name in names[1::2]})
    planned_too(trial, **{f"later-{name}": [] for name in names})
    said = trial.expect(0, "execute", "--no-input", "--jobs", "3")
    assert said.count(", which is done: criterion ") == 5
    assert sorted(broken(trial)) == [(name, f"later-{name}") for name in names[::2]]
    said = trial.expect(1, "verify", "--done")
    assert {line.split(" (run")[0] for line in said.splitlines() if line.startswith("t")} == {
        *(
            f"{name}: criterion $ grep -qx {name}.b {name}.txt failed: exit 1, since later-{name}"
            for name in names[::2]
        ),
        f"t1: criterion {NEVER} failed: exit 1",
    }


def test_what_no_task_broke_names_none(trial: Trial) -> None:
    """In the user's own worktree; what breaks by a path that nobody names is found by looking at all."""
    trial.configure({"execution.worktrees": "false"})
    gone = "$ test ! -e gone"
    works(a="echo a >a.txt", b="echo b >gone", c="echo c >c.txt", d=BREAKS)
    planned(trial, a=[gone, ONE], b=["$ true"], c=["$ test -e c.txt"])
    execute_first(trial)
    assert broken(trial) == []
    assert "a: criterion $ test ! -e gone failed: exit 1, since b (run " in trial.expect(
        1, "verify", "--done"
    )
    assert broken(trial) == [("a", "b")]
    # An edit of a person's is nobody's, and a task that a person did has no change.
    lib = trial.repo / "lib.txt"
    lib.write_text("one=4\n")
    planned_too(trial, hand=[ONE])
    trial.expect(0, "set-status", "hand", "done")
    said = trial.expect(1, "verify", "--done")
    assert "a: criterion $ grep -q one=1 lib.txt failed: exit 1\n" in said
    assert "hand: criterion $ grep -q one=1 lib.txt failed: exit 1\n" in said
    assert broken(trial) == [("a", "b")]
    assert lib.read_text() == "one=4\n"
    # What is not agreed to does not run.
    planned_too(trial, new=["$ echo new"])
    trial.expect(0, "set-status", "new", "done")
    said = trial.expect(1, "verify", "--done", "--no-input")
    assert "new: criterion $ echo new not run: nobody agreed to it on this machine" in said
    trial.configure({"check.criteria": "false"})
    assert "git config blackbird.check.criteria true" in trial.expect(1, "verify", "--done")


def test_what_is_to_run_again_is_due_until_it_has(trial: Trial) -> None:
    hang = trial.repo.parent / "hang"
    slow = f"$ until [ ! -e {hang} ]; do touch {hang}.seen; sleep 0.01; done; grep -q one=1 lib.txt"
    works(a="echo a=1 >>lib.txt", b=BREAKS)
    planned(trial, a=[slow])
    execute_first(trial)
    planned_too(trial, b=[])
    hang.touch()
    process = trial.start("execute", "--no-input")
    wait_until(Path(f"{hang}.seen").exists)
    process.kill()
    process.communicate()
    due = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    assert [(item["task"], item["kind"], item["command"]) for item in due] == [
        ("b", "done_criteria", "git blackbird execute")
    ]
    hang.unlink()
    assert "b breaks a, which is done" in trial.expect(0, "execute", "--no-input")
    assert broken(trial) == [("a", "b")]


def test_what_fails_for_another_reason_than_the_files_names_no_task(trial: Trial) -> None:
    down = trial.repo.parent / "down"
    served = f"$ test ! -e {down} && grep -q two=2 lib.txt"
    works(a="echo a=1 >>lib.txt", b="echo b=1 >>lib.txt")
    planned(trial, a=[served])
    execute_first(trial)
    planned_too(trial, b=[])
    down.touch()
    said = trial.expect(0, "execute", "--no-input")
    assert "0 of 1 criteria of done tasks pass after b" in said
    assert broken(trial) == []
    assert "a: criterion $ test ! -e " in trial.expect(1, "verify", "--done")
    down.unlink()
    assert "1 of 1 criterion of 1 task pass" in trial.expect(0, "verify", "--done")

"""Real agents that work outside the place that they were given."""

from pathlib import Path

import pytest

from tests.records import fact
from tests.standin.install import CLAUDE, CODEX, Program
from tests.standin.real import real
from tests.standin.server import Reply, StandIn, ToolCall
from tests.support import commit
from tests.trial.program import Trial
from tests.trial.real_trial import enlist
from tests.trial.wanderer import as_typed, place_of


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "one\ntwo\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent, "execution.stopAfterEachTask": "true"})
    trial.configure({"codex.sandbox": "danger-full-access"})
    trial.plan({"greet": ()})
    return trial


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE, CODEX), indirect=True)
def test_a_file_that_it_edits_in_the_users_worktree_is_named(
    program: Program, trial: Trial, model: StandIn
) -> None:
    theirs, own = trial.repo / "theirs.py", place_of(trial, "greet") / "greet.py"
    speech = model.dialect
    model.tell(Reply("I write.", (speech.writes(theirs, "x\n"), speech.writes(own, "x\n"))), "It greets.")
    said = trial.expect(3, "execute", "--no-input", "--worktrees")
    (record,) = trial.records("greet")
    assert theirs.read_text() == "x\n"
    assert fact(record, "outside") == {"paths": [str(theirs)]}
    assert f"warning: outside its place, run {record['id']} wrote {theirs}\n" in said


@pytest.mark.exhaustive
@pytest.mark.parametrize("where", ["--worktrees", "--no-worktrees"])
@pytest.mark.parametrize("program", real(CLAUDE), indirect=True)
def test_a_worktree_that_claude_enters_has_its_work_and_a_command_takes_it(
    program: Program, trial: Trial, model: StandIn, where: str
) -> None:
    entered, speech = trial.repo / ".claude/worktrees/x", model.dialect
    model.tell(
        Reply("I go.", (ToolCall("EnterWorktree", {"name": "x"}),)),
        Reply("I write.", (speech.writes(entered / "greet.py", "hello\n"), speech.shell("echo 1 >one.py"))),
        "It greets.",
    )
    said = trial.expect(3, "execute", "--no-input", where)
    (record,) = trial.records("greet")
    assert fact(record, "outside")["paths"] == [str(entered / "greet.py")]
    seen = [(change["subject"], change["name"]) for change in fact(record, "outside")["seen"]]
    assert seen == [("worktree", str(entered)), ("branch", "worktree-x")]
    (line,) = [line for line in said.splitlines() if f"# takes the work in {entered} as the change" in line]
    as_typed(trial, line.partition("    #")[0])
    trial.run("execute", stdin="1\n")
    assert trial.statuses() == {"greet": "done"}
    assert (trial.repo / "greet.py").read_text() == "hello\n"
    trial.expect(0, "undo", "greet")
    assert not (trial.repo / "greet.py").exists()
    assert not (trial.repo / "one.py").exists()

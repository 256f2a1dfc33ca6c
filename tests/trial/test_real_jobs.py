"""Real agents of both kinds side by side, each in a worktree of its own."""

import threading
from pathlib import Path

import pytest

from tests.records import fact
from tests.standin.install import CLAUDE, CODEX, find_program
from tests.standin.real import model_of
from tests.standin.server import Dialect, Reply
from tests.support import commit, git, write
from tests.trial.program import Trial
from tests.trial.real_trial import assert_one_session, enlist

BY_CLAUDE, BY_CODEX = ("one", "two"), ("three", "four")
# Those whose change has a file that the person makes meanwhile.
MEETING = ("one", "three")


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.plan(dict.fromkeys((*BY_CLAUDE, *BY_CODEX), ()))
    return trial


def resolving(speech: Dialect, path: Path) -> tuple[Reply, ...]:
    """Take git's markers out, by what the program may do: Claude Code edits parts of lines."""
    if speech.agent != "claude":
        return (Reply("I resolve it.", (speech.shell("sed -i '/^[<=>]\\{7\\}/d' shared.py"),)),)
    return tuple(reply for marker in "<=>" for reply in speech.edits(path, marker * 7, "#"))


@pytest.mark.exhaustive
@pytest.mark.real_agents
@pytest.mark.skipif(
    not (find_program(CLAUDE) and find_program(CODEX)), reason="one of both agents is missing"
)
def test_sessions_of_both_work_at_once_and_the_one_that_conflicts_goes_on(
    trial: Trial, tmp_path: Path
) -> None:
    mine = trial.repo / "shared.py"
    all_at_work = threading.Barrier(4, lambda: write(trial.repo, {"shared.py": "mine\n"}))
    with model_of(CLAUDE) as claude, model_of(CODEX) as codex:
        for program, model, tasks in ((CLAUDE, claude, BY_CLAUDE), (CODEX, codex, BY_CODEX)):
            enlist(trial, program, model, tmp_path / program.agent)
            for task in tasks:
                place, speech = trial.repo.parent / f"{trial.repo.name}.worktrees" / task, model.dialect
                makes = Reply("I write.", (speech.writes(place / f"{task}.py", "1\n"),))
                name = "shared.py" if task in MEETING else f"{task}_more.py"
                more = (speech.writes(place / name, f"{task}\n"),)
                meets = Reply("I go on.", more, wait=all_at_work.wait)
                # Those of Claude Code are told to go on, once Codex is the agent.
                first = (makes, f"{task} is begun.", meets) if program is CLAUDE else (makes, meets)
                again = resolving(speech, place / "shared.py") if task in MEETING else ()
                model.tell_part(f"Write {task}.py.", *first, f"{task} is done.", *again, "Both are in it.")
        # The narrowest rights with which it can work.
        trial.configure({"agent": "claude", "claude.permissionMode": "acceptEdits"})
        trial.expect(3, "execute", *BY_CLAUDE, "--no-input", "--stop-after-each", "--jobs", "4")
        for task in BY_CLAUDE:
            trial.expect(0, "decide", task, "--request-changes", "-m", "Go on.")
        trial.configure({"agent": "codex"})
        output = trial.expect(3, "execute", "--no-input", "--no-stop", "--jobs", "4")
        # What a person requested is shown again, and so is what was resolved after that.
        for code, decided in ((3, BY_CLAUDE), (0, ("one",))):
            for task in decided:
                trial.approve(task)
            output += trial.expect(code, "execute", "--no-input", "--no-stop", "--jobs", "4")
    assert set(trial.statuses().values()) == {"done"}, output
    for task in (*BY_CLAUDE, *BY_CODEX):
        records = trial.records(task)
        assert len(records) == 1 + (task in BY_CLAUDE) + (task in MEETING)
        assert {record["provider"] for record in records} == {"claude" if task in BY_CLAUDE else "codex"}
        assert_one_session(records)
        assert len({fact(record, "worktree") for record in records}) == 1
        assert output.count(f"{task} goes back to its agent: it conflicts") == (task in MEETING)
    shared = mine.read_text()
    assert {"mine", *MEETING} <= set(shared.splitlines())
    assert "<<<<<<<" not in shared
    names = git(trial.repo, "status", "--short", "--", "*.py").split()[1::2]
    assert names == ["four.py", "four_more.py", "one.py", "shared.py", "three.py", "two.py", "two_more.py"]
    assert not (trial.repo.parent / f"{trial.repo.name}.worktrees").exists()


PAGE = """## One
model: claude-sonnet-5

Write one.py.

## Two
agent: codex
model: gpt-5.9

Write two.py.
"""


@pytest.mark.exhaustive
@pytest.mark.real_agents
@pytest.mark.skipif(
    not (find_program(CLAUDE) and find_program(CODEX)), reason="one of both agents is missing"
)
def test_tasks_name_their_agents_and_models_and_both_work_side_by_side(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.expect(0, "init", "--no-hooks")
    (repo / "page.md").write_text(PAGE)
    trial.expect(0, "add", "-F", "page.md")
    both_at_work = threading.Barrier(2)
    with model_of(CLAUDE) as claude, model_of(CODEX) as codex:
        for program, model, task in ((CLAUDE, claude, "one"), (CODEX, codex, "two")):
            enlist(trial, program, model, tmp_path / program.agent)
            place, speech = repo.parent / f"{repo.name}.worktrees" / task, model.dialect
            model.tell(
                Reply("I write.", (speech.writes(place / f"{task}.py", "1\n"),), wait=both_at_work.wait),
                f"{task} is done.",
            )
        trial.expect(3, "execute", "--jobs", "2", "--no-input")
        models = [request["model"] for model in (claude, codex) for request in model.requests[-1:]]
    (one,), (two,) = trial.records("one"), trial.records("two")
    assert [one["provider"], two["provider"]] == ["claude", "codex"]
    assert models == ["claude-sonnet-5", "gpt-5.9"]
    said = trial.expect(0, "list")
    assert "[claude-sonnet-5]" in said
    assert "[codex gpt-5.9]" in said

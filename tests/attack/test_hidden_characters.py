"""Ids that read as others: direction marks, joiners and blanks, typed by hand or brought by a plan."""

import json
from pathlib import Path

import pytest

from tests.support import git, write
from tests.trial.program import Trial

HIDDEN = {
    "turned": ("t\u202e1", "\\u202e"),
    "joined": ("t\u200d1", "\\u200d"),
    "varied": ("t\ufe0f1", "\\ufe0f"),
    "blank": ("t\u3164", "\\u3164"),
    "tagged": ("t\U000e0041", "\\udb40\\udc41"),
    "private": ("t\ue000", "\ue000"),
    "parted": ("t\u20281", "\\u2028"),
}
SEEN_AS_NOTHING = {char for task_id, _ in HIDDEN.values() for char in task_id if not char.isascii()} - {
    "\ue000"
}


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo)
    trial.plan({"t1": ()})
    return trial


def nothing_hidden(said: str) -> bool:
    return not SEEN_AS_NOTHING & set(said)


@pytest.mark.parametrize("kind", HIDDEN)
def test_such_an_id_is_refused_where_it_is_made(trial: Trial, kind: str) -> None:
    task_id, _ = HIDDEN[kind]
    output = trial.expect(1, "add", "--id", task_id, "--title", "T")
    assert f"error: the id {task_id!a} contains {next(c for c in task_id if not c.isascii())!a}\n" in output
    assert trial.statuses() == {"t1": "todo"}


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_plan_that_holds_one_is_reported_with_the_character_escaped(trial: Trial, kind: str) -> None:
    task_id, escaped = HIDDEN[kind]
    trial.plan({task_id: (), "t1": (task_id,)})
    shown = task_id.replace(next(c for c in task_id if not c.isascii()), escaped)
    for args in (["validate"], ["list"], ["status"], ["execute", "--no-input"]):
        code, said = trial.run(*args)
        assert code in {1, 128}
        assert f'$.items["{shown}"]: the task id contains ' in said
        assert nothing_hidden(said)
    _, said = trial.run("validate", "--json")
    assert said.isascii()


@pytest.mark.parametrize("kind", HIDDEN)
def test_one_that_is_only_typed_is_shown_for_what_it_is(trial: Trial, kind: str) -> None:
    task_id, escaped = HIDDEN[kind]
    shown = task_id.replace(next(c for c in task_id if not c.isascii()), escaped)
    for args in (["show", task_id], ["runs", task_id], ["retry", task_id], ["deps", "add", "t1", task_id]):
        output = trial.expect(1, *args)
        assert f'error: unknown id "{shown}"\n' in output
        assert nothing_hidden(output)


@pytest.mark.exhaustive
def test_a_commit_that_names_one_says_so_without_it(trial: Trial) -> None:
    trial.expect(0, "hooks", "install")
    write(trial.repo, {"f": "1"})
    git(trial.repo, "add", "f")
    done = trial.repo / "message"
    done.write_text("work\n\nBlackbird-Task: t\u202e1\n")
    process = trial.repo / "said"
    git(trial.repo, "-c", "alias.c=!git commit -F message 2>said", "c")
    text = process.read_text()
    assert "no manual run of t" in text
    assert nothing_hidden(text)


def test_titles_notes_and_records_that_turn_the_line_are_cleaned(trial: Trial) -> None:
    plan = trial.repo / "blackbird.plan.json"
    raw = json.loads(plan.read_text())
    raw["items"]["t1"] |= {"title": "pay\u202eoneor\u200b\u2066", "notes": "a\u200db\U000e0041"}
    plan.write_text(json.dumps(raw))
    for args in (["list"], ["show", "t1"], ["status"], ["list", "--tree"]):
        assert nothing_hidden(trial.expect(0, *args))

"""A cloned repository's records and configuration never become options of a program."""

import json
import os
import stat
from pathlib import Path

import pytest

from tests.records import place_of, record_of
from tests.support import commit, git
from tests.trial.program import Record, Trial

RUN = "019c000000000001"
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"greet.py": "print('hi')\n"})
    commit(repo, {"greet.py": "print('hello')\n"})
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command("true")
    return trial


def record(**fields: object) -> Record:
    """A record that a clone brings along."""
    usual = {
        "id": RUN,
        "taskId": "a",
        "run_type": "execute",
        "provider": "command",
        "startedAt": "2026-01-02T03:04:05Z",
        "completedAt": "2026-01-02T03:04:06Z",
        "status": "success",
        "context": {},
        "program": "git-blackbird",
        "review_summary": {"files": ["greet.py"], "diffstat": "", "snippets": []},
    }
    return record_of(**(usual | fields))


def bring(trial: Trial, forged: Record) -> Path:
    path = trial.repo / ".git" / "blackbird" / "runs" / "a" / f"{RUN}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(forged))
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("precious\n")
    return path


def test_a_tree_that_is_an_option_overwrites_nothing(trial: Trial, victim: Path) -> None:
    path = bring(trial, record(base_tree=f"--output={victim}", head_tree="HEAD~1"))
    output = trial.expect(128, "runs", "a", "--diff")
    assert victim.read_text() == "precious\n"
    assert path.name in output


def test_nor_does_it_where_the_clone_asks_for_reviews(trial: Trial, victim: Path) -> None:
    (trial.repo / ".blackbird").mkdir()
    (trial.repo / ".blackbird" / "config.json").write_text('{"reviews": {"mode": "parallel"}}')
    trees = {"base_tree": f"--output={victim}", "head_tree": TREE}
    bring(trial, record(**trees, review_state="due"))
    trial.run("execute", "--no-input")
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_tree", "HEAD^{tree}"),
        ("head_tree", "main"),
        ("head_tree", f"{TREE}\n{TREE}"),
        ("base_tree", TREE[:12]),
        ("start_commit", "--all"),
        ("commits", ["--x"]),
        ("commits", [TREE, "HEAD"]),
        ("shown", {"base": "-x", "head": TREE}),
        ("provider_session_ref", "--dangerously-skip-permissions"),
        ("provider_session_ref", "a\0b"),
        ("resumes", "../../x"),
        ("reviewed_run", "-rf"),
        ("parent_review_resume_task_ids", ["../x"]),
    ],
)
def test_what_is_no_object_session_or_id_makes_the_record_unusable(
    trial: Trial, field: str, value: object
) -> None:
    path = bring(trial, record(**{"base_tree": TREE, "head_tree": TREE, field: value}))
    output = trial.expect(0, "runs", "a")
    place = ".".join(place_of(field))
    assert f"{path.name}: {place}" in " ".join(output.split()).replace("/ ", "/"), output


@pytest.mark.parametrize("key", ["claude.model", "codex.model", "reviews.spec.model", "reviews.code.model"])
@pytest.mark.parametrize("model", ["--dangerously-skip-permissions", "-c", "a b", "x\u202ey"])
def test_a_project_names_no_option_as_a_model(trial: Trial, key: str, model: str) -> None:
    section, _, name = key.rpartition(".")
    (trial.repo / ".blackbird").mkdir()
    (trial.repo / ".blackbird" / "config.json").write_text(json.dumps({section: {name: model}}))
    output = trial.expect(128, "execute", "--no-input")
    assert f"config.json: {key}: " in output


def test_a_session_of_a_record_reaches_no_program_as_an_option(trial: Trial, tmp_path: Path) -> None:
    """What a record says of claude's conversation is a session's name, or nothing is started."""
    bin_dir, log = tmp_path / "bin", tmp_path / "argv"
    bin_dir.mkdir()
    program = bin_dir / "claude"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{log}"\necho 2.1.329\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    trial.environ["PATH"] = f"{bin_dir}:{os.environ['PATH']}"
    git(trial.repo, "config", "blackbird.agent", "claude")
    bring(trial, record(provider="claude", status="paused", provider_session_ref="--plugin-dir=/tmp/x"))
    trial.expect(128, "resume", "a", "--no-input")
    assert "--plugin-dir" not in (log.read_text() if log.exists() else "")

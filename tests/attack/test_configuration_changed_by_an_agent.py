"""An agent that changes what protects its user: named at the checkpoint, and never without a decision."""

import json
import os
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit, git, wait_until
from tests.trial.program import Trial

CONFIG = ".blackbird/config.json"
STOP = "execution.stopAfterEachTask"
STOPS = '{"schemaVersion": 1, "execution": {"stopAfterEachTask": true}}'
NO_NAME = "Expecting property name enclosed in double quotes"

CHANGES = {
    "removed": (f"echo '{{}}' >{CONFIG}", [f"{STOP} true -> removed ({CONFIG})"]),
    "loosened": (
        f'echo \'{{"execution": {{"stopAfterEachTask": false, "idleMinutes": 900}}}}\' >{CONFIG}',
        [f"{STOP} true -> false ({CONFIG})", f"execution.idleMinutes (unset) -> 900 ({CONFIG})"],
    ),
    "deleted": (
        f"rm {CONFIG}",
        [f"{CONFIG} was a file and is deleted", f"{STOP} true -> removed ({CONFIG})"],
    ),
    "unreadable": (
        f"echo '{{' >{CONFIG}",
        [
            f"{CONFIG} was a file and is now unusable ({NO_NAME} at line 2, column 1)",
            f"{STOP} true -> removed ({CONFIG})",
        ],
    ),
    "folder": (
        f"rm {CONFIG}; mkdir {CONFIG}",
        [f"{CONFIG} was a file and is now a folder", f"{STOP} true -> removed ({CONFIG})"],
    ),
    "link": (
        f"mv {CONFIG} kept.json; ln -s ../kept.json {CONFIG}",
        [f"{CONFIG} was a file and is now a link to ../kept.json"],
    ),
    "agent": (
        'echo \'{"selectedAgent": "codex"}\' >.blackbird/agent.json',
        ["agent (unset) -> codex (.blackbird/agent.json)"],
    ),
    "git": (
        f"git config blackbird.{STOP} false",
        ["execution.stopaftereachtask (unset) -> false (git config (local))"],
    ),
    "own": (
        'mkdir -p ~/.blackbird; echo \'{"reviews": {"mode": "off"}}\' >~/.blackbird/config.json',
        ["reviews.mode (unset) -> off (~/.blackbird/config.json)"],
    ),
}


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    (repo / ".blackbird").mkdir()
    (repo / CONFIG).write_text(STOPS)
    return trial


def let_do(trial: Trial, script: str) -> None:
    """Change what the agent does, without a change of the configuration."""
    (trial.repo.parent / "agent").write_text(script)
    if not git(trial.repo, "config", "--default", "", "blackbird.command.run"):
        trial.command("exec sh ../agent")


@pytest.mark.parametrize("kind", CHANGES)
def test_what_it_changes_is_named_at_the_checkpoint_and_in_the_record(trial: Trial, kind: str) -> None:
    script, changes = CHANGES[kind]
    trial.command(f"echo x >a.py; {script}")
    output = trial.expect(3, "execute", "--no-input")
    for change in changes:
        assert f"warning: the configuration changed during the run: {change}\n" in output
    assert fact(trial.records("a")[0], "config_edits") == changes
    shown = trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    assert "the configuration changed during the run" in shown
    if kind not in {"unreadable", "folder"}:
        panel = trial.run("execute", stdin="2\n")[1]
        assert "The configuration changed during the run:" in panel
        assert f"  {changes[0]}" in panel


def test_what_nobody_changes_is_not_named(trial: Trial) -> None:
    trial.command("echo x >a.py")
    trial.expect(3, "execute", "--no-input")
    assert "config_edits" not in trial.records("a")[0]
    assert not (trial.repo / ".git/blackbird/config-known.json").exists()


def test_a_stop_switched_off_before_the_program_is_killed_still_stops(trial: Trial) -> None:
    """The next process reads the looser file: the decision must come all the same."""
    let_do(trial, f"cat >/dev/null; echo x >a.py; echo '{{}}' >{CONFIG}; touch done; sleep 600")
    process = trial.start("execute", "--no-input")
    wait_until((trial.repo / "done").exists)
    process.kill()
    process.communicate()
    let_do(trial, "echo y >>a.py")
    output = trial.expect(3, "execute", "--no-input")
    assert f"the configuration changed during the run: {STOP} true -> removed ({CONFIG})" in output
    assert fact(trial.records("a")[0], "config_edits") == [f"{STOP} true -> removed ({CONFIG})"]
    assert "a decision is due on a" in output
    assert trial.statuses() == {"a": "waiting_user", "b": "todo"}


def test_reviews_switched_off_by_the_agent_leave_the_decision(trial: Trial) -> None:
    (trial.repo / CONFIG).write_text('{"reviews": {"mode": "parallel"}}')
    let_do(trial, f"cat >/dev/null; echo x >a.py; echo '{{}}' >{CONFIG}; kill -9 $PPID")
    process = trial.start("execute", "--no-input")
    process.communicate()
    let_do(trial, "echo y >>a.py")
    output = trial.expect(3, "execute", "--no-input")
    assert "a decision is due on a" in output


def test_what_a_person_changes_meanwhile_is_not_the_agents(trial: Trial) -> None:
    trial.command("touch started; while ! [ -e go ]; do sleep 0.05; done; echo x >a.py")
    process = trial.start("execute", "--no-input")
    wait_until((trial.repo / "started").exists)
    trial.expect(0, "config", STOP, "false", "--project")
    trial.expect(0, "config", "execution.idleMinutes", "30")
    trial.expect(0, "config", "reviews.maxIterations", "2", "--global")
    (trial.repo / "go").touch()
    said, _ = process.communicate(timeout=60)
    assert "the configuration changed" not in said
    assert "config_edits" not in trial.records("a")[0]


@pytest.mark.exhaustive
def test_a_flood_of_keys_is_cut(trial: Trial) -> None:
    keys = json.dumps({f"key{number}": number for number in range(5000)})
    (trial.repo.parent / "flood").write_text(keys)
    trial.command(f"cp ../flood {CONFIG}")
    trial.expect(3, "execute", "--no-input")
    changes = fact(trial.records("a")[0], "config_edits")
    assert (len(changes), changes[-1]) == (51, "and 4951 more")


def test_a_users_own_stop_outlives_what_a_project_or_an_agent_writes(trial: Trial) -> None:
    home = Path(os.environ["HOME"])
    git(trial.repo, "config", "--global", f"blackbird.{STOP}", "true")
    (trial.repo / CONFIG).write_text('{"execution": {"stopAfterEachTask": false}}')
    trial.command("echo $BLACKBIRD_TASK_ID >>a.py")
    output = trial.expect(3, "execute", "--no-input")
    assert (
        f"{CONFIG}: {STOP}: false is not used: your own true in git config (global) is stricter\n" in output
    )
    assert f"hint: to use it in this clone: git config blackbird.{STOP} false\n" in output
    assert (home / ".gitconfig").exists()
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(3, "execute", "--no-input")
    assert trial.statuses() == {"a": "done", "b": "waiting_user"}

"""Configuration: every message, and what a wrong file does to whom."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import task
from tests.support import git, write

__all__ = ["program"]

PROJECT = ".blackbird/config.json"


def test_reading_and_writing(program: Program, repo: Path) -> None:
    program.run("config")
    program.run("config", "execution.stopAfterEachTask")
    program.run("config", "EXECUTION.stopaftereachtask", "yes")
    program.run("config", "execution.stopAfterEachTask", "off", "--project")
    program.run("config", "execution.stopAfterEachTask", "true", "--global")
    program.run("config", "agent", "demo", "--global")
    program.run("config", "agent", "command", "--json")
    program.run("config", "claude.args", "--effort 'very high'")
    program.run("config", "claude.args", "--effort high", "--project")
    program.run("config", "command.run", "rm -rf ~", "--project")
    program.run("config", "snapshot.maxUntrackedBytes", "10m")
    program.run("config")
    program.run("config", "claude.args", "--json")
    program.run("config", "agent", BLACKBIRD_AGENT_PROVIDER="demo")
    program.run("config", "agent", BLACKBIRD_AGENT_CMD="true")
    program.run("config", "--unset", "agent")
    program.run("config", "--unset", "agent")
    program.run("config", "--unset", "agent", "--global")
    program.run("config", "--unset", "execution.stopAfterEachTask", "--project")
    program.run("config", "--unset", "execution.stopAfterEachTask", "--project")
    program.check("config")


def test_a_project_takes_no_protection_away(program: Program, repo: Path) -> None:
    key = "execution.stopAfterEachTask"
    save(repo, [task("t1", prompt="write a.txt x")])
    program.run("config", key, "true", "--global")
    program.run("config", key, "false", "--project")
    program.run("config", "reviews.timeoutSeconds", "60", "--project")
    git(repo, "config", "--global", "blackbird.reviews.timeoutSeconds", "120")
    program.run("config", key)
    program.run("config", key, "--json")
    program.run("config", "reviews.timeoutSeconds")
    program.run("status")
    program.run("execute", "--agent", "demo", "--no-input")
    program.remark("what the user says for this clone, or this call, is their word")
    program.run("execute", "--no-stop", "--dry-run")
    program.run("config", key, "false")
    program.run("config", key)
    program.run("status")
    program.run("config", "--unset", key)
    program.run("config", "--unset", key, "--global")
    program.run("config", key)
    program.check("config_stricter")


def test_what_is_refused(program: Program, repo: Path) -> None:
    for args in (
        ["exection.stopAfterEachTask", "true"],
        ["nonsense"],
        ["agent", "gpt"],
        ["execution.stopAfterEachTask", "perhaps"],
        ["execution.timeoutMinutes", "many"],
        ["execution.timeoutMinutes", "0"],
        ["claude.args", "'unfinished"],
        ["--unset", "nonsense"],
    ):
        program.run("config", *args)
    program.run("config", "agent", "demo", BLACKBIRD_RUN_ID="x")
    program.run("config", "agent", "demo", "--global", HOME="")
    program.check("config_refused")


WRONG = {
    "a wrong type": '{"execution": {"stopAfterEachTask": "yes", "timeoutMinutes": true}}',
    "a trailing comma": '{"execution": {"stopAfterEachTask": true},}',
    "another schema version": '{"schemaVersion": 2, "execution": {"stopAfterEachTask": true}}',
    "a misspelt key": '{"execution": {"stopAfterEachTasks": true}, "agents": "demo"}',
    "no object": "[]",
}


def test_a_wrong_file_is_never_dropped_without_a_word(program: Program, repo: Path) -> None:
    save(repo, [task("t1", prompt="write a.txt x")])
    for what, text in WRONG.items():
        program.remark(f"the project's file has {what}: {text}")
        write(repo, {PROJECT: text})
        program.run("list")
        program.run("execute", "--agent", "demo")
        program.run("decide", "t1", "--approve")
        program.run("set-status", "t1", "done")
    program.remark("git's configuration has a misspelt key and a wrong value")
    write(repo, {PROJECT: "{}"})
    git(repo, "config", "blackbird.execution.stopAfterEachTsk", "true")
    git(repo, "config", "blackbird.execution.idleMinutes", "soon")
    program.run("retry", "t1")
    program.run("config", "--unset", "execution.stopAfterEachTsk")
    program.run("config", "--unset", "execution.idleMinutes")
    program.remark("values out of range and keys that a project may not set warn and are passed over")
    wrong = {"execution": {"timeoutMinutes": 9999}, "claude": {"args": ["--x y", "z"], "path": "./evil"}}
    write(repo, {PROJECT: json.dumps(wrong)})
    program.run("execute", "--dry-run")
    program.run("execute", "--agent", "demo")
    program.run("status", "--json")
    program.check("config_wrong_file")


@pytest.mark.parametrize("text", ['{"execution": {"stopAfterEachTask": true},}', "[]", "\x00"])
def test_a_wrong_file_is_not_overwritten(program: Program, repo: Path, text: str) -> None:
    write(repo, {PROJECT: text})
    assert program.run("config", "agent", "demo", "--project") == 128
    assert (repo / PROJECT).read_text() == text


def test_the_go_programs_refresh_intervals_are_passed_over_and_kept(program: Program, repo: Path) -> None:
    intervals = {"runDataRefreshIntervalSeconds": 7, "planDataRefreshIntervalSeconds": "soon"}
    write(repo, {PROJECT: json.dumps({"tui": intervals})})
    save(repo, [])
    assert program.run("config") == 0
    assert program.run("execute", "--agent", "demo") == 0
    assert program.run("config", "tui.theme", "dark", "--project") == 0
    assert not re.search("interval|warning|error", program.text(), re.IGNORECASE)
    assert json.loads((repo / PROJECT).read_text())["tui"] == {**intervals, "theme": "dark"}


def test_everything_else_in_the_file_is_kept(program: Program, repo: Path) -> None:
    write(repo, {PROJECT: '{"x": {"y": [1]}, "EXECUTION": {"stopaftereachtask": false}}'})
    assert program.run("config", "execution.stopAfterEachTask", "true", "--project") == 0
    assert json.loads((repo / PROJECT).read_text()) == {
        "x": {"y": [1]},
        "EXECUTION": {"stopaftereachtask": True},
        "schemaVersion": 1,
    }
    assert program.run("config", "--unset", "X.Y", "--project") == 0
    assert "x" not in json.loads((repo / PROJECT).read_text())

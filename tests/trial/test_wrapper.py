"""Agents behind a command of the user's, such as one that runs them in a container."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGSTOP

import pytest

from tests.support import commit, git, wait_until
from tests.trial.program import ROOT, Trial

# What a client of a daemon does: its container is no descendant of its, and has only what it is given.
BOX = """#!/bin/sh
boxes=$(dirname "$0")/boxes; mkdir -p "$boxes"
verb=$1; name=$2; shift 2
echo "$verb $name" >>"$boxes/log"
if test "$verb" = kill; then kill -9 -"$(cat "$boxes/$name")"; exit; fi
while test "$1" != --; do echo "$1" >>"$boxes/$name.options"; shift; done; shift
export boxes name
(setsid env -i PATH="$PATH" boxes="$boxes" name="$name" sh -c 'echo $$ >"$boxes/$name"; exec "$@"' box "$@" &)
until test -s "$boxes/$name"; do sleep 0.01; done
trap '' INT TERM
while kill -0 "$(cat "$boxes/$name")" 2>/dev/null; do sleep 0.02; done
"""
OPTIONS = "--at={worktree} --git={git} --mine={scratch} --sessions={session} --env={environment}"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    box = repo.parent / "box"
    box.write_text(BOX)
    box.chmod(0o755)
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.wrapper": f"{box} run b-{{run}} {{tty}} {OPTIONS} --"})
    trial.configure({"execution.wrapperStop": f"{box} kill b-{{run}}", "execution.timeoutMinutes": "5"})
    return trial


def boxes(trial: Trial) -> Path:
    return trial.repo.parent / "boxes"


def is_box_at_work(trial: Trial) -> bool:
    (pid,) = [
        int(path.read_text()) for path in boxes(trial).iterdir() if path.suffix == "" and path.stem != "log"
    ]
    return Path(f"/proc/{pid}/stat").exists() and b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()


def start_endless(trial: Trial) -> "subprocess.Popen[str]":
    trial.command("echo begun >begun; sleep 600")
    process = trial.start("execute")
    wait_until((trial.repo / "begun").exists)
    return process


def test_an_agent_starts_behind_the_wrapper_which_is_told_its_places(trial: Trial) -> None:
    trial.command("echo done >done.txt")
    trial.configure({"execution.worktrees": "true"})
    trial.expect(0, "execute", "--no-input")
    assert (trial.repo / "done.txt").read_text() == "done\n"
    (record,) = trial.records("a")
    run = record["id"]
    assert (boxes(trial) / "log").read_text() == f"run b-{run}\n"
    options = (boxes(trial) / f"b-{run}.options").read_text().splitlines()
    scratch = next(option for option in options if option.startswith("--mine=")).removeprefix("--mine=")
    assert f"--at={record['blackbird']['worktree']['path']}" in options
    assert f"--git={git(trial.repo, 'rev-parse', '--absolute-git-dir')}" in options
    assert scratch.endswith(f"/git-blackbird-{run}")
    assert f"--sessions={scratch}" in options
    names = {option.removeprefix("--env=") for option in options if option.startswith("--env=")}
    assert {"BLACKBIRD_RUN_ID", "BLACKBIRD_TASK_ID", "BLACKBIRD_SESSION_ID", "TMPDIR"} <= names
    assert "PATH" not in names
    assert "{tty}" not in options


def test_what_is_no_child_of_anybody_ends_with_its_run(trial: Trial) -> None:
    process = start_endless(trial)
    assert is_box_at_work(trial)
    process.send_signal(SIGINT)
    process.communicate()
    assert not is_box_at_work(trial)
    (record,) = trial.records("a")
    assert (boxes(trial) / "log").read_text() == f"run b-{record['id']}\nkill b-{record['id']}\n"


def test_recovery_ends_what_is_no_child_of_anybody(trial: Trial) -> None:
    process = start_endless(trial)
    (record,) = trial.records("a")
    os.killpg(record["blackbird"]["process"]["pid"], SIGSTOP)
    process.kill()
    process.communicate()
    os.killpg(record["blackbird"]["process"]["pid"], SIGKILL)
    assert is_box_at_work(trial)
    trial.command("echo done >done.txt")
    trial.configure({"execution.wrapper": ""})
    trial.run("execute", "--no-input")
    assert not is_box_at_work(trial)


def test_a_wrapper_that_is_not_there_is_named_and_charged_to_no_task(trial: Trial) -> None:
    trial.command("true")
    trial.configure({"execution.wrapper": "/no/such/box --"})
    said = trial.expect(8, "execute", "--no-input")
    assert "execution.wrapper: cannot find the program '/no/such/box'" in said
    assert "--agent" not in said
    assert trial.records("a") == []


@pytest.mark.parametrize("agent", ["demo", "command"])
def test_a_wrapper_that_ends_without_starting_the_agent_is_named(trial: Trial, agent: str) -> None:
    trial.command("echo done")
    trial.configure({"execution.wrapper": "true", "agent": agent, "execution.acceptNoChange": "false"})
    _, said = trial.run("execute", "--no-input")
    silence = "the agent said nothing: execution.wrapper (true) may have ended without starting it"
    if agent == "demo":
        assert f"could not run a: exit status 0 before its answer: {silence}\n" in said
    else:
        assert silence in trial.expect(0, "runs", "a", trial.records("a")[0]["id"])


def test_a_stop_command_that_cannot_run_is_said(trial: Trial) -> None:
    trial.configure({"execution.wrapperStop": "no-such-program {run}"})
    process = start_endless(trial)
    process.send_signal(SIGINT)
    process.communicate()
    (record,) = trial.records("a")
    assert is_box_at_work(trial)
    assert "execution.wrapperStop did not run" in json.dumps(record["blackbird"]["notes"])
    subprocess.run([trial.repo.parent / "box", "kill", f"b-{record['id']}"], check=True)


@pytest.mark.on_disk
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap_as_documented_keeps_an_agent_in_its_places(trial: Trial) -> None:
    page = (ROOT / "docs/containers.md").read_text()
    words = page.partition("## Bubblewrap")[2].partition("execution.wrapper '")[2].partition("'")[0]
    trial.configure({"execution.wrapper": words, "execution.wrapperStop": ""})
    trial.command(
        "echo mine >mine.txt; echo out >../out.txt; git add mine.txt; cat >/dev/null; test -e mine.txt"
    )
    trial.expect(0, "execute", "--no-input")
    assert git(trial.repo, "diff", "--cached", "--name-only") == "mine.txt"
    assert not (trial.repo.parent / "out.txt").exists()

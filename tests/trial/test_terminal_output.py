"""Whatever an agent prints, writes or names: a terminal gets colours and text of it, nothing else."""

import re
import sys
from pathlib import Path

import pytest

from git_blackbird.cli.render.transcript import painted_diff
from tests.support import commit, git
from tests.trial.program import Trial

EVIL = (
    b"\x1b]0;PWNED\x07\x1b[2J\x1b[31mred\x1b]52;c;UFdORUQ=\x07\x1bP+q544e\x1b\\ \xc2\x9b31m"
    b"\xc2\x9d0;PWNED\xc2\x9c \x9b31m \x08\x7f\x00\x0c\xe2\x80\xae \xe2\x81\xa6 \x1b"
)
TEXT = b"text \x1b]0;PWNED\x07 \xc2\x9b31m \x1b[8mhidden\x1b[m \x1b[31mred\x1b[m\n"
AGENT = """
import os, sys
sys.stdin.read()
for stream in (sys.stdout.buffer, sys.stderr.buffer):
    stream.write({evil!r} + b"\\n" + bytes(range(256)) + b"\\n")
open(b"evil\\x1b[31m\\n\\x07name\\xff", "wb").write({evil!r})
open("text.txt", "wb").write({text!r})
os.symlink("\\x1b]0;PWNED\\x07", "link")
sys.stdout.buffer.write(b"final " + {text!r})
"""
RAW = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]")
COLOR = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(evil=EVIL, text=TEXT))
    trial = Trial(repo)
    trial.command(f"{sys.executable} {agent}")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.expect(0, "init")
    trial.expect(0, "add", "--id", "a", "--title", "A")
    return trial


@pytest.mark.exhaustive
def test_nothing_raw_reaches_a_terminal(trial: Trial) -> None:
    shown = {"execute": trial.on_terminal("execute", "--stream", "--no-input")}
    run = trial.records("a")[0]["id"]
    for command in (
        ("status",),
        ("list", "--all"),
        ("show", "a"),
        ("runs",),
        ("runs", "a"),
        ("runs", "a", run),
        ("runs", "a", run, "--log"),
        ("runs", "a", run, "--diff"),
        ("execute", "--no-input"),
        ("decide", "a", "--reject"),
    ):
        shown[" ".join(command)] = trial.on_terminal(*command)
    raw = {command: RAW.findall(COLOR.sub(b"", data)) for command, data in shown.items()}
    assert {command: found for command, found in raw.items() if found} == {}


def test_a_diff_in_a_pipe_is_the_patch_as_it_is(trial: Trial) -> None:
    trial.expect(3, "execute", "--no-input")
    ref = f"refs/blackbird/runs/{trial.records('a')[0]['id']}"
    assert trial.run("runs", "a", "--diff")[1] == git(trial.repo, "diff", f"{ref}:base", f"{ref}:head") + "\n"


def test_a_diff_on_a_terminal_has_colours_and_shows_those_of_files_as_text() -> None:
    pieces = [
        b"diff --git a/x b/x\n--- a/x\n@@ -1 +1 @@ de",
        b"f f():\n-old\r\n+\x1b[8mhid",
        b"den\x1b[0m\n \x1b]0;x\x07\n--- no header",
    ]
    colors = {"meta": "<m>", "frag": "<f>", "old": "<o>", "new": "<n>"}
    assert b"".join(painted_diff(iter(pieces), colors)) == (
        b"<m>diff --git a/x b/x\x1b[m\n<m>--- a/x\x1b[m\n<f>@@ -1 +1 @@ def f():\x1b[m\n<o>-old\x1b[m\n"
        b"<n>+^[[8mhidden^[[0m\x1b[m\n ^[]0;x^G\n<o>--- no header\x1b[m\n"
    )
    assert b"".join(painted_diff(iter([b"+a\n"]), {})) == b"+a\n"

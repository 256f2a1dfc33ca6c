"""Lines of a change that no test ran, where the check leaves coverage: by real tools, on each face."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

PYTHON = f"{sys.executable} -m"
RUN = f"{PYTHON} coverage run --source=pkg -m pytest -q -p no:cacheprovider --junitxml=report.xml"
XML, LCOV = (
    f"{RUN}; result=$?; {PYTHON} coverage {form} -q -o cov.{form}; exit $result" for form in ("xml", "lcov")
)
APP = "def double(x):\n    return x + x\n"
TESTS = "from pkg.app import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
EDIT = """\
printf 'def half(x):\\n    if x:\\n        return x // 2\\n    return 0\\n' >>pkg/app.py
printf 'def test_half():\\n    import pkg.app\\n    assert pkg.app.half(4) == 2\\n' >>test_app.py"""
SHORT = {
    "check.command": (
        "printf 'SF:pkg/app.py\\nDA:3,1\\nDA:4,1\\nDA:5,1\\nDA:6,0\\n' >cov.info; grep -q + pkg/app.py"
    ),
    "check.results": "",
}
WORD = "no test ran 1 of 4 added lines that can run"
JS = "exports.half = (x) => {\n  if (x) {\n    return x / 2\n  }\n  return 0\n}\n"
JS_TEST = (
    "const test = require('node:test'); test('half', () => {\n"
    "  require('node:assert').equal(require('../pkg/app.js').half(4), 2)\n})\n"
)
NODE = (
    "node --test --experimental-test-coverage --test-reporter=lcov "
    "--test-reporter-destination=cov.info test/*.js"
)
GO = "package pkg\n\nfunc Half(x int) int {\n\tif x != 0 {\n\t\treturn x / 2\n\t}\n\treturn 0\n}\n"
GO_TEST = 'package pkg\n\nimport "testing"\n\nfunc TestHalf(t *testing.T) {\n\tHalf(4)\n}\n'
GO_LCOV = """\
go test ./... -coverprofile=profile && sed -En \
    's/^(.*):([0-9]+)\\.[0-9]+,([0-9]+)\\.[0-9]+ [0-9]+ ([0-9]+)$/\\1 \\2 \\3 \\4/p' profile |
    awk '{ print "SF:" $1; for (i = $2; i <= $3; i++) print "DA:" i "," $4; print "end_of_record" }' >cov.info
"""
# Read before the tests are sealed: what is compiled into an empty cache takes ten seconds.
GO_CACHE = os.environ.get("GOCACHE") or str(Path("~/.cache/go-build").expanduser())


@pytest.fixture
def trial(repo: Path) -> Trial:
    files = {"pkg/app.py": APP, "pkg/__init__.py": "", "test_app.py": TESTS}
    commit(repo, {**files, ".gitignore": ".blackbird\nblackbird.plan.json\n.coverage\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.command": XML, "check.results": "report.xml", "check.coverage": "cov.*"})
    return trial


def said_of(trial: Trial, edit: str, status: int = 0) -> str:
    trial.command(edit)
    return trial.expect(status, "execute", "--no-input")


def test_each_face_says_which_lines_no_test_ran(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = said_of(trial, EDIT, 3)
    assert f"check of a passed: 2 tests (1s)\n  {WORD}\n" in re.sub(r"\(\d+s\)", "(1s)", said)
    (record,) = trial.records("a")
    for command in (("show", "a"), ("runs", "a", record["id"])):
        assert f"  {WORD}\n    pkg/app.py: 6\n" in trial.expect(0, *command)
    shown = trial.on_terminal("runs", "a", "--diff").replace(b"\r", b"").decode()
    assert re.findall(r"(?m)^\x1b\[33m#\x1b\[0m(.*)", shown) == ["\x1b[32m+    return 0\x1b[m"]
    # A program gets the patch as it is.
    assert "#" not in trial.expect(0, "runs", "a", "--diff")
    checkpoint = [json.loads(line) for line in trial.expect(3, "execute", "--json").splitlines()]
    (told,) = (event["evidence"]["coverage"] for event in checkpoint if event.get("evidence"))
    assert (told["lines"], told["missed"], told["files"][0]["path"]) == (4, 1, "pkg/app.py")
    trial.expect(0, "decide", "a", "--approve")
    assert f"checks: 1 passed; {WORD}; no reviews of changes" in trial.expect(0, "report")
    assert json.loads(trial.expect(0, "report", "--json"))["data"]["coverage"]["missed"] == 1


def test_reviewers_are_told(trial: Trial, tmp_path: Path) -> None:
    trial.configure({"reviews.mode": "parallel", **SHORT})
    told = tmp_path / "told"
    said_of(trial, f'in=$(cat); case "$in" in *\'"kind":"spec"\'*) echo "$in" >{told};; *) {EDIT};; esac', 3)
    assert f"{WORD}\n  pkg/app.py: 6\n" in told.read_text().replace("\\n", "\n")


def test_lcov_says_the_same_and_a_file_that_it_lacks_is_named(trial: Trial) -> None:
    trial.configure({"check.command": LCOV})
    said = said_of(trial, f"{EDIT}; echo 'print()' >script.py; echo text >text.txt")
    assert f"  {WORD}\n    pkg/app.py: 6\n  in no report of the lines that tests ran: script.py\n" in said


def node_writes_lcov() -> bool:
    version = subprocess.run(("node", "--version"), capture_output=True, text=True, check=True).stdout
    major, minor = map(int, version.removeprefix("v").split(".")[:2])
    return (major, minor) >= (20, 11)


@pytest.mark.parametrize(
    ("program", "command", "files", "missed"),
    [
        ("node", NODE, {"pkg/app.js": JS, "test/app.js": JS_TEST}, "pkg/app.js: 5"),
        (
            "go",
            GO_LCOV,
            {"pkg/app.go": GO, "pkg/app_test.go": GO_TEST, "go.mod": "module x.org/m\n"},
            "pkg/app.go: 7",
        ),
    ],
    ids=["node", "go"],
)
def test_other_tools_name_lines_by_their_own_paths(
    trial: Trial, tmp_path: Path, program: str, command: str, files: dict[str, str], missed: str
) -> None:
    if shutil.which(program) is None or (program == "node" and not node_writes_lcov()):
        pytest.skip(f"{program} is not installed, or writes no coverage")
    for path, text in files.items():
        (tmp_path / "new" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / path).write_text(text)
    trial.environ["GOCACHE"] = GO_CACHE
    trial.configure({"check.command": command, "check.results": ""})
    assert f"    {missed}\n" in said_of(trial, f"cp -r {tmp_path}/new/. .")


def test_a_known_verdict_says_the_lines_again_and_one_that_failed_says_none(trial: Trial) -> None:
    trial.configure(SHORT)
    said_of(trial, EDIT)
    trial.expect(0, "undo", "a")
    trial.plan({"a": (), "b": ()})
    said = said_of(trial, EDIT)
    assert "checking" not in said
    assert f"  {WORD}\n" in said
    trial.plan({"a": (), "b": (), "c": ()})
    assert "that can run" not in said_of(trial, "echo 'x = 1' >pkg/app.py")


def test_a_line_that_one_of_several_checks_ran_has_run(trial: Trial) -> None:
    trial.configure({"check.command": "", "check.coverage": "", "check.results": ""})
    for name, lines in (("one", "DA:3,1\\nDA:6,0"), ("two", "DA:3,0\\nDA:5,0\\nDA:6,1")):
        trial.configure(
            {
                f"check.{name}.command": f"printf 'SF:pkg/app.py\\n{lines}\\n' >cov.info",
                f"check.{name}.paths": "pkg",
                f"check.{name}.coverage": "cov.info",
            }
        )
    said = said_of(trial, EDIT)
    assert "  no test ran 1 of 3 added lines that can run\n    pkg/app.py: 5\n" in said


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("true", "the check left none, of a file of the repository, where check.coverage says"),
        ("echo x >cov.xml", "cov.xml is no coverage, as lcov or Cobertura writes it"),
        ("ln -s /etc/passwd cov.xml", "the results of the check cannot be read: cov.xml: "),
        ("mkfifo cov.xml", "the results of the check cannot be read: cov.xml: not a regular file"),
    ],
    ids=["none", "text", "link", "pipe"],
)
def test_coverage_of_which_nothing_is_known_is_said_and_counts_nothing(
    trial: Trial, command: str, fault: str
) -> None:
    # One that the change brings along no run wrote.
    commit(trial.repo, {"cov.xml": "SF:pkg/app.py\nDA:1,0\n"}, "brings")
    trial.configure({"check.command": f"test ! -e cov.xml && {command}", "check.results": ""})
    said = said_of(trial, EDIT)
    assert f"  which lines tests ran is not known: {fault}" in said
    assert trial.statuses() == {"a": "done"}

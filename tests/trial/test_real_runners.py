"""What is said of the tests of a change, with runners that people have, as they are started for JUnit XML."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import commit, write
from tests.trial.program import Trial

# Read before the tests are sealed: what is compiled into an empty cache takes ten seconds.
HOME = str(Path.home())
GO_CACHE = os.environ.get("GOCACHE") or str(Path("~/.cache/go-build").expanduser())


class Project(NamedTuple):
    """A project with two functions, a test of each, and one more test that passes every third time.

    ``name`` is what the results call a test, ``message`` what they say of ``double`` where it fails.
    ``removed`` is what the test of ``halve`` is called in its file.
    """

    program: str
    command: str
    code: str
    tests: str
    double: str
    half: str
    chance: str
    name: str
    message: str
    files: Mapping[str, str]
    removed: str = "test_half"

    def of(self, *tests: str) -> dict[str, str]:
        return {self.tests: "".join((self.files[self.tests], *tests))}


APP_PY = """\
def double(x):
    return x + x


def halve(x):
    return x // 2
"""
COUNT_PY = """\
from pathlib import Path
from app import double, halve


def count():
    seen = len(Path("{0}").read_text())
    Path("{0}").write_text("x" * (seen + 1))
    return seen
"""
PYTEST = Project(
    program=sys.executable,
    command=f"{sys.executable} -m pytest -q -p no:cacheprovider --junitxml=report.xml",
    code="app.py",
    tests="test_app.py",
    double="""

def test_double():
    assert double(2) == 4
""",
    half="""

def test_half():
    assert halve(4) == 2
""",
    chance="""

def test_chance():
    assert count() % 3 == 2
""",
    name="test_app.test_{}",
    message="assert 6 == 4",
    files={"app.py": APP_PY, "test_app.py": COUNT_PY},
)
UNITTEST = PYTEST._replace(
    double="""

import unittest
class App(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)
""",
    half="""
    def test_half(self):
        self.assertEqual(halve(4), 2)
""",
    chance="""
    def test_chance(self):
        self.assertEqual(count() % 3, 2)
""",
    name="test_app.App.test_{}",
    message="AssertionError: 6 != 4",
)
GO = Project(
    program="gotestsum",
    command="gotestsum --junitfile report.xml",
    code="app.go",
    tests="app_test.go",
    double="""
func Test_double(t *testing.T) {
	if got := double(2); got != 4 {
		t.Errorf("double(2) = %d", got)
	}
}
""",
    half="""
func Test_half(t *testing.T) {
	if got := halve(4); got != 2 {
		t.Errorf("halve(4) = %d", got)
	}
}
""",
    chance="""
func Test_chance(t *testing.T) {
	if count()%3 != 2 {
		t.Error("by chance")
	}
}
""",
    name="example.com/app.Test_{}",
    removed="Test_half",
    message="app_test.go:16: double(2) = 6",
    files={
        "go.mod": "module example.com/app\n\ngo 1.19\n",
        "app.go": """\
package app

func double(x int) int { return x + x }

func halve(x int) int { return x / 2 }
""",
        "app_test.go": """\
package app

import (
	"os"
	"testing"
)

func count() int {
	seen, _ := os.ReadFile("{0}")
	os.WriteFile("{0}", append(seen, 'x'), 0o600)
	return len(seen)
}
""",
    },
)
NODE = Project(
    program="node",
    command="node --test --test-reporter=junit --test-reporter-destination=report.xml",
    code="app.js",
    tests="app.test.js",
    double="""
describe("double", () => {
  it("works", () => assert.strictEqual(double(2), 4));
});
""",
    half="""
describe("half", () => {
  it("works", () => assert.strictEqual(halve(4), 2));
});
""",
    chance="""
describe("chance", () => {
  it("works", () => assert.strictEqual(count() % 3, 2));
});
""",
    name="{}.works",
    removed="works",
    message="Expected values to be strictly equal:6 !== 4",
    files={
        "app.js": "exports.double = x => x + x;\nexports.halve = x => x >> 1;\n",
        "app.test.js": """\
const { describe, it } = require("node:test");
const assert = require("node:assert");
const fs = require("node:fs");
const { double, halve } = require("./app.js");

function count() {
  const seen = fs.readFileSync("{0}").length;
  fs.appendFileSync("{0}", "x");
  return seen;
}
""",
    },
)
SHELL = Project(
    program="sh",
    command="sh run.sh",
    code="app.sh",
    tests="test_app.sh",
    double="""
test_double() {
    got=$(double 2); test "$got" = 4 || echo "double 2 is $got"
}
""",
    half="""
test_half() {
    got=$(halve 4); test "$got" = 2 || echo "halve 4 is $got"
}
""",
    chance="""
test_chance() {
    test $(($(count) % 3)) = 2 || echo by chance
}
""",
    name="app.{}",
    message="double 2 is 6",
    files={
        "app.sh": "double() { echo $(($1 + $1)); }\nhalve() { echo $(($1 / 2)); }\n",
        "test_app.sh": """\
. ./app.sh

count() {
    wc -c <"{0}"; printf x >>"{0}"
}
""",
        "run.sh": """\
. ./test_app.sh
exec >report.xml
bad=0
echo "<testsuite>"
for name in $(sed -n 's/^test_\\(.*\\)() {/\\1/p' test_app.sh); do
    says=$("test_$name")
    echo "<testcase classname='app' name='$name'>"
    if [ "$says" ]; then bad=1; echo "<failure message='$says'/>"; fi
    echo "</testcase>"
done
echo "</testsuite>"
exit $bad
""",
    },
)
JEST = NODE._replace(
    program="npm",
    command="{1}/.bin/jest --reporters={1}/jest-junit",
    double="""
describe("double", () => {
  it("works", () => expect(double(2)).toBe(4));
});
""",
    half="""
describe("half", () => {
  it("works", () => expect(halve(4)).toBe(2));
});
""",
    chance="""
test("chance works", () => expect(count() % 3).toBe(2));
""",
    name="{} works",
    message="Error: expect(received).toBe(expected) // Object.is equality",
    files={
        **NODE.files,
        "app.test.js": NODE.files["app.test.js"].partition('assert");\n')[2],
        "package.json": '{"jest-junit": {"outputName": "report.xml"}}',
    },
)
PROJECTS = {"pytest": PYTEST, "unittest": UNITTEST, "go": GO, "node": NODE, "jest": JEST, "shell": SHELL}


def installed_jest(folder: Path) -> str:
    """Return where jest is once its registry has served it."""
    folder.mkdir()
    command = ["npm", "install", "--no-audit", "--no-fund", "jest@30", "jest-junit@17"]
    if subprocess.run(command, cwd=folder, env={**os.environ, "HOME": HOME}, check=False).returncode:
        pytest.skip("npm does not serve jest")
    return str(folder / "node_modules")


@pytest.mark.parametrize(
    "project",
    [
        pytest.param(project, id=name, marks=pytest.mark.exhaustive if name in {"unittest", "jest"} else ())
        for name, project in PROJECTS.items()
    ],
)
def test_a_change_is_judged_by_the_tests_of_its_runner(repo: Path, tmp_path: Path, project: Project) -> None:
    if shutil.which(project.program) is None:
        pytest.skip(f"{project.program} is not installed")
    counted = tmp_path / "counted"
    counted.touch()
    modules = "" if project is not JEST else installed_jest(tmp_path / "jest")
    files = {path: text.replace("{0}", str(counted)) for path, text in project.files.items()}
    project = project._replace(files=files, command=project.command.replace("{1}", modules))
    ignored = {".gitignore": ".blackbird\nblackbird.plan.json\n"}
    commit(repo, {**files, **ignored, **project.of(project.double, project.half)}, "start")
    right = files[project.code]
    steps = {
        "adds": {f"more.{project.code}": right.replace("double", "twice").replace("halve", "split")},
        "breaks": {project.code: right.replace("x + x", "x * 3").replace("$1 + $1", "$1 * 3")},
        "fixes": {project.code: right},
        "removes": project.of(project.double),
        "flaky": project.of(project.double, project.chance),
    }
    for name, edits in steps.items():
        write(tmp_path / "edits" / name, edits)
    trial = Trial(repo, {"GOCACHE": GO_CACHE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    names = list(steps)
    trial.plan({name: tuple(names[max(at - 1, 0) : at]) for at, name in enumerate(names)})
    trial.configure({"check.command": project.command, "check.results": "report.xml"})
    trial.command(f'cp -r {tmp_path}/edits/"$BLACKBIRD_TASK_ID"/. .')

    said = trial.expect(0, "execute", "--no-input")

    removed = project.half.count("\n")
    double, half, chance = map(project.name.format, ("double", "half", "chance"))
    told = {
        # The new file has no test, and changes nothing of the others.
        "adds": ("passed: 2 tests (", ()),
        "breaks": (
            "failed: exit 1",
            (f"1 test fails because of this change:\n    {double}: {project.message}",),
        ),
        "fixes": ("passed: 2 tests (", (f"failed before, and pass now: {double}",)),
        "removes": (
            "weakened: exit 0, but tests that ran before the change are gone or skipped\n",
            (
                f"gone: {half}",
                f"tests edited or removed: {project.tests} (+0 -{removed}; asserts less: {project.removed})",
                # It is a script behind the one that the check starts, too, and has fewer lines.
                *([f"run by a check, and edited: {project.tests}"] if project.program == "sh" else []),
            ),
        ),
        "flaky": (
            "flaky: exit 1, and passed when run again on the same files: 2 tests\n",
            (f"flaky, failed and passed on the same files: {chance}",),
        ),
    }
    for name, (verdict, lines) in told.items():
        _, _, after = said.partition(f"\ncheck of {name} ")
        assert after.startswith(verdict), said
        assert re.findall(
            r"^  (\S.*(?:\n    \S.*)?)", after.partition("\nstarting ")[0], re.MULTILINE
        ) == list(lines)
    # Three times what failed each time, and until it passed what failed by chance.
    assert said.count("\nchecking breaks") == said.count("\nchecking flaky") == 3

"""Hunks of a change that no check notices, found by taking each back."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import commit, wait_until
from tests.trial.program import Trial

# Runs the tests as pytest would, in a tenth of its time, and leaves what lcov has of each.
RUNNER = """\
import sys, traceback
ran, failed, results = {"": set()}, False, []


def tracer(test):
    def trace(frame, event, _):
        if frame.f_code.co_filename.endswith("/app.py"):
            ran[test].add(frame.f_lineno)
        return trace

    return trace


sys.path.insert(0, ".")
sys.settrace(tracer(""))
import test_app

for name in [name for name in vars(test_app) if name.startswith("test_")]:
    ran[name], fault = set(), ""
    sys.settrace(tracer(name))
    try:
        vars(test_app)[name]()
    except Exception as error:
        fault = f"<failure message='{type(error).__name__}: failed'/>"
    sys.settrace(None)
    failed = failed or bool(fault)
    results.append(f"<testcase classname='test_app' name='{name}'>{fault}</testcase>")
open("report.xml", "w").write(f"<testsuite>{''.join(results)}</testsuite>")
code = [number for number, line in enumerate(open("app.py"), 1) if line.strip()]
with open("cov.info", "w") as report:
    for test, lines in ran.items():
        rows = "".join(f"DA:{line},{int(line in lines)}\\n" for line in code)
        print(f"TN:{test}\\nSF:app.py\\n{rows}end_of_record", file=report)
sys.exit(failed)
"""
APP = """\
def first(x):
    return x


def second(x):
    return x


def third(x):
    return x
"""
TESTS = "import app\n\n\ndef test_first():\n    assert app.first(1) == 1\n"


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    commit(repo, {"app.py": APP, "test_app.py": TESTS, **IGNORED}, "start")
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER)
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.command": f"{sys.executable} -BS {runner}", "check.results": "report.xml"})
    trial.configure({"check.prove": "true", "execution.stopAfterEachTask": "true"})
    return trial


IGNORED = {".gitignore": ".blackbird\nblackbird.plan.json\n"}
EDIT = r"""
cat >app.py <<'END'
import math


def first(x):
    # A comment is no hunk.
    return x + 1


def second(x):
    return abs(x)


def third(x):
    return checked(x)


def checked(x):
    return math.floor(x)
END
printf 'import app\n\n\ndef test_first():\n    assert app.first(1) == 2\n' >test_app.py
printf '    assert app.third(1.5) == 1\n' >>test_app.py
printf 'A text.\n' >README.md
"""


WORD = "noticed: 4 of 5 hunks, 1 by nothing"


def shown_everywhere(trial: Trial) -> None:
    (record,) = trial.records("a")
    for command in (("show", "a"), ("runs", "a", record["id"])):
        said = trial.expect(0, *command)
        assert re.search(rf"{WORD}\n +app\.py:10: unnoticed\n", said), said
    menu = trial.expect(3, "execute")
    assert menu.index("Noticed: 4 of 5 hunks") < menu.index("app.py:10: unnoticed") < menu.index("Run status")
    assert menu.index("M app.py") < menu.index("A README.md")
    assert re.search(r"Snippets:\n\W+app\.py\n", menu)
    report = trial.expect(0, "report", "--json")
    (task,) = json.loads(report)["data"]["undone"]
    assert task["proof"]["counts"] == {"unnoticed": 1, "noticed": 4}
    part = trial.expect(0, "runs", "a", "--diff", "--unproven")
    assert [line for line in part.splitlines() if line[:1] in "+-"][2:] == [
        "-    return x",
        "+    return abs(x)",
    ]
    first = trial.on_terminal("runs", "a", "--diff").decode()
    assert "? marks 2 lines that nothing notices" in first
    assert first.index("return abs(x)") < first.index("return x + 1")


def test_each_hunk_is_judged_and_what_nothing_notices_is_named(trial: Trial) -> None:
    trial.command(EDIT)
    said = trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("a")
    proof = record["blackbird"]["evidence"]["proof"]
    assert proof["counts"] == {"unnoticed": 1, "noticed": 4}, said
    parts = {
        (part["hunks"][0]["path"], part["hunks"][0]["new"]): (
            part["verdict"],
            part.get("by"),
            part.get("along"),
        )
        for part in proof["parts"]
    }
    noticed = "noticed", "test_app.test_first", None
    assert parts == {
        ("app.py", 0): (*noticed[:2], 2),
        ("app.py", 5): noticed,
        ("app.py", 9): ("unnoticed", None, None),
        ("app.py", 13): noticed,
        ("app.py", 16): (*noticed[:2], 1),
    }
    assert proof["left_out"] == [{"path": "README.md", "reason": "prose"}]
    # Six runs without hunks, as one passed twice; the first of all was the check's own.
    assert proof["runs"] == 6
    shown_everywhere(trial)
    again = trial.expect(0, "prove", "a")
    assert "noticed: 4 of 5 hunks, 1 by nothing\n  app.py:10: unnoticed\n" in again
    assert "checking" not in again
    assert trial.records("a")[0]["blackbird"]["evidence"]["proof"]["runs"] == 0


SCRIPT = """\
#!/bin/sh
first() { echo 1; }
# The second.
second() { echo 1; }
# The third.
third() { echo 1; }
case $1 in check)
    test "$(first)$(third)" = "${2:-12}" ;;
esac
"""


@pytest.fixture
def script(repo: Path) -> Trial:
    commit(repo, {"web/a.sh": SCRIPT, "api/b": "1\n", **IGNORED}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.web.command": "sh web/a.sh check", "check.web.paths": "web", "check.slots": "3"})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(
        "sed -i 's/^\\(second\\|third\\)\\(.*\\)1/\\1\\22/' web/a.sh; echo 2 >>api/b; echo x=1 >other.sh"
    )
    trial.expect(3, "execute", "--no-input")
    return trial


def proof_of(trial: Trial) -> dict[str, Any]:
    proof: dict[str, Any] = trial.records("a")[-1]["blackbird"]["evidence"]["proof"]
    return proof


def verdicts(trial: Trial) -> dict[str, tuple[str, str | None]]:
    places = (
        (" ".join(f"{hunk['path']}:{hunk['new'] + 1}" for hunk in part["hunks"]), part)
        for part in proof_of(trial)["parts"]
    )
    return {place: (part["verdict"], part.get("by") or part.get("reason")) for place, part in places}


def test_checks_see_the_files_that_they_are_for(script: Trial) -> None:
    said = script.expect(0, "prove", "a")
    assert verdicts(script) == {
        "web/a.sh:4": ("unnoticed", None),
        "web/a.sh:6": ("noticed", "check web"),
        "api/b:2": ("unseen", None),
        "other.sh:1": ("unseen", None),
    }
    # What another check notices is noticed, and what is known is not asked again.
    script.configure({"check.api.command": "test -e other.sh; grep -q 2 api/b"})
    again = script.expect(0, "prove", "a")
    assert verdicts(script) == {
        "web/a.sh:4": ("unnoticed", None),
        "web/a.sh:6": ("noticed", "check web"),
        "api/b:2": ("noticed", "check api"),
        "other.sh:1": ("unnoticed", None),
    }
    assert said.count("check web") == 3
    assert again.count("check web") == 0


def test_a_criterion_that_nobody_agreed_to_keeps_no_change_from_being_proved(repo: Path) -> None:
    commit(repo, {"a.py": "x = 1\n", **IGNORED}, "start")
    trial = Trial(repo)
    trial.expect(0, "init")
    trial.expect(0, "add", "A", "--ac", "$ true")
    trial.configure({"check.command": "test -s a.py", "check.criteria": "true", "check.prove": "true"})
    trial.command("echo y = 2 >>a.py")
    said = trial.expect(3, "execute", "--no-input")
    assert "criterion $ true of a not run: nobody agreed to it on this machine" in said
    assert proof_of(trial)["counts"] == {"unnoticed": 1}


def test_what_there_was_no_time_for_is_open_and_gone_on_with(script: Trial, tmp_path: Path) -> None:
    marks = tmp_path / "ran"
    slowly = f"echo >>{marks}; test $(wc -l <{marks}) = 1 || sleep 1.1"
    script.configure({"check.web.command": f"{slowly}; sh web/a.sh check", "check.slots": "1"})
    seen = set[tuple[str, str | None]]()
    for _ in range(8):
        said = script.expect(0, "prove", "a", "--seconds", "1")
        seen.add(verdicts(script)["web/a.sh:4"])
        is_open = any(verdict == "open" for verdict, _ in verdicts(script).values())
        assert ("git blackbird prove a    # goes on with what is open" in said) is is_open
    assert seen >= {("open", "the check passed once without it"), ("unnoticed", None)}, said
    assert "noticed: 1 of 4 hunks, 3 by nothing\n" in said
    # Once with all of the change, twice and once without a hunk: a call goes on with what one before it knew.
    assert len(marks.read_text()) == 4
    printed = json.loads(script.expect(0, "prove", "a", "--json").splitlines()[-1])["data"]
    assert (printed["task"], printed["run"]) == ("a", script.records("a")[-1]["id"])
    assert printed["proof"]["counts"] == {"unnoticed": 1, "unseen": 2, "noticed": 1}


def test_what_was_judged_is_kept_when_it_is_interrupted(script: Trial, tmp_path: Path) -> None:
    marks, goes_on = tmp_path / "ran", tmp_path / "goes on"
    waits = (
        f"echo >>{marks}; test $(wc -l <{marks}) -lt 4 || while ! test -e '{goes_on}'; do sleep 0.05; done"
    )
    script.configure({"check.web.command": f"{waits}; sh web/a.sh check", "check.slots": "1"})
    process = script.start("prove", "a")
    wait_until(lambda: marks.exists() and len(marks.read_text()) >= 4)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "what is known of a is kept" in said
    goes_on.touch()
    said = script.expect(0, "prove", "a")
    assert "noticed: 1 of 4 hunks" in said
    assert "without web/a.sh:4" not in said


@pytest.mark.parametrize("slots", ["1", "3"])
def test_hunks_that_stand_in_for_each_other_are_noticed_together(repo: Path, slots: str) -> None:
    one, two = (f'{name}() {{ x="$1"; echo "$x"; }}\n' for name in ("one", "two"))
    test = 'test "$(two "$(one \' 1\')")" = 1'
    commit(repo, {"a.sh": f"#!/bin/sh\n# First.\n{one}# Then.\n{two}"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.command": f". ./a.sh; {test}", "check.slots": slots})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("""sed -i 's/="$1"/=$(clean "$1")/; 1a clean() { echo "$1" | tr -d " "; }' a.sh""")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "prove", "a")
    together = "noticed", "check"
    assert verdicts(trial) == {"a.sh:2": together, "a.sh:4": together, "a.sh:6": together}
    reasons = [part.get("reason") for part in proof_of(trial)["parts"]]
    assert reasons.count("by all 2 together that use the same") == 2


def test_hunks_that_no_test_has_in_common_share_a_run(trial: Trial) -> None:
    names = ("first", "second", "third", "fourth")
    functions = "\n\n".join(f"def {name}(x):\n    return x\n" for name in names)
    tests = (f"def test_{name}():\n    assert app.{name}(1) >= 1\n" for name in names[:3])
    commit(trial.repo, {"app.py": functions, "test_app.py": "\n\n".join(("import app\n", *tests))})
    trial.configure({"check.coverage": "cov.info"})
    trial.command("sed -i 's/return x/return x + 1/' app.py; sed -i '/third/!s/>= 1/>= 2/' test_app.py")
    trial.expect(3, "execute", "--no-input")
    assert verdicts(trial) == {
        "app.py:2": ("noticed", "test_app.test_first"),
        "app.py:6": ("noticed", "test_app.test_second"),
        "app.py:10": ("unnoticed", None),
        "app.py:14": ("unrun", None),
    }
    # All but the last at once, and the one that passed again.
    assert proof_of(trial)["runs"] == 2


@pytest.mark.exhaustive
def test_one_without_which_a_check_does_not_end_is_inconclusive(script: Trial) -> None:
    script.configure({"check.web.command": "until sh web/a.sh check 12; do :; done"})
    script.expect(0, "prove", "a")
    verdict, reason = verdicts(script)["web/a.sh:6"]
    assert verdict == "inconclusive"
    times = "three times what it takes with all of the change, for each of check.slots"
    assert reason == f"it was not done after 5 s ({times})"
    # It is not known for good.
    assert "without web/a.sh:6" in script.expect(0, "prove", "a")


def test_what_cannot_be_proved_is_said(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    assert "there is no change of a to prove: it has no run" in trial.expect(1, "prove", "a")
    trial.command("echo 2 >a")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.expect(3, "execute", "--no-input")
    assert "no check is configured that could notice anything" in trial.expect(1, "prove", "a")
    trial.configure({"check.command": "false"})
    assert "nothing can be told of a: the check does not pass with all of the change" in trial.expect(
        1, "prove", "a"
    )
    trial.command("echo 3 >a; exit 1")
    trial.expect(0, "decide", "a", "--request-changes", "-m", "more")
    trial.expect(3, "execute", "--no-input")
    assert "has failed: what it did is not checked" in trial.expect(1, "prove", "a")
    begun = tmp_path / "begun"
    trial.command(f"echo 1 >b; touch '{begun}'; while test -e '{begun}'; do sleep 0.05; done")
    trial.expect(0, "decide", "a", "--approve")
    process = trial.start("execute", "--no-input")
    wait_until(begun.exists)
    process.kill()
    process.communicate()
    assert "has not ended" in trial.expect(1, "prove", "b")
    begun.unlink()


def test_what_nothing_notices_is_told_to_reviewers_and_requested_of_the_agent(
    trial: Trial, tmp_path: Path
) -> None:
    trial.configure({"reviews.mode": "parallel", "reviews.maxIterations": "1"})
    trial.command(f'in=$(cat); case "$in" in *spec-review*) echo "$in" >{tmp_path}/told;; *) {EDIT};; esac')
    trial.expect(3, "execute", "--no-input")
    told = (tmp_path / "told").read_text().replace("\\n", "\n")
    word = told.index(f"{WORD}\n  app.py:10: unnoticed\n")
    assert word < told.index("=== END DATA evidence") < told.index("=== BEGIN DATA diff")
    assert told.index("=== END DATA diff") < told.index("Begin with those that they do not")
    trial.configure({"reviews.mode": "off"})
    trial.command(EDIT)
    trial.expect(0, "decide", "a", "--request-changes")
    request = trial.records("a")[0]["decision_feedback"]
    assert re.search(r"No check notices these parts of your change.*\n\n- app\.py:10\n\n", request), request
    # A test that misses its module has noticed that it is gone.
    test = (
        r"    assert app.second(-1) == 1\n\n\ndef test_half():\n    import half\n    assert half.ONE == 1\n"
    )
    trial.command(f"printf '{test}' >>test_app.py; echo ONE = 1 >half.py")
    said = trial.expect(3, "execute", "--no-input")
    assert "noticed: 6 of 6 hunks" in said, said
    assert trial.expect(0, "runs", "a", "--diff", "--unproven") == ""

"""Tests first, and files that are protected: what more a check is asked than whether a change passes."""

import sys
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial
from tests.trial.test_check_results import RUNNER

CHECK = (
    f"{sys.executable} -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=report.xml"
)
APP = "def double(x):\n    return x * 3 if x == 5 else x + x\n"
TESTS = "import app\n\n\ndef test_double():\n    assert app.double(2) == 4\n"


@pytest.fixture
def trial(repo: Path) -> Trial:
    ignored = ".blackbird\nblackbird.plan.json\n"
    files = {"app.py": APP, "tests/test_app.py": TESTS, ".gitignore": ignored}
    commit(repo, files, "start")
    trial = Trial(repo, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    trial.plan({"a": ()})
    trial.configure({"check.command": CHECK, "check.results": "report.xml"})
    return trial


def adds(name: str, body: str, path: str = "tests/test_app.py") -> str:
    return f"printf '\\n\\ndef test_{name}():\\n    {body}\\n' >>{path}; "


FIXES = "sed -i 's/x .*/x + x/' app.py; "


def test_tests_of_a_change_are_seen_to_fail_without_it_or_are_missing(trial: Trial) -> None:
    trial.configure({"check.redGreen": "true", "execution.stopAfterEachTask": "true"})
    trial.command(
        FIXES
        + "printf 'def triple(x):\\n    return 3 * x\\n' >more.py; "
        + adds("five", "assert app.double(5) == 10")
        + adds("six", "assert app.double(6) == 12")
        + adds("inner", "from more import triple; assert triple(1) == 3")
        + "printf 'from more import triple\\n' >tests/test_more.py; "
        + adds("outer", "assert triple(1) == 3", "tests/test_more.py")
    )
    said = trial.expect(3, "execute")
    proof = """
Tests first: without the change tests.test_app.test_five failed
  pass without it as well: tests.test_app.test_six
  cannot be loaded without it: tests.test_app.test_inner, tests.test_more.test_outer (ModuleNotFoundError: """
    assert proof in said
    assert f"\n  {proof.strip().replace('T', 't', 1).replace(chr(10), chr(10) + '  ')}" in trial.expect(
        0, "show", "a"
    )
    trial.expect(0, "decide", "a", "--approve")
    assert "; checks: 1 passed; tests first: 1 of 1; no reviews" in trial.expect(0, "report")
    # Once for each tree: a red that is hoped for is not looked at again.
    assert said.count("\nchecking ") == 3
    assert fact(trial.records("a")[-1], "evidence")["red_green"]["red"] == ["tests.test_app.test_five"]


def test_a_change_without_a_test_of_its_own_has_no_proof(trial: Trial) -> None:
    trial.configure({"check.redGreen": "true", "execution.stopAfterEachTask": "true"})
    trial.command(FIXES)
    said = trial.expect(3, "execute")
    assert "\nTests first: missing, no test is known to fail without the change\n" in said
    assert said.count("\nchecking ") == 2


def test_protected_files_are_put_back_for_another_verdict_and_the_agent_is_told(trial: Trial) -> None:
    commit(trial.repo, {"app": "4\n", "tests/run.sh": RUNNER, "tests/t_four.sh": "grep 4 ../app\n"}, "shell")
    trial.configure({"check.command": "cd tests && sh run.sh", "check.results": "tests/report.xml"})
    trial.configure({"check.protect": "tests/", "check.mode": "gate"})
    empties = "echo 5 >app; echo true >tests/t_four.sh; echo true >tests/t_new.sh"
    trial.command(f"cat >>seen; if [ -e tests/t_new.sh ]; then git checkout -q app; else {empties}; fi")
    said = trial.expect(0, "execute", "--no-input")
    assert "\ncheck of a passed: 2 tests (" in said
    assert (
        """
check of a failed: exit 1, with protected files as before
changes to a requested by its check
  as before: tests/t_four.sh, tests/t_new.sh
  1 test fails because of this change:
    t_four.sh
  tests edited or removed: tests/t_four.sh (+1 -1)
"""
        in said
    )
    told = (trial.repo / "seen").read_text().replace("\\n", "\n")
    assert (
        "Protected files were in it as they were before your change: tests/t_four.sh, tests/t_new.sh" in told
    )
    assert "- t_four.sh: failed" in told
    # They are only checked so: what was made of them stays.
    assert "check of a passed, with protected files as before: 1 test (" in said
    assert (trial.repo / "tests/t_four.sh").read_text() == "true\n"
    alone, guarded = fact(trial.records("a")[-1], "evidence")["checks"]
    assert "restored" not in alone
    assert (guarded["restored"], guarded.get("tree")) == (["tests/t_four.sh", "tests/t_new.sh"], None)

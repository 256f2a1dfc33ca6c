"""Hunks of a change that no check notices, found by taking each back."""

import sys
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

PYTEST = f"{sys.executable} -B -m pytest -q -p no:cacheprovider --junitxml=report.xml"
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
def trial(repo: Path) -> Trial:
    commit(
        repo,
        {"app.py": APP, "test_app.py": TESTS, ".gitignore": ".blackbird\nblackbird.plan.json\n"},
        "start",
    )
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.command": PYTEST, "check.results": "report.xml", "check.prove": "true"})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


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
        ("app.py", 4): noticed,
        ("app.py", 9): ("unnoticed", None, None),
        ("app.py", 13): noticed,
        ("app.py", 16): (*noticed[:2], 1),
    }
    assert proof["left_out"] == [{"path": "README.md", "reason": "prose"}]
    # Six runs without hunks, as one passed twice; the first of all was the check's own.
    assert proof["runs"] == 6
    again = trial.expect(0, "prove", "a")
    assert "noticed: 4 of 5 hunks, 1 by nothing\n  app.py:10: unnoticed\n" in again
    assert "checking" not in again
    assert trial.records("a")[0]["blackbird"]["evidence"]["proof"]["runs"] == 0

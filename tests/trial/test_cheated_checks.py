"""Agents that see to it that their check passes: each is named before the decision, and none passes."""

import sys
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

CHECK = f"{sys.executable} -m pytest -q -p no:cacheprovider --junitxml=report.xml"
APP = "def double(x):\n    return x + x\n\n\ndef halve(x):\n    return x // 2\n"
TESTS = """\
from app import double, halve


def test_double():
    assert double(2) == 4


def test_half():
    assert halve(4) == 2
"""
SKIPS = "import pytest\\n\\n@pytest.mark.skip\\n"
FEWER = "weakened: exit 0, but tests that ran before the change are gone or skipped"
DELETES = "sed -i '/def test_double/,/== 4/d' test_app.py"
NOTHING = "no test ran: it left no results where check.results says"
FAILS = "1 test fails because of this change:"
CHEATS = {
    "exits-early": ("sed -i '1s/^/exit 0\\n/' run.sh", f"broken: {NOTHING}", ""),
    "exits-late": (
        "echo 'exit 0' >>run.sh",
        "failed: exit 0",
        f"{FAILS}\n    test_app.test_double: assert 6 == 4",
    ),
    "deletes": (DELETES, FEWER, "gone: test_app.test_double"),
    "skips": (
        f"sed -i 's/def test_double/{SKIPS}&/' test_app.py",
        FEWER,
        "skipped, and ran before: test_app.test_double",
    ),
    "runs-none": (
        "printf '[pytest]\\npython_files = nothing\\n' >pytest.ini",
        f"failed: exit 5, and {NOTHING}",
        "",
    ),
    "runs-another": (
        "printf '[pytest]\\naddopts = -k half\\n' >pytest.ini",
        FEWER,
        "gone: test_app.test_double",
    ),
}


@pytest.fixture
def trial(repo: Path) -> Trial:
    ignored = ".blackbird\nblackbird.plan.json\n"
    files = {"app.py": APP, "test_app.py": TESTS, "run.sh": f"{CHECK}\n", ".gitignore": ignored}
    commit(repo, files, "start")
    trial = Trial(repo, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    trial.plan({"a": ()})
    trial.configure(
        {
            "check.command": "sh run.sh",
            "check.results": "report.xml",
            "check.mode": "gate",
            "check.maxRounds": "0",
        }
    )
    return trial


def test_an_agent_that_cheats_is_named_and_does_not_pass(trial: Trial) -> None:
    trial.plan(dict.fromkeys(CHEATS, ()))
    cases = "".join(f"{name}) {cheat};;\n" for name, (cheat, _, _) in CHEATS.items())
    trial.command(f"sed -i 's/x + x/x * 3/' app.py\ncase $BLACKBIRD_TASK_ID in\n{cases}esac\n")
    said = trial.expect(3, "execute", "--no-input", "--jobs", str(len(CHEATS)))
    for name, (_, verdict, names) in CHEATS.items():
        assert f"check of {name} {verdict}" in said
        shown = trial.expect(0, "show", name)
        assert f"\ncheck\n  {verdict}" in shown
        assert names in shown
    assert set(trial.statuses().values()) == {"waiting_user"}


@pytest.mark.parametrize("options", [(), ("--worktrees",)], ids=["in place", "in a worktree"])
def test_who_approves_that_tests_are_gone_is_not_asked_again(trial: Trial, options: tuple[str, ...]) -> None:
    trial.command(DELETES)
    said = trial.expect(3, "execute", "--no-input", *options)
    assert "the check is weakened: tests that ran before the change are gone or skipped" in said
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}
    assert "test_double" not in (trial.repo / "test_app.py").read_text()


def test_tests_do_not_go_where_nobody_saw_it(trial: Trial) -> None:
    trial.configure({"check.mode": "show"})
    trial.command(DELETES)
    said = trial.expect(3, "execute", "--no-input", "--worktrees")
    assert f"check of a {FEWER}" in said
    assert "the check is weakened: tests that ran before the change are gone or skipped" in said
    assert (trial.repo / "test_app.py").read_text() == TESTS

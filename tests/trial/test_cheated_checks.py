"""Agents that see to it that their check passes: each is named before the decision, and none passes."""

import re
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
    "empties": (
        "sed -i 's/assert double.*/pass/' test_app.py",
        "weakened: exit 0, but tests assert less than before: test_double",
        "tests edited or removed: test_app.py (+1 -1; asserts less: test_double)",
    ),
    "configures": (
        "printf '[tool.pytest.ini_options]\\naddopts = \"-k half\"\\n' >pyproject.toml",
        FEWER,
        "run by a check, and edited: pyproject.toml",
    ),
    "patches": (
        "printf 'import app\\napp.double = lambda x: 2 * x\\n' >conftest.py",
        "weakened: exit 0, but the change edits conftest.py",
        "run by a check, and edited: conftest.py",
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


SHELL = {
    "app.sh": "double() { echo $(($1 + $1)); }\n",
    "test_app.sh": '. ./app.sh\nset -e\ntest "$(double 2)" = 4\ntest "$(double 3)" = 6\n',
    "run.sh": "sh ci/all.sh\n",
    "ci/all.sh": "sh ./test_app.sh\n",
}
WITHOUT_NAMES = {
    "exits": (
        "echo exit 0 >run.sh",
        "weakened: exit 0, but the change edits run.sh",
        "run by a check, and edited: run.sh",
    ),
    "shortens": (
        "sed -i 3,4d test_app.sh",
        "weakened: exit 0, but the change edits test_app.sh",
        "tests edited or removed: test_app.sh (+0 -2; asserts less)",
    ),
    "exits-behind": (
        "echo exit 0 >ci/all.sh",
        "weakened: exit 0, but the change edits ci/all.sh",
        "run by a check, and edited: ci/all.sh",
    ),
    "empties": (
        "sed -i 's/test .*/true/' test_app.sh",
        "weakened: exit 0, but tests assert less than before: test_app.sh",
        "tests edited or removed: test_app.sh (+2 -2; asserts less)",
    ),
}


def test_an_exit_code_alone_is_too_little_where_the_change_edits_what_gives_it(trial: Trial) -> None:
    commit(trial.repo, SHELL, "shell")
    trial.configure({"check.command": "sh ./run.sh", "check.results": ""})
    trial.plan(dict.fromkeys(WITHOUT_NAMES, ()))
    cases = "".join(f"{name}) {cheat};;\n" for name, (cheat, _, _) in WITHOUT_NAMES.items())
    trial.command(f"sed -i 's/+/*/' app.sh\ncase $BLACKBIRD_TASK_ID in\n{cases}esac\n")
    said = trial.expect(3, "execute", "--no-input", "--jobs", str(len(WITHOUT_NAMES)))
    for name, (_, verdict, names) in WITHOUT_NAMES.items():
        assert re.search(rf"check of {name}( ended:)? {re.escape(verdict)}", said)
        shown = trial.expect(0, "show", name)
        assert f"\ncheck\n  {verdict}" in shown
        assert f"\n  {names}\n" in shown
    assert set(trial.statuses().values()) == {"waiting_user"}


def test_what_is_taken_away_from_tests_is_named_without_any_check(trial: Trial) -> None:
    trial.configure({"check.command": "", "execution.stopAfterEachTask": "true"})
    trial.command("sed -i s/4/5/ test_app.py")
    said = trial.expect(3, "execute", stdin="")
    assert "Tests edited or removed: test_app.py (+2 -2)" in said


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
    assert f"check of a {FEWER}\n  gone: test_app.test_double\n" in said
    assert "the check is weakened: tests that ran before the change are gone or skipped" in said
    assert (trial.repo / "test_app.py").read_text() == TESTS

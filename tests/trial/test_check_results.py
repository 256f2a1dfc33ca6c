"""What a check says of tests: by their names, where it leaves results, and what a second look finds."""

import sys
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:randomly --junitxml=report.xml >out 2>&1"
TESTS = (
    "from app import double, half\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    "def test_half():\n    assert half(4) == 2\n"
)
APP = "def double(x):\n    return x + x\n\n\ndef half(x):\n    return x // 2\n"

RUNNER = """\
exec >report.xml
printf '<testsuite>'
bad=0
for name in t_*.sh; do
    if says=$(sh "./$name"); then printf '<testcase name="%s"/>' "$name"; continue; fi
    bad=1
    printf '<testcase name="%s"><failure message="%s"/></testcase>' "$name" "$says"
done
printf '</testsuite>'
exit $bad
"""
BY_CHANCE = """\
times=$(cat {0} 2>/dev/null || echo 0)
echo $((times + 1)) >{0}
echo by chance
test $((times % 3)) = 2
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(
        repo,
        {"app.py": APP, "test_app.py": TESTS, ".gitignore": ".blackbird\nblackbird.plan.json\n"},
        "start",
    )
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"check.command": PYTEST, "check.results": "report.xml"})
    return trial


def said_of(trial: Trial, edit: str, status: int = 0) -> str:
    trial.command(f"cat >>seen; {edit}")
    return trial.expect(status, "execute", "--no-input")


def test_a_change_that_breaks_a_test_is_said_which_with_what_it_says(trial: Trial) -> None:
    said = said_of(trial, "sed -i 's/x + x/x * 3/' app.py")
    assert "check of a failed: exit 1\n  1 test fails because of this change:\n" in said
    assert "    test_app.test_double: assert 6 == 4" in said
    assert "test_half" not in said


def in_shell(trial: Trial, **tests: str) -> None:
    """Commit a project whose tests are shell scripts, with its runner as the check."""
    commit(trial.repo, {"run.sh": RUNNER, **{f"t_{name}.sh": text for name, text in tests.items()}}, "tests")
    trial.configure({"check.mode": "gate", "check.command": "sh run.sh"})


def test_the_agent_is_sent_the_names_and_what_they_say(trial: Trial) -> None:
    in_shell(trial, one="true\n", two="true\n")
    trial.configure({"check.maxRounds": "1"})
    said_of(trial, "echo 'echo as it was not; false' >t_two.sh", 3)
    seen = (trial.repo / "seen").read_text()
    assert "These tests fail, and did not before your change:\n\n- t_two.sh: as it was not\n" in seen.replace(
        "\\n", "\n"
    )
    assert "t_one.sh" not in seen


def test_a_runner_that_is_made_to_exit_with_0_hides_no_failure(trial: Trial) -> None:
    in_shell(trial, one="true\n")
    trial.configure({"check.mode": "show"})
    said = said_of(trial, "echo false >t_one.sh; sed -i 's/exit $bad/exit 0/' run.sh")
    assert "check of a failed: exit 0\n  1 test fails because of this change:\n    t_one.sh" in said


def test_what_never_leaves_results_is_broken_until_its_cause_is_mended(trial: Trial, tmp_path: Path) -> None:
    result = "<testsuite><testcase classname='app' name='one'/></testsuite>"
    runs = f'[ -e {tmp_path}/tool ] || exit 1\necho "{result}" >report.xml\n'
    commit(trial.repo, {"run.sh": runs}, "no results")
    trial.configure({"check.command": "sh run.sh"})
    never = "check of a broken: no test ran: it left no results where check.results says\n"
    assert never in said_of(trial, "echo new >new.txt")
    (tmp_path / "tool").touch()
    trial.plan({"a": (), "b": ()})
    # Its base is what was checked before.
    said = said_of(trial, "echo more >more.txt")
    assert "\nchecking the base of b: sh run.sh\ncheck of b passed: 1 test (" in said


def test_one_that_failed_before_counts_nothing_and_one_that_is_mended_is_said(trial: Trial) -> None:
    in_shell(trial, one="false\n", two="false\n")
    said = said_of(trial, "echo true >t_two.sh")
    assert "check of a passed: no new failure in 2 tests (" in said
    assert "  failed before as well: t_one.sh\n" in said
    assert "  failed before, and pass now: t_two.sh\n" in said
    assert trial.statuses() == {"a": "done"}


def test_results_that_the_change_brings_along_are_none(trial: Trial) -> None:
    result = '<testsuite><testcase classname="app" name="made up"/></testsuite>'
    trial.configure({"check.command": "true"})
    assert "check of a broken: no test ran" in said_of(trial, f"echo '{result}' >report.xml")


def test_a_test_that_fails_by_chance_is_flaky_and_then_no_reason_against_a_change(
    trial: Trial, tmp_path: Path
) -> None:
    in_shell(trial, good="true\n", chance=BY_CHANCE.format(tmp_path / "times"))
    said = said_of(trial, "echo new >new.txt")
    assert "check of a flaky: exit 1, and passed when run again on the same files: 2 tests\n" in said
    assert "  flaky, failed and passed on the same files: t_chance.sh\n" in said
    assert trial.statuses() == {"a": "done"}
    report = trial.expect(0, "report")
    # On the base, too.
    assert "\nflaky: failed, and passed on the same files\n  t_chance.sh: 2 times\n" in report
    # It is known by now: where it fails each time, and nothing else does, that says nothing.
    trial.plan({"a": (), "b": ()})
    said = said_of(trial, "echo false >t_chance.sh")
    assert "check of b flaky: exit 1, and passed when run again on the same files: 2 tests\n" in said
    # Beside another it is no excuse.
    trial.plan({"a": (), "b": (), "c": ()})
    said = said_of(trial, "echo 'echo no; false' >t_good.sh", 3)
    assert "check of c failed: exit 1\nchanges to c requested by its check\n" in said
    shown = trial.expect(0, "show", "c")
    assert "\ncheck\n  failed: exit 1\n  1 test fails because of this change:\n    t_good.sh: no\n" in shown


def test_a_command_that_can_only_succeed_is_named_when_it_is_set(trial: Trial) -> None:
    said = trial.expect(0, "config", "check.command", "make test || true")
    assert "warning: check.command: this command can only succeed, so it says nothing of a change\n" in said

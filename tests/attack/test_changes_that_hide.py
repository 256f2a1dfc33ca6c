"""An agent that writes attributes and settings which keep its change out of sight."""

from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

HIDING = """
echo '* -diff linguist-generated' >.gitattributes
echo '* binary' >.git/info/attributes
git config diff.external true
mkdir -p src
echo '*.key' >src/.gitignore
echo 'import os' >!first.py
echo 'steal()' >>old.py
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.py": "one\n"})
    trial = Trial(repo, {"GIT_EXTERNAL_DIFF": "true"})
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(HIDING)
    return trial


def test_a_change_does_not_hide_its_lines_and_its_rules_come_first(trial: Trial) -> None:
    assert "completed a: 4 files, +4 -0" in trial.run("execute", "--no-input")[1]
    first = [".gitattributes", "src/.gitignore", "!first.py", "old.py"]
    (record,) = trial.records("a")
    summary = record["review_summary"]
    assert (summary["files"], [each["file"] for each in summary["snippets"]]) == (first, first[:3])
    added = ["+* -diff linguist-generated", "+*.key", "+import os", "+steal()"]
    diff = trial.expect(0, "runs", "a", "--diff").splitlines()
    assert [line for line in diff if line.startswith("+") and not line.startswith("+++")] == added
    # The form with lines to comment.
    trial.environ["GIT_EDITOR"] = "cp $1 form; false"
    trial.run("decide", "a", "--request-changes", "--edit")
    form = (trial.repo / "form").read_text()
    assert all(f"\n{line}\n" in form for line in added)

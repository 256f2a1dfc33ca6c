"""``show`` says why a task is as it is."""

from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial

PAGE = """\
## Tables

Create them.

## Orders
after: Tables
because Tables: it reads what is there

Read them.
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.expect(0, "init")
    trial.expect(0, "add", "-", stdin=PAGE)
    return trial


def test_a_dependency_is_shown_with_its_reason(trial: Trial) -> None:
    assert "\n  tables  READY  Tables, because it reads what is there\n" in trial.expect(0, "show", "orders")
    assert "\nneeded by\n  orders  BLOCKED  Orders\n" in trial.expect(0, "show", "tables")


def test_what_nothing_would_get_on_is_said_to_be_so_as_in_the_status(trial: Trial) -> None:
    trial.expect(0, "set-status", "tables", "in_progress")
    why = "in progress, but it has no run, unblocks 1 task\n"
    assert "  tables  Tables: in progress, but it has no run, unblocks 1 task\n" in trial.expect(0, "status")
    assert f"\ndue\n  {why}      git blackbird retry tables\n" in trial.expect(0, "show", "tables")

"""``git blackbird`` alone where there is no plan, and what is listed where all is done."""

from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from tests.cli.plans import task
from tests.cli.terminal import ENTER, Terminal
from tests.controller.support import leaf, put_plan
from tests.trial.program import Trial


@pytest.mark.exhaustive
def test_where_there_is_no_plan_one_is_offered(repo: Path) -> None:
    with Terminal(repo) as terminal:
        terminal.wait_for("make one, as `git blackbird init` does? [Y/n]")
        terminal.type("n", ENTER)
        assert terminal.end() == 128
    assert not (repo / "blackbird.plan.json").exists()
    with Terminal(repo) as terminal:
        terminal.wait_for("make one")
        terminal.type(ENTER)
        terminal.wait_for("Write only what lasts? [Y/n]")
        terminal.type(ENTER)
        terminal.wait_for("Install it? [Y/n]")
        terminal.type("n", ENTER)
        terminal.wait_for("the plan has no tasks")
        terminal.type("q")
        assert terminal.end() == 0
    assert (repo / "blackbird.plan.json").exists()


def test_a_list_of_nothing_says_that_all_is_done(repo: Path) -> None:
    put_plan(repo)
    trial = Trial(repo)
    assert trial.expect(0, "list") == "no tasks\n"
    put_plan(repo, leaf("a"), task("b", status=Status.DONE))
    trial.expect(0, "set-status", "a", "skipped")
    assert trial.expect(0, "list") == "no task is open: all are done or skipped; --all lists them\n"
    assert trial.expect(0, "list", "--ready") == "no ready tasks\n"

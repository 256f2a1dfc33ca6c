"""What a command asks a person for where it is left out."""

from pathlib import Path

from git_blackbird.model.plan.status import Status
from tests.cli.plans import task
from tests.cli.terminal import CTRL_C, DOWN, ENTER, Terminal
from tests.controller.support import put_plan
from tests.trial.program import Trial


def test_a_status_is_chosen_from_a_list(repo: Path) -> None:
    put_plan(repo, task("a"))
    for keys, code, status in (([CTRL_C], 130, "todo"), ([DOWN * 7, ENTER], 0, "skipped")):
        with Terminal(repo, "set-status", "a") as terminal:
            terminal.wait_for("Which status?")
            terminal.wait_for("skipped")
            terminal.type(*keys)
            assert terminal.end() == code
        assert Trial(repo).statuses() == {"a": status}
    said = Trial(repo).expect(2, "set-status", "a")
    assert said == (
        "error: say which status\n"
        "hint: one of todo, queued, in_progress, waiting_user, blocked, done, failed, skipped\n"
    )


def test_the_reason_of_a_dismissal_is_asked_for(repo: Path) -> None:
    put_plan(repo, task("p", children=("a",)), task("a", parent="p", status=Status.DONE))
    assert "say why, with --reason" in Trial(repo).expect(2, "review", "dismiss", "p")
    with Terminal(repo, "review", "dismiss", "p") as terminal:
        terminal.wait_for("Why is p done without a passing review? ")
        terminal.type("I read it", "\r")
        assert terminal.end() == 0
    assert "I read it" in Trial(repo).expect(0, "review", "show", "p")

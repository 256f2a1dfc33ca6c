"""``pick``: a task by typing, and what is done with it."""

from pathlib import Path

from tests.cli.plans import task
from tests.cli.terminal import CTRL_C, DOWN, ENTER, Terminal
from tests.controller.support import put_plan
from tests.trial.program import Trial


def test_a_task_is_found_by_typing_and_then_shown(repo: Path) -> None:
    put_plan(repo, task("api", "Orders"), task("db", "Tables of orders", deps=("api",)))
    with Terminal(repo, "pick") as terminal:
        terminal.wait_for("api  Orders  [READY]")
        terminal.type("tables", ENTER)
        terminal.wait_for("Show it")
        assert "Run it" not in terminal.text
        terminal.type(ENTER)
        assert terminal.end() == 0
        assert "its dependency api is todo, not done" in terminal.text


def test_its_status_is_set(repo: Path) -> None:
    put_plan(repo, task("a"))
    with Terminal(repo, "pick") as terminal:
        terminal.wait_for("a  Task a")
        terminal.type(ENTER)
        terminal.wait_for("Run it")
        terminal.type(DOWN * 3, ENTER)
        terminal.wait_for("Which status?")
        terminal.type(DOWN * 7, ENTER)
        assert terminal.end() == 0
    assert Trial(repo).statuses() == {"a": "skipped"}


def test_what_no_task_has_chooses_none(repo: Path) -> None:
    put_plan(repo, task("a"))
    with Terminal(repo, "pick") as terminal:
        terminal.wait_for("a  Task a")
        terminal.type("zzz", ENTER)
        terminal.wait_for("no task has zzz")
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_left_open_it_does_nothing(repo: Path) -> None:
    put_plan(repo, task("a"))
    with Terminal(repo, "pick") as terminal:
        terminal.wait_for("a  Task a")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    said = Trial(repo).expect(2, "pick")
    assert said == "error: pick asks on a terminal\nhint: git blackbird list    # then name a task\n"

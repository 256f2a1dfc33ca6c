"""What waits for a person is one queue: first what unblocks most, and how much that is."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import ENTER, Terminal
from tests.controller.support import agree_to_agent
from tests.support import commit
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"big": (), "next": ("big",), "after": ("next",), "small": (), "both": ("big", "small")})
    trial.command("[ $BLACKBIRD_TASK_ID != asks ] && echo >$BLACKBIRD_TASK_ID.txt")
    trial.configure({"execution.stopAfterEachTask": "true", "execution.worktrees": "true"})
    agree_to_agent(repo)
    return trial


def test_the_end_of_execute_says_what_each_answer_unblocks(trial: Trial) -> None:
    trial.expect(3, "execute", "--no-input", "small", "--jobs", "2")
    said = trial.expect(3, "execute", "--no-input", "big", "--jobs", "2")
    (step,) = [line for line in said.splitlines() if "decide big --approve " in line]
    assert step.endswith("; unblocks 2 tasks")
    assert said.count("unblocks") == 1


def test_the_queue_begins_with_what_unblocks_most(trial: Trial) -> None:
    trial.expect(3, "execute", "--no-input", "small", "--jobs", "2")
    trial.expect(3, "execute", "--no-input", "big", "--jobs", "2")
    said = trial.expect(0, "status")
    assert said.index("big  Big: decision due, unblocks 2 tasks\n") < said.index(
        "small  Small: decision due\n"
    )
    due = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    assert [(one["task"], one["unblocks"]) for one in due] == [("big", 2), ("small", 0)]
    assert trial.expect(0) == said
    waiting = json.loads(trial.expect(0, "report", "--json"))["data"]["waiting"]
    assert [(one["task"], one["unblocks"]) for one in waiting] == [("big", 2), ("small", 0)]


def test_decide_takes_the_first_of_it_and_with_next_no_other(trial: Trial) -> None:
    trial.expect(3, "execute", "--no-input", "small", "--jobs", "2")
    trial.expect(3, "execute", "--no-input", "big", "--jobs", "2")
    with Terminal(trial.repo, "decide") as terminal:
        terminal.wait_for_list()
        assert "Task: big" in terminal.plain
        terminal.type("\x03")
        terminal.end()
    with Terminal(trial.repo, "decide", "--next") as terminal:
        terminal.wait_for_list()
        assert "Task: big" in terminal.plain
        assert "2 tasks wait for this alone" in terminal.plain
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    assert trial.statuses()["big"] == "done"
    assert "small  Small: decision due, unblocks 1 task\n" in trial.expect(0, "status")


@pytest.mark.exhaustive
def test_failures_are_in_the_same_queue(trial: Trial) -> None:
    trial.expect(3, "execute", "--no-input", "small", "--jobs", "2")
    trial.command("exit 1")
    trial.configure({"execution.stopAfterEachTask": "false"})
    said = trial.expect(1, "execute", "--no-input", "big")
    said = trial.expect(0, "status")
    assert said.index("big  Big: failed, unblocks 2 tasks\n") < said.index("small  Small: decision due\n")

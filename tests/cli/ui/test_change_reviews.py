"""What every face shows of the reviews of a change, and what it lets a person do about them."""

import json
from pathlib import Path

import pytest

from git_blackbird.model.run.states import DecisionState
from tests.cli.ui.test_plain_and_json import run
from tests.controller.support import configure, leaf, put_plan, runs_of
from tests.support import commit

NEVER = (
    "write x.txt one\non-feedback append x.txt more\n"
    "spec-wants x.txt never | critical | It is \x1b[2Jmissing."
)
SHOWN = """\
Review Results:
  Spec Review: ISSUES (high confidence)
  Code Review: APPROVED (high confidence)

Issues to Fix (1):

  1. [Spec Critical] x.txt:1
     It is ^[[2Jmissing.

Action: Fix issues and re-run reviews
"""
WHY = "a decision is due: issues are left after round 1 of 1 (reviews.maxIterations)\n"


@pytest.fixture
def reviewed(repo: Path) -> Path:
    """A repository in which one round of reviews leaves an issue; no checkpoints."""
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", reviews__mode="parallel", reviews__maxIterations="1")
    put_plan(repo, leaf("a", NEVER))
    return repo


def test_line_mode_shows_why_it_asks_and_takes_what_the_reviewers_found(reviewed: Path) -> None:
    completed = run(reviewed, "execute", told="7\n3\n\nreview AGAIN\n1\n")
    assert completed.stderr == ""
    assert completed.stdout.count(SHOWN + WHY) == 4
    assert completed.stdout.count("reviews of a: spec ISSUES, code APPROVED\n\nTask review checkpoint\n") == 4
    assert (
        "5) View full diff\n7) Review again\n9) Reject and take back\nSelect option: 7\nrunning "
        in completed.stdout
    )
    assert (
        "Select option: 3\nChange request (end with a blank line, /cancel to go back):\n"
        "A blank first line asks for what the reviewers found.\n\nasked for what the reviewers found\n"
        "changes to a requested\nresuming a "
    ) in completed.stdout
    assert "Select option: 1\napproved a\nevery task is done\n" in completed.stdout
    first, second = runs_of(reviewed, "a")
    assert "[Spec Critical] x.txt:1" in (first.decision_feedback or "")
    assert (first.requested_by, second.decision_state) == (None, DecisionState.APPROVED_CONTINUE)


@pytest.mark.exhaustive
def test_programs_are_told_of_both_reviews(reviewed: Path) -> None:
    configure(reviewed, reviews__maxIterations="2")
    completed = run(reviewed, "execute", "--json")
    events = [json.loads(line) for line in completed.stdout.splitlines()]
    assert completed.returncode == 3
    types = [event["type"] for event in events if event["event"] == "run_started"]
    assert types[:1] + sorted(types[1:3]) + types[3:4] + sorted(types[4:]) == [
        *("execute", "code_review", "spec_review"),
        *("execute", "code_review", "spec_review"),
    ]
    first, second = (event for event in events if event["event"] == "reviews_ended")
    sent, asked = runs_of(reviewed, "a")
    assert (first["run"], first["round"], first["maxRounds"]) == (sent.id, 1, 2)
    assert (first["decisionState"], first["reasons"]) == ("changes_requested", [])
    assert first["review"]["overall"] == "SPEC_CRITICAL"
    assert (second["run"], second["round"], second["decisionState"]) == (asked.id, 2, "pending")
    assert second["reasons"] == ["issues are left after round 2 of 2 (reviews.maxIterations)"]
    (checkpoint,) = (event for event in events if event["event"] == "checkpoint")
    assert checkpoint["review"] == second["review"]
    assert checkpoint["reasons"] == second["reasons"]
    assert "[Spec Critical] x.txt:1" in checkpoint["suggestedRequest"]
    assert checkpoint["choices"][-2] == {
        "choice": "review_again",
        "digit": 7,
        "label": "Review again",
        "command": "git blackbird review run a",
        "template": None,
        "help": "has the change reviewed again",
        "blockedReason": None,
    }
    ended = [event for event in events if event["event"] == "run_ended" and event["type"] == "spec_review"]
    assert [one["reviewResult"]["verdict"] for one in ended] == ["ISSUES", "ISSUES"]
    assert events[-1]["nextSteps"][-2] == "git blackbird review run a"

"""Spec review and code review of a change as a person meets them, one story for each way it can go wrong."""

import re
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import FIRST_RUN, run, task
from tests.cli.review_order import in_order
from tests.support import commit, git

__all__ = ["program"]

CLEAR = "write x.txt one"
MENDED = (
    "write x.txt one\non-feedback append x.txt two\n"
    "spec-wants x.txt two | critical | x.txt has no two\ncode-notes x.txt A name would help."
)
NEVER = (
    "write x.txt one\non-feedback append x.txt more\n"
    "spec-wants x.txt never | important | x.txt: \x1b[31mnever"
)
CONFLICT_SPEC = (
    "spec-answer-once <spec-review><verdict>ISSUES</verdict><confidence>high</confidence><issues>"
    '<issue type="extra_feature" severity="important"><location file="x.txt" line="1"/>'
    "<description>Nobody asked for one.</description></issue></issues><summary>-</summary></spec-review>"
)
CONFLICT_CODE = (
    "code-answer-once <code-review><verdict>ISSUES</verdict><confidence>low</confidence><issues>"
    '<issue type="testing" severity="important"><location file="x.txt" line="3"/>'
    "<description>One has no test.</description><fix>Add a test.</fix></issue></issues>"
    "<summary>-</summary></code-review>"
)


@pytest.fixture(autouse=True)
def reviewed(program: Program) -> Program:
    """Reviews are on, checkpoints off, and the agent is the embedded one."""
    commit(program.cwd, {"readme": "one\n"})
    for key, value in (
        ("agent", "demo"),
        ("reviews.mode", "parallel"),
        ("execution.stopAfterEachTask", "false"),
        ("execution.stopGraceSeconds", "0"),
        ("notify.command", ""),
    ):
        git(program.cwd, "config", f"blackbird.{key}", value)
    program.run("init")
    program.transcript.clear()
    return program


def add(program: Program, prompt: str, task_id: str = "a") -> None:
    program.run(
        *("add", "--id", task_id, "--title", f"Task {task_id}", "--ac", "x.txt has two"),
        *("--prompt", prompt),
    )
    program.transcript.clear()


def check(program: Program, name: str) -> None:
    """Two reviewers work at the same time: which of them is told of first is nobody's promise."""
    text = "".join(in_order("".join(program.transcript)))
    program.transcript[:] = [re.sub(r"(review of a is there): \d+s", r"\1: 0s", text)]
    program.check(name)


def records(program: Program) -> Path:
    return Path(program.cwd) / ".git/blackbird/runs/a"


def test_issues_are_mended_in_the_session_and_approved(program: Program) -> None:
    add(program, MENDED)
    program.run("execute")
    program.run("review", "show", "a")
    program.run("review", "show", "a", "--format", "xml")
    program.run("runs", "a")
    program.run("show", "a")
    check(program, "change_review_mended")


@pytest.mark.exhaustive
def test_a_reviewer_that_times_out_is_tried_again_and_then_a_person_is_asked(program: Program) -> None:
    git(program.cwd, "config", "blackbird.reviews.timeoutSeconds", "1")
    git(program.cwd, "config", "blackbird.execution.stopGraceSeconds", "30")
    add(program, f"{CLEAR}\nspec-sleep 600")
    program.run("execute")
    program.run("status")
    program.run("review", "show", "a")
    program.run("decide", "a", "--approve")
    check(program, "change_review_times_out")


def test_an_answer_that_is_no_xml_is_read_in_the_old_form_or_tried_once_more(program: Program) -> None:
    add(program, f"{CLEAR}\ncode-answer-once <code-review>all is well\nspec-answer APPROVED: as asked")
    program.run("execute")
    program.run("review", "show", "a")
    check(program, "change_review_old_form")


def test_where_both_fail_a_person_is_asked(program: Program) -> None:
    add(program, f"{CLEAR}\ncode-fail 3\nspec-ask q Is it?")
    program.run("execute", "--no-input")
    program.run("status")
    program.run("show", "a")
    program.run("review", "run", "a", "--no-input")
    program.run("decide", "a", "--request-changes")
    program.run("decide", "a", "--approve")
    check(program, "change_review_both_fail")


@pytest.mark.exhaustive
def test_one_of_two_is_for_a_person_as_well(program: Program) -> None:
    add(program, f"{CLEAR}\ncode-answer I approve.\nspec-wants x.txt two")
    program.run("execute", "--no-input")
    program.run("review", "show", "a")
    program.run("review", "show", "a", "--format", "xml")
    program.run("decide", "a", "--reject")
    check(program, "change_review_partial")


def test_what_contradicts_is_shown_under_its_own_heading_and_sent_whole(program: Program) -> None:
    git(program.cwd, "config", "blackbird.reviews.maxIterations", "2")
    add(program, f"{CLEAR}\n{CONFLICT_SPEC}\n{CONFLICT_CODE}\non-feedback append x.txt two")
    program.run("execute", "--no-input")
    program.run("review", "show", "a", "--format", "xml")
    program.run("runs", "a", max(path.stem for path in records(program).glob("*.json")))
    program.run("decide", "a", "--request-changes")
    program.run("show", "a")
    check(program, "change_review_conflict")


def test_more_rounds_than_allowed_are_for_a_person(program: Program) -> None:
    git(program.cwd, "config", "blackbird.reviews.maxIterations", "2")
    add(program, NEVER)
    program.run("execute", "--no-input")
    program.run("status")
    program.run("review", "show", "a")
    program.run("execute", "--reviews", "off", "--no-input")
    program.run("decide", "a", "--request-changes", "-m", "once more")
    program.run("execute", "--no-input")
    program.run("runs", "a", "--limit", "1")
    check(program, "change_review_rounds")


def test_by_hand_and_what_is_refused(program: Program) -> None:
    add(program, f"{CLEAR}\nspec-wants x.txt two")
    add(program, "say nothing", "b")
    program.run("review", "show", "a")
    program.run("review", "run", "a")
    program.run("execute", "a", "--reviews", "off")
    program.run("review", "show", "a")
    program.run("review", "run", "a")
    program.run("review", "show", "a")
    program.run("review", "dismiss", "a", "--reason", "x")
    program.run("review", "show", "a", "--format", "yaml")
    program.run("review", "run", "a", "--format", "xml")
    program.run("review", "show", "a", "--format", "xml", "--json")
    program.run("review", "show", "b", "--format", "xml")
    program.run("execute", "--reviews", "sometimes")
    program.run("review", "show", "a", "--json")
    check(program, "change_review_by_hand")


def test_a_reviewers_run_can_be_looked_at(program: Program) -> None:
    add(program, f"{CLEAR}\ncode-notes x.txt A name \x1b[2Jwould help.")
    program.run("execute")
    for name in sorted(path.stem for path in (records(program) / "reviews").glob("*.json")):
        program.run("runs", "a", name)
        program.run("runs", "a", name, "--log")
    program.run("runs", "a", "--json")
    check(program, "change_review_runs")
    assert "\x1b" not in program.text()


def test_a_review_on_record_that_cannot_be_read_shows_as_none(program: Program) -> None:
    odd: dict[str, Any] = {"review_state": "done", "decision_state": "pending", "decision_required": True}
    about: dict[str, Any] = {
        "run_type": "code_review",
        "reviewed_run": FIRST_RUN,
        "review_result": {"source": 5},
    }
    save(
        program.cwd,
        [task("a", status=Status.WAITING_USER)],
        [
            run("a", merged_review={"overall": "FINE"}, **odd),
            run("a", "019b7c4e52000002", **about),
        ],
    )
    program.run("status")
    program.run("show", "a")
    program.run("review", "show", "a")
    program.run("review", "show", "a", "--json")
    program.run("runs", "a")
    program.run("runs", "a", "019b7c4e52000002")
    program.run("decide", "a", "--request-changes")
    program.run("execute", "--no-input")
    check(program, "change_review_unreadable")


def test_what_is_yet_to_be_reviewed(program: Program) -> None:
    about = {
        "run_type": "spec_review",
        "reviewed_run": "019b7c4e52000002",
        "review_round": 1,
        "pid": 4194304,
    }
    save(
        program.cwd,
        [task("a", status=Status.IN_PROGRESS), task("b", status=Status.IN_PROGRESS)],
        [
            run("a", review_state="due", base_tree="1" * 40, head_tree="2" * 40),
            run("b", "019b7c4e52000002", review_state="due"),
            run("b", "019b7c4e52000003", RunStatus.RUNNING, **about),
        ],
    )
    program.run("status")
    program.run("status", "--json")
    program.run("show", "a")
    program.run("review", "show", "a")
    program.run("execute", "--dry-run")
    program.run("execute", "--dry-run", "--json")
    program.run("execute", "--dry-run", "--reviews", "off")
    program.run("runs", "b")
    check(program, "change_review_due")

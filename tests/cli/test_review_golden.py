"""A parent's review as a person meets it: failing, resumed, passed; garbage; dismissed; for programs."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from git_blackbird.model.plan.status import Status
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task
from tests.support import NOT_INSTALLED, commit, git, set_config, write

__all__ = ["program"]

SHORT = "require a.txt well | docs-a | Say that it works well."
MENDS = "write a.txt it works\non-feedback write a.txt it works well"


def plan(program: Program, prompt: str, mends: str = MENDS) -> None:
    """A parent with two children and a task that waits for it."""
    commit(program.cwd, {"readme": "one\n"})
    git(program.cwd, "config", "blackbird.agent", "demo")
    program.run("init")
    git(program.cwd, "config", "blackbird.execution.stopAfterEachTask", "false")
    git(program.cwd, "config", "blackbird.execution.acceptNoChange", "true")
    program.run(
        *("add", "--id", "docs", "--title", "The documents", "--ac", "They say how well it works"),
        *("--prompt", prompt),
    )
    for task_id, told in (("docs-a", mends), ("docs-b", "write b.txt more")):
        program.run(
            "add", "--id", task_id, "--title", f"Page {task_id}", "--parent", "docs", "--prompt", told
        )
    program.run("add", "--id", "release", "--title", "Release", "--dep", "docs", "--prompt", "say out")
    program.transcript.clear()


def test_a_review_that_fails_and_passes(program: Program) -> None:
    plan(program, SHORT)
    program.run("review", "show", "docs")
    program.run("execute", "--dry-run")
    program.run("execute", "--dry-run", "--limit", "1", "docs-a", "--json")
    program.run("execute")
    program.run("execute")
    program.run("execute", "--dry-run")
    program.run("execute", "--dry-run", "--json")
    program.run("status")
    program.run("list", "--all")
    program.run("show", "docs")
    program.run("show", "docs-a")
    program.run("review", "show", "docs")
    program.run("review", "show", "docs", "--json")
    program.run("status", "--json")
    program.run("execute", "release")
    program.run("set-status", "docs", "done")
    program.run("resume", "--all", "docs", "-m", "now")
    program.run("resume", "--all", "docs")
    program.run("resume", "--all", "docs")
    program.run("review", "show", "docs")
    program.run("runs", "docs")
    program.run("runs", "docs", "--log")
    program.run("execute")
    program.check("review_fails_and_passes")


def test_what_programs_are_told(program: Program) -> None:
    plan(program, SHORT)
    program.run("execute", "--json")
    program.run("execute", "--json")
    program.run("show", "docs-a", "--json")
    program.run("show", "docs", "--json")
    program.run("review", "dismiss", "docs", "--reason", " good enough ", "--json")
    program.run("status", "--json")
    program.run("review", "run", "docs", "--json", "--agent", "demo")
    program.check("review_json")


def test_a_parent_below_a_parent_stands_for_its_leaves(program: Program) -> None:
    commit(program.cwd, {"readme": "one\n"})
    git(program.cwd, "config", "blackbird.agent", "demo")
    program.run("init")
    git(program.cwd, "config", "blackbird.execution.stopAfterEachTask", "false")
    git(program.cwd, "config", "blackbird.execution.acceptNoChange", "true")
    program.run(
        "add", "--id", "top", "--title", "Top", "--prompt", "require a well | mid | All of it.\\nNow."
    )
    program.run("add", "--id", "mid", "--title", "Mid", "--parent", "top", "--prompt", "require b b")
    for task_id in ("a", "b"):
        prompt = f"write {task_id} {task_id}\non-feedback write {task_id} {task_id} well"
        program.run("add", "--id", task_id, "--title", "Leaf", "--parent", "mid", "--prompt", prompt)
    program.transcript.clear()
    program.run("execute", "--dry-run")
    program.run("execute", "a", "b")
    program.run("status")
    program.run("review", "show", "top")
    program.run("review", "run", "mid")
    program.run("set-status", "b", "todo")
    program.run("show", "b")
    program.run("execute")
    program.run("resume", "--all", "top")
    program.run("runs")
    program.run("add", "--id", "c", "--title", "Later", "--parent", "mid")
    program.run("review", "show", "top")
    program.check("review_of_parents")


def test_no_verdict_and_a_dismissal(program: Program) -> None:
    plan(program, "review-answer all\x1b[31m is well\nreview-say Looks fine.")
    program.run("review", "dismiss", "docs", "--reason", "early")
    program.run("execute", "--limit", "2")
    program.run("execute", "--dry-run")
    program.run("status")
    program.run("show", "docs")
    program.run("review", "show", "docs")
    program.run("execute")
    program.run("review", "dismiss", "docs")
    program.run("review", "dismiss", "docs", "--reason", "  ")
    program.run("review", "dismiss", "docs", "--reason", "no", BLACKBIRD_RUN_ID="x")
    program.run("review", "dismiss", "docs", "--reason", "read it myself")
    program.run("review", "dismiss", "docs", "--reason", "twice")
    program.run("review", "show", "docs")
    program.run("runs", "docs")
    program.run("execute")
    program.check("review_without_verdict")


def test_reviews_by_hand_and_what_is_refused(program: Program) -> None:
    plan(program, SHORT, "write a.txt it works")
    program.run("review", "run", "docs")
    program.run("review", "show", "docs-a")
    program.run("review", "show", "docz")
    program.run("review", "list", "docs")
    program.run("review", "show", "docs", "--reason", "x")
    program.run("review", "dismiss", "docs", "--reason", "x", "--stream")
    program.run("resume", "--all", "docs")
    program.run("resume", "--all", "docs-a")
    git(program.cwd, "config", "blackbird.execution.parentReviewEnabled", "false")
    program.run("execute")
    program.run("review", "show", "docs")
    program.run("review", "run", "docs")
    program.run("review", "show", "docs")
    git(program.cwd, "config", "blackbird.execution.parentReviewEnabled", "true")
    program.run("status")
    program.run("resume", "docs-a")
    program.check("review_by_hand")


def test_an_agent_that_cannot_be_held_to_a_verdict(program: Program) -> None:
    plan(program, SHORT)
    set_config(program.cwd, {**NOT_INSTALLED, "agent": "command", "command.run": "cat >/dev/null"})
    program.run("execute")
    program.run("review", "run", "docs")
    program.check("review_refused")


def test_a_feedback_file_that_cannot_be_read_is_named(program: Program) -> None:
    plan(program, SHORT)
    folder = Path(program.cwd) / ".git" / "blackbird" / "parent-review-feedback"
    folder.mkdir(parents=True)
    (folder / "docs-b.json").write_text("{}\n")
    program.run("status")
    program.run("status", "--json")
    program.run("show", "docs-b")
    program.check("review_feedback_unreadable")
    assert os.listdir(folder) == ["docs-b.json"]


def test_what_the_go_program_left(program: Program) -> None:
    """A failing review that did not keep its parent from being done, and what it left owed."""
    tasks = [task("p", children=("a", "b")), *(task(name, parent="p") for name in ("a", "b"))]
    marked = [replace(one, status=Status.DONE, updated_at="2026-01-03T00:00:00Z") for one in tasks]
    review: dict[str, Any] = {
        "run_type": "review",
        "provider": "claude",
        "program": None,
        "parent_review_passed": False,
        "parent_review_resume_task_ids": ["a"],
        "parent_review_feedback": "Mend a.",
        "parent_review_completion_signature": "parent-review:v1:" + "a" * 64,
    }
    contexts = (
        {"task": {"id": "p"}, "parentReview": {"parentTaskId": "p", "children": [{"childId": "a"}]}},
        {"task": "p", "parentReview": 5},
    )
    runs = [
        run("a", "run-a"),
        *(run("p", f"run-p{number}", context=one, **review) for number, one in enumerate(contexts)),
    ]
    save(program.cwd, marked, runs)
    feedback = '{"parentTaskId":"p","reviewRunId":"run-p1","feedback":"Mend a.",'
    feedback += '"createdAt":"2026-01-01T00:03:00Z","updatedAt":"2026-01-01T00:03:00Z"}'
    write(program.cwd, {".git/blackbird/parent-review-feedback/a.json": feedback})
    program.run("status")
    program.run("review", "show", "p")
    program.run("runs", "p")
    program.run("runs", "p", "run-p0")
    program.run("runs", "p", "run-p1")
    program.run("execute", "--no-input")
    program.run("review", "dismiss", "p", "--reason", "seen by hand")
    program.run("review", "show", "p")
    program.check("review_of_the_go_program")

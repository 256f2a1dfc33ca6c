"""What commands print where colours are on: each escape is one of ours, whatever a text holds."""

import re
from typing import Any

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task
from tests.cli.review_order import in_order
from tests.support import commit, git

__all__ = ["program"]

HOSTILE = "A \x1b[31mred\x1b[0m title\x1b]0;owned\x07, 漢字 and \u202eleft"
DOCS = "require a.txt well | docs-a | Say that it \x1b[32mworks\x1b[0m well."
REVIEWED = "write x.txt one\ncode-notes x.txt A \x1b[31mname would help."


def colored(program: Program) -> None:
    git(program.cwd, "config", "color.ui", "always")
    program.environ.update(COLUMNS="90", NO_COLOR="", TERM="xterm")
    program.transcript.clear()


def check(program: Program, name: str) -> None:
    text = "".join(in_order("".join(program.transcript).replace("\x1b", "^[")))
    program.transcript[:] = [re.sub(r"finished \(\d+s\)", "finished (0s)", text)]
    program.check(name)


def test_what_is_read_of_tasks_and_runs(program: Program) -> None:
    pending: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}
    question = Question(id="db", prompt=f"Which? {HOSTILE}", options=("mysql", "sqlite"))
    save(
        program.cwd,
        [
            task("asked", HOSTILE, status=Status.WAITING_USER),
            task("pending", status=Status.WAITING_USER),
            task("broken", status=Status.FAILED, prompt=HOSTILE),
            task("skipped", status=Status.SKIPPED),
            task("free", deps=("child",)),
            task("waits", deps=("broken", "skipped")),
            task("top", children=("child",), status=Status.IN_PROGRESS),
            task("child", parent="top", status=Status.DONE),
        ],
        [
            run("asked", status=RunStatus.WAITING_USER, questions=(question,)),
            run("pending", "019b7c4e52000002", startedAt="2026-01-02T02:05:00Z", **pending),
            run("broken", "019b7c4e52000003", RunStatus.FAILED, error=HOSTILE, exitCode=7),
            run("broken", "019b7c4e52000004", RunStatus.PAUSED, superseded_by="019b7c4e52000003"),
            run(
                "child", "019b7c4e52000005", **{**pending, "decision_state": DecisionState.APPROVED_CONTINUE}
            ),
        ],
    )
    colored(program)
    program.run("status")
    program.run("list", "--all")
    for name in ("asked", "broken", "waits", "top", "child"):
        program.run("show", name)
    program.run("runs")
    program.run("runs", "broken")
    program.run("runs", "broken", "019b7c4e52000003")
    program.run("runs", "pending", "019b7c4e52000002")
    program.run("report")
    git(program.cwd, "config", "blackbird.agent", "demo")
    program.run("config", "agent")
    program.run("agent")
    program.run("agent", "gemini")
    check(program, "colors_of_readers")


def test_what_is_read_of_changes_and_reviews(program: Program) -> None:
    commit(program.cwd, {"readme": "one\n"})
    for key, value in (
        ("agent", "demo"),
        ("reviews.mode", "parallel"),
        ("execution.stopAfterEachTask", "true"),
        ("notify.command", ""),
    ):
        git(program.cwd, "config", f"blackbird.{key}", value)
    program.run("init")
    program.run("add", "--id", "docs", "--title", "The documents", "--ac", "They say it", "--prompt", DOCS)
    for task_id, told in (("docs-a", "write a.txt it works"), ("docs-b", REVIEWED)):
        program.run("add", "--id", task_id, "--title", "A page of 漢字", "--parent", "docs", "--prompt", told)
    colored(program)
    program.run("execute", "--dry-run")
    program.run("execute", "docs-a", "--no-input")
    program.run("review", "show", "docs-a")
    program.run("decide", "docs-a", "--approve")
    program.run("execute", "docs-b", "--no-input")
    program.run("review", "show", "docs-b")
    program.run("show", "docs-b")
    program.run("runs", "docs-b")
    program.run("decide", "docs-b", "--approve")
    program.run("execute", "--no-input")
    program.run("review", "show", "docs")
    program.run("runs", "docs-b", "--log")
    program.run("runs", "docs-b", "--diff")
    check(program, "colors_of_changes")

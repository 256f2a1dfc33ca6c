"""``plan generate``, ``plan refine`` and ``deps infer``: what an agent proposes, and what becomes of it."""

from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.task_fields import TaskFields, fields_of
from git_blackbird.model.run.states import DecisionState
from tests.cli.golden_harness import Program, program, save, store_at
from tests.cli.plans import run, task
from tests.support import NOT_INSTALLED, set_config

__all__ = ["program"]

STORE = """Orders are kept in a store.

- The store
  - Tables | Write schema.sql.
  - Migration | Move orders.csv.
after migration tables | it fills them
- An API
after an-api the-store
"""


@pytest.fixture
def demo(repo: Path) -> Path:
    save(repo, [])
    return repo


def plan_at(repo: Path) -> Plan:
    return store_at(repo).plan()


def fields_at(repo: Path) -> dict[TaskId, tuple[TaskFields, TaskId | None]]:
    """All of the plan but statuses and times."""
    return {task.id: (fields_of(task), task.parent) for task in plan_at(repo).tasks.values()}


def kept(repo: Path) -> list[str]:
    return sorted(path.name for path in (repo / ".git/blackbird/drafts").glob(".*.md"))


def test_generate(program: Program, demo: Path) -> None:
    program.environ["BLACKBIRD_AGENT_PROVIDER"] = "demo"
    program.run("plan", "generate", "-m", STORE)
    assert (plan_at(demo).tasks, kept(demo)) == ({}, [".new.md"])
    program.remark("what was proposed is on the page that `add` opens")
    program.run("plan", "generate", "-m", STORE, "--yes")
    program.run("list", "--all", "--tree")
    program.run("show", "migration")
    program.run("runs")
    program.run("runs", ".plan")
    program.run("report")
    program.remark("new tasks go with those that there are")
    program.run(
        "plan", "generate", "-m", "- Docs\nafter docs tables\nset docs parent the-store", "--yes", "--json"
    )
    program.remark("the agent asks, and nobody is there")
    program.run("plan", "generate", "-m", "ask db Which database? | sqlite | mysql\n- Use it", "--no-input")
    program.run("plan", "generate", "-m", "ask db Which database?\n- Use it", "--json")
    program.check("plan_generate")


def test_refine(program: Program, repo: Path) -> None:
    program.environ["BLACKBIRD_AGENT_PROVIDER"] = "demo"
    pending: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}
    save(
        repo,
        [
            task("p", children=("a", "b")),
            task("a", parent="p", status=Status.DONE),
            task("b", parent="p", deps=("a",), prompt="One.\nTwo.\n"),
            task("waits", status=Status.DONE),
            task("over", children=("c",), status=Status.DONE),
            task("c", parent="over", status=Status.DONE),
            task("q", deps=("b",)),
        ],
        [run("a"), run("waits", **pending), run("c")],
    )
    before = fields_at(repo)
    program.run("config", "execution.parentReviewEnabled", "false")
    program.run("list", "--all", "--tree")
    for request in (
        "set b prompt One.\\nThree.\nset b parent /\nset b agent demo\nafter q p | all of it\ndrop nowhere",
        "set a title Other",
        "drop a",
        "set waits title Other",
        "- New\nset new parent over",
        "drop p",
        "drop b",
        "after b q",
        "set p parent b",
        "after b p",
        "set b parent nowhere\nafter q nowhere",
        "set new prompt Without a title.",
        "set q agent nobody\nset q title \x07",
        'plan-answer {"tasks": [{"title": "A", "dependsOn": []}]}',
        'plan-answer {"tasks": [{"title": "A"}',
        "plan-answer I would rather not.",
        "fail 3",
    ):
        program.run("plan", "refine", "-m", request, "--yes")
        assert fields_at(repo) == before
    program.remark("what is wrong is said to the agent, which mends it")
    program.run("plan", "refine", "-m", "plan-answer-once No.\nset b prompt One.\\nThree.", "--yes")
    program.run("config", "planning.maxPlanAutoRefinePasses", "0")
    program.run("plan", "refine", "-m", "plan-answer-once No.\nset b prompt One.", "--yes")
    program.remark("everything at once")
    everything = "set b title The second\nset b parent /\nafter q p | all of it\n- New | Do it."
    program.run("plan", "refine", "-m", everything)
    program.run("plan", "refine", "-m", everything, "--yes")
    program.run("plan", "refine", "-m", "drop new\ndrop q", "--yes", "--json")
    program.run("plan", "refine", "-m", "Leave it.", "--yes")
    program.check("plan_refine")


def test_a_requirement_that_no_task_names_is_sent_back_and_never_saved(program: Program, demo: Path) -> None:
    text = "1. FR-001: orders are listed.\n2. FR-002: orders are kept.\n- The store FR-002\n"
    program.run("plan", "generate", "-m", text, "--yes", "--agent", "demo")
    assert not plan_at(demo).tasks
    program.run("plan", "generate", "-m", f"{text}- The list FR-001\n", "--yes", "--agent", "demo")
    assert plan_at(demo).tasks.keys() == {"the-store-fr-002", "the-list-fr-001"}
    program.check("plan_generate_lint")


def test_infer(program: Program, repo: Path) -> None:
    program.environ["BLACKBIRD_AGENT_PROVIDER"] = "demo"
    save(repo, [task("a"), task("b", prompt="Use a ."), task("c", prompt="Use a and b ."), task("d")])
    program.run("deps", "infer")
    program.run("deps", "infer", "b", "--yes")
    program.run("deps", "infer", "--yes", "--json")
    program.run("deps", "infer", "nowhere")
    program.run("deps", "infer", "--yes")
    program.run("deps", "add", "a")
    program.run("deps", "add")
    program.run("deps", "add", "d", "a", "--yes")
    program.check("deps_infer")


def test_what_cannot_plan(program: Program, repo: Path) -> None:
    set_config(repo, NOT_INSTALLED)
    program.run("plan", "generate", "-m", "- A")
    save(repo, [])
    program.run("plan", "generate")
    program.run("plan", "generate", "-m", "- A", BLACKBIRD_AGENT_CMD="cat")
    program.run("plan", "generate", "-m", "- A", "-F", "x")
    program.run("plan", "refine", "-m", "- A", BLACKBIRD_AGENT_PROVIDER="demo")
    program.run("deps", "infer", BLACKBIRD_AGENT_PROVIDER="demo")
    program.run("plan", "generate", "-m", "- A", BLACKBIRD_RUN_ID="019b7c4e52000001")
    program.run("runs", ".plan")
    program.check("plan_refused")

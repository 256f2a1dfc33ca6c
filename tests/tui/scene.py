"""A repository at one fixed moment: a plan half done, records and logs of its runs, one agent at work."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from git_blackbird.agents.process import signals
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parent_verdict import (
    ChildResult,
    ChildStatus,
    Feedback,
    completion_signature,
)
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType
from git_blackbird.model.run.summary import Trees
from tests import records
from tests.support import commit, git, write

NOW = 1_767_323_045_000_000_000  # 2026-01-02T03:04:05Z
NIGHT = "2026-01-02"
PLANNED = "2026-01-01T09:00:00Z"
APPROVED = {"decision_state": DecisionState.APPROVED_CONTINUE, "decision_required": True}
FIRST, ROUTES, CACHE, UNITS, COLORS, READ, WRITE, REVIEW = (
    RunId(f"019b7c00000000{number:02x}") for number in range(1, 9)
)
QUESTION = Question(
    id="scale",
    prompt="Which colour is the middle of the scale?\nSome terminals show yellow on white badly.",
    options=("yellow", "green", "the terminal's own"),
)
WANTED = "A day that is kept twice counts double in every mean. Keep it once, and show that in a test."

BEFORE = '''\
"""Degrees, as people want to read them."""


def degrees(celsius: float) -> str:
    return f"{celsius}C"
'''
AFTER = '''\
"""Degrees, as people want to read them."""

FREEZING = 32.0


def fahrenheit(celsius: float) -> float:
    """Convert; exact enough for a forecast."""
    return celsius * 9 / 5 + FREEZING


def degrees(celsius: float, unit: str = "C") -> str:
    value = fahrenheit(celsius) if unit == "F" else celsius
    return f"{value:.0f}°{unit}"
'''
TEST = """\
from weather.units import degrees


def test_units() -> None:
    assert degrees(0) == "0°C"
    assert degrees(0, "F") == "32°F"
"""

PROJECT = {
    "README.md": "# Weather\n",
    "weather/__init__.py": "",
    "weather/app.py": "",
    "weather/provider.py": "",
    "weather/routes.py": "",
    "weather/units.py": BEFORE,
}


def environment_of(repo: Path, environ: dict[str, str]) -> Environment:
    """An environment whose clock stands still."""
    return Environment(environ, repo, lambda: NOW, lambda bits: 1)


def task(task_id: str, title: str, status: Status, **fields: Any) -> Task:
    return replace(new_task(TaskId(task_id), title, PLANNED), status=status, **fields)


def ids(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId, names))


def tasks() -> Iterable[Task]:
    api, cli, past = TaskId("api"), TaskId("cli"), TaskId("past")
    todo, done, waiting = Status.TODO, Status.DONE, Status.WAITING_USER
    working = Status.IN_PROGRESS
    yield task("api", "Serve forecasts", working, children=ids("api-cache", "api-errors", "api-routes"))
    yield task("api-cache", "Keep answers for ten minutes", working, parent=api, deps=ids("api-routes"))
    yield task(
        "api-errors",
        "Say what went wrong",
        todo,
        parent=api,
        deps=ids("api-cache"),
        description="Every failure is an answer with a status, a reason and a way out.",
        acceptance_criteria=(
            "An unknown place is a 404 that names the nearest known ones.",
            "A provider that is down is a 503 that says when to ask again.",
        ),
        prompt="Map the errors of the provider to answers in weather/errors.py, with tests.",
    )
    yield task("api-routes", "Answer by place and day", done, parent=api)
    yield task("cli", "Forecasts in a terminal", waiting, children=ids("cli-colors", "cli-days", "cli-units"))
    yield task("cli-colors", "Warm is red, cold is blue", waiting, parent=cli)
    yield task("cli-days", "Ask for a day by its name", todo, parent=cli)
    yield task("cli-units", "Fahrenheit, where people want it", waiting, parent=cli)
    yield task("docs", "How to install and use it", todo, deps=ids("api", "cli"))
    yield task("past", "Remember what the weather was", waiting, children=ids("past-read", "past-write"))
    yield task(
        "past-read", "Answer for days that are over", done, parent=past, updated_at=f"{NIGHT}T01:31:15Z"
    )
    yield task(
        "past-write", "Keep each day once it is over", done, parent=past, updated_at=f"{NIGHT}T01:33:40Z"
    )


def run_of(run_id: RunId, task_id: str, begun: str, ended: str | None, **fields: Any) -> Run:
    """A run of Claude between two times of that night, successful by default."""
    said: dict[str, Any] = {
        "status": RunStatus.SUCCESS,
        "provider": "claude",
        "provider_session_ref": f"5f0c1f5e-0000-4000-8000-0000000000{run_id[-2:]}",
        "program": "git-blackbird",
        "agent_version": "2.1.0",
        "completed_at": None if ended is None else f"{NIGHT}T{ended}Z",
    }
    facts = {**said, **fields}
    return records.run_of(id=run_id, task_id=task_id, started_at=f"{NIGHT}T{begun}Z", **facts)


def change_of_units(repo: Path) -> Trees:
    """Make the change of a run in the worktree; return the trees before and after it."""
    base = git(repo, "rev-parse", "HEAD^{tree}")
    write(repo, {"weather/units.py": AFTER, "tests/test_units.py": TEST})
    git(repo, "add", "--all", "weather", "tests")
    head = git(repo, "write-tree")
    git(repo, "reset", "-q")
    return Trees(base, head)


def finished(repo: Path) -> Iterable[Run]:
    """One run that failed, those after it, one on which a decision is due, a question, and a review."""
    yield run_of(
        FIRST,
        "api-routes",
        "01:10:00",
        "01:12:30",
        status=RunStatus.FAILED,
        error="the program ended with status 1",
        superseded_at=f"{NIGHT}T01:20:00Z",
        superseded_by="retry",
        cost_usd=0.11,
    )
    yield run_of(ROUTES, "api-routes", "01:20:00", "01:26:10", cost_usd=0.34, **APPROVED)
    yield run_of(READ, "past-read", "01:30:00", "01:31:15", cost_usd=0.09, **APPROVED)
    yield run_of(WRITE, "past-write", "01:32:00", "01:33:40", cost_usd=0.12, **APPROVED)
    yield review()
    pair = change_of_units(repo)
    yield run_of(
        UNITS,
        "cli-units",
        "02:50:00",
        "02:58:00",
        decision_state=DecisionState.PENDING,
        decision_required=True,
        base_tree=pair.base,
        head_tree=pair.head,
        review_summary=summarize(open_workspace(environment_of(repo, {})).repo, pair),
        final_text='Fahrenheit is there: `degrees(21, "F")`. Both units are tested.',
        cost_usd=0.21,
    )
    asked = {"status": RunStatus.WAITING_USER, "questions": (QUESTION,)}
    yield run_of(COLORS, "cli-colors", "02:40:00", "02:41:05", cost_usd=0.05, **asked)


def review() -> Run:
    """The review of a parent that flagged one of its two children."""
    children = {one.id: one for one in tasks()}
    results = {
        "past-read": ChildResult(task_id=TaskId("past-read"), status=ChildStatus.PASSED),
        "past-write": ChildResult(task_id=TaskId("past-write"), status=ChildStatus.FAILED, feedback=WANTED),
    }
    return run_of(
        REVIEW,
        "past",
        "01:34:00",
        "01:36:20",
        run_type=RunType.REVIEW,
        parent_review_passed=False,
        parent_review_resume_task_ids=ids("past-write"),
        parent_review_feedback="What is read is right. What is written is not safe yet.",
        parent_review_results=results,
        parent_review_completion_signature=completion_signature(children[TaskId("past")], children),
        cost_usd=0.07,
    )


def at_work(repo: Path, pid: int) -> Run:
    """A run whose process is alive."""
    return run_of(
        CACHE,
        "api-cache",
        "01:40:20",
        None,
        status=RunStatus.RUNNING,
        pid=pid,
        process_identity=signals.identity(pid),
        repo_root=str(repo),
    )


def says(text: str, tokens: int) -> dict[str, Any]:
    return _message({"type": "text", "text": text}, tokens)


def uses(name: str, tokens: int, **given: str) -> dict[str, Any]:
    return _message({"type": "tool_use", "id": f"call-{tokens}", "name": name, "input": given}, tokens)


def _message(block: dict[str, Any], tokens: int) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": tokens // 10}
    return {"type": "assistant", "message": {"id": f"m-{tokens}", "content": [block], "usage": usage}}


LOGS: dict[RunId, Sequence[dict[str, Any]]] = {
    FIRST: (
        says("I look at the routes first.", 4_000),
        uses("Read", 5_000, file_path="weather/app.py"),
        uses("Bash", 5_120, command="pytest -q tests/test_routes.py"),
    ),
    ROUTES: (
        says("The provider answers again. I add the two routes.", 9_000),
        uses("Edit", 11_000, file_path="weather/routes.py"),
        uses("Bash", 21_007, command="pytest -q"),
        says("Both routes answer, by place and by day. 14 tests pass.", 0),
    ),
    CACHE: (
        says("I read how routes ask the provider before I put a cache between them.", 6_000),
        uses("Read", 3_100, file_path="weather/provider.py"),
        uses("Grep", 1_400, pattern="forecast("),
        says(
            "Every route asks through `forecast`. One small class with a clock will do, and no thread.", 2_000
        ),
        uses("Write", 4_400, file_path="weather/cache.py"),
        uses("Write", 3_800, file_path="tests/test_cache.py"),
        uses("Bash", 900, command="pytest -q tests/test_cache.py"),
        says(
            "One test fails: an answer of exactly ten minutes counts as fresh. I mend the comparison.", 1_250
        ),
        uses("Edit", 2_030, file_path="weather/cache.py"),
        uses("Bash", 640, command="pytest -q"),
    ),
}


def put_scene(repo: Path, environ: dict[str, str], *more: Run) -> None:
    """Create project, plan, records and logs; ``more`` are runs besides those that have ended."""
    commit(repo, PROJECT)
    owed = Feedback(
        parent_task_id=TaskId("past"),
        review_run_id=REVIEW,
        feedback=WANTED,
        created_at=f"{NIGHT}T01:36:20Z",
        updated_at=f"{NIGHT}T01:36:20Z",
    )
    with open_workspace(environment_of(repo, environ)).store.transaction() as transaction:
        transaction.save_plan(Plan({one.id: one for one in tasks()}))
        for run in (*finished(repo), *more):
            transaction.save_run(run)
            put_log(repo, run)
        transaction.save_feedback(TaskId("past-write"), owed)


def put_log(repo: Path, run: Run) -> None:
    lines = "".join(json.dumps(event) + "\n" for event in LOGS.get(run.id, ()))
    write(repo, {f".git/blackbird/streams/{run.task_id}.{run.id}.stdout": lines})

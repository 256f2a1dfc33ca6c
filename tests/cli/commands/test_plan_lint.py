"""``plan lint`` and ``validate --lint``: doubts about a plan, as lines, as JSON, and as an exit code."""

import json
from pathlib import Path

import pytest

from tests.trial.program import Trial

PAGE = """## Store
id: store

Write `store.py`.
- [ ] it keeps what is put in (FR-001)
## API
id: api
after: Store
because Store: it reads from it

Write `api.py`.
## Page
id: page

Write `api.py`.
- [ ] it is there
"""
FOUND = """blocking: no task names the requirement FR-002 (requirement_not_covered)
    add a task for it, or name FR-002 in the one that has it
    spec.md:2
blocking: api: nothing says when it is done (leaf_acceptance_criteria_missing)
    add what must hold in the end, as something that can be looked at or run
warning: 2 tasks: no criterion names a command or a file, and no check is set (criterion_without_check)
    name in `…` what shows that it holds, or set check.command
    store, page
warning: api: api, page name api.py, and none waits for the other (unordered_same_file)
    `git blackbird deps add page api`, or say which part is whose
2 blocking, 3 warnings
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo)
    trial.init()
    trial.expect(0, "add", "-", stdin=PAGE)
    (repo / "spec.md").write_text("- FR-001: keep\n- FR-002: forget\n")
    return trial


def test_what_is_doubtful_is_said_and_what_blocks_is_an_exit_code(trial: Trial) -> None:
    assert trial.expect(1, "plan", "lint", "--source", "spec.md") == FOUND
    trial.expect(0, "config", "check.command", "true")
    trial.expect(0, "edit", "api", "--ac", "GET / answers; FR-002")
    assert trial.expect(0, "plan", "lint", "--source", "spec.md").splitlines()[-1] == "0 blocking, 1 warning"
    trial.expect(0, "deps", "add", "page", "api")
    assert trial.expect(0, "plan", "lint") == "nothing to say about the plan\n"


def test_programs_are_told_where(trial: Trial) -> None:
    said = json.loads(trial.expect(1, "plan", "lint", "--source", "spec.md", "--json"))
    assert said["command"] == "plan lint"
    findings = said["data"]["findings"]
    assert [one["taskId"] for one in findings] == [None, "store", "api", "api", "page"]
    assert [findings[0], findings[2]] == [
        {
            "severity": "blocking",
            "code": "requirement_not_covered",
            "taskId": None,
            "field": "task",
            "message": "no task names the requirement FR-002",
            "suggestion": "add a task for it, or name FR-002 in the one that has it",
            "places": ["spec.md:2"],
        },
        {
            "severity": "blocking",
            "code": "leaf_acceptance_criteria_missing",
            "taskId": "api",
            "field": "acceptanceCriteria",
            "message": "nothing says when it is done",
            "suggestion": "add what must hold in the end, as something that can be looked at or run",
            "places": ['$.items["api"].acceptanceCriteria'],
        },
    ]


def test_validate_judges_a_valid_plan_where_that_is_asked_for(trial: Trial) -> None:
    assert trial.expect(0, "validate") == "OK\n"
    assert trial.expect(1, "validate", "--lint").splitlines()[-1] == "1 blocking, 3 warnings"
    said = json.loads(trial.expect(1, "validate", "--lint", "--json"))
    assert len(said["data"]["findings"]) == 4
    plan = trial.repo / "blackbird.plan.json"
    plan.write_text(plan.read_text().replace('"store"', '"other"', 1))
    said = json.loads(trial.expect(128, "validate", "--lint", "--json"))
    assert said["data"]["findings"] is None


def test_the_reason_of_a_dependency_is_shown_with_it(trial: Trial) -> None:
    assert "  store  READY  Store, because it reads from it\n" in trial.expect(0, "show", "api")
    shown = json.loads(trial.expect(0, "show", "api", "--json"))
    assert shown["data"]["task"]["depRationale"] == {"store": "it reads from it"}


def test_validate_offers_to_fill_in_only_what_can_be_added(trial: Trial) -> None:
    plan = trial.repo / "blackbird.plan.json"
    for faulty in ({"deps": ["ghost"]}, {"status": "bogus"}):
        plan.write_text(json.dumps({"schemaVersion": 1, "items": {"a": {"id": "a", "title": "A", **faulty}}}))
        assert "filled in" not in trial.expect(128, "validate")
    plan.write_text(json.dumps({"items": {"a": {"id": "a", "title": "A"}}}))
    said = trial.expect(128, "validate").splitlines()
    assert said[-3:] == [
        "what is missing is filled in by these commands:",
        "  mv blackbird.plan.json tasks.json",
        "  git blackbird init && git blackbird add -F tasks.json",
    ]
    plan.rename(trial.repo / "tasks.json")
    trial.expect(0, "init")
    trial.expect(0, "add", "-F", "tasks.json")
    assert trial.expect(0, "validate") == "OK\n"


def test_a_group_alone_names_its_commands(trial: Trial) -> None:
    said = trial.expect(2, "plan")
    assert said.startswith("error: Missing command. Choose from: export, generate, import, lint, refine\n")

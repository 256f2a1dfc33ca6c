"""The structure of a plan is judged by ids, orders, files and criteria, not by phrases."""

from collections.abc import Iterable
from dataclasses import replace

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.lint import LintFinding, RequirementSource, lint_plan, requirements
from tests.cli.plans import task

SPEC = """# Orders

Uses UTF-8 and ISO-8601.

- **FR-001**: orders are listed
- **FR-002** orders are deleted
2. R3. Fast: under 100 ms
| NFR-1 | no crash |
### US4: as a buyer
- [ ] FR-010 - a criterion
- **FR-001** again
"""


def judged(*tasks: Task, sources: Iterable[str] = (), has_check: bool = False) -> list[LintFinding]:
    plan = Plan({one.id: one for one in tasks})
    return list(
        lint_plan(plan, [RequirementSource("spec.md", text) for text in sources], has_check=has_check)
    )


def good(name: str, prompt: str = "", **fields: object) -> Task:
    """A task about which there is nothing to say alone."""
    made = replace(task(name, prompt=prompt), acceptance_criteria=("`make test` passes",))
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of tests


def said(found: Iterable[LintFinding]) -> list[tuple[str | None, str, str]]:
    return [(one.task_id, one.code, one.message) for one in found]


def test_requirements_are_items_and_headings_that_begin_with_an_id() -> None:
    assert requirements(SPEC) == {"FR-001": 5, "FR-002": 6, "R3": 7, "NFR-1": 8, "US4": 9, "FR-010": 10}


def test_requirements_that_no_task_names_are_found_with_their_lines() -> None:
    tasks = good("a", prompt="FR-001 to FR-009, R3"), good("b", notes="NFR-1", status=Status.DONE)
    (first, second) = judged(*tasks, sources=[SPEC])
    assert (first.severity, first.code, first.task_id) == ("blocking", "requirement_not_covered", None)
    assert first.message == "no task names the requirement US4"
    assert (first.places, second.places) == (("spec.md:9",), ("spec.md:10",))
    assert judged(*tasks) == []


def test_leaves_need_criteria_and_something_that_checks_them() -> None:
    none, vague = task("none"), replace(task("vague"), acceptance_criteria=("it works", "it is fast"))
    over, parent = task("over", status=Status.DONE), task("parent", children=("good",))
    found = judged(none, vague, over, parent, good("good", parent=TaskId("parent")))
    assert said(found) == [
        ("none", "leaf_acceptance_criteria_missing", "nothing says when it is done"),
        (
            "vague",
            "criterion_without_check",
            "no criterion names a command or a file, and no check is set",
        ),
    ]
    assert found[1].places == (
        '$.items["vague"].acceptanceCriteria[0]',
        '$.items["vague"].acceptanceCriteria[1]',
    )
    assert said(judged(vague, has_check=True)) == []
    assert said(judged(replace(vague, acceptance_criteria=("$ make test",)))) == []


def test_unordered_tasks_that_name_one_file_are_found_together() -> None:
    same = [good(name, prompt="Change src/app.py and look into src/.") for name in "abc"]
    (found,) = judged(*same)
    assert found.message == "a, b, c name src/app.py, and none waits for the other"
    assert found.suggestion == "`git blackbird deps add b a`, or say which part is whose"
    assert found.places == ('$.items["a"]', '$.items["b"]', '$.items["c"]')
    a, b, c = same
    chain = a, replace(b, deps=(a.id,)), replace(c, deps=(b.id,))
    assert judged(*chain) == []
    below = replace(a, parent=TaskId("p")), task("p", children=("a",)), replace(b, deps=(TaskId("p"),))
    assert judged(*below) == []
    assert judged(a, replace(b, status=Status.DONE)) == []


def test_an_order_needs_a_reason_a_file_of_both_or_a_name() -> None:
    store = good("store", prompt="Write store.py.")
    api = good("api", prompt="Write api.py.", deps=(store.id,))
    (found,) = judged(store, api)
    assert said([found]) == [
        ("api", "order_without_reason", "it waits for store, and nothing says why: they name different files")
    ]
    assert found.places == ('$.items["api"].deps[0]',)
    for reason in (
        {"dep_rationale": {store.id: "it reads from it"}},
        {"prompt": "Write api.py on the store."},
        {"prompt": "Write api.py on store.py."},
        {"prompt": "Write an API."},
    ):
        assert judged(store, replace(api, **reason)) == []
    assert judged(replace(store, status=Status.DONE), api) == []


def test_many_tasks_are_judged_at_once() -> None:
    chain = [
        good(f"t{number}", prompt="app.py", deps=(TaskId(f"t{number - 1}"),)) for number in range(1, 3000)
    ]
    assert judged(good("t0", prompt="app.py"), *chain) == []


def test_tasks_that_wait_for_one_another_are_no_bug() -> None:
    parent = task("p", children=("a",))
    stuck = good("a", prompt="app.py", parent=TaskId("p"), deps=(TaskId("p"),))
    assert [one.code for one in judged(parent, stuck, good("b", prompt="app.py"))] == ["unordered_same_file"]

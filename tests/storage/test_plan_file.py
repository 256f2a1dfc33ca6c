"""The plan file, byte for byte as the Go program writes it, and every fault of a file in one go."""

import json
import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.clean import legible
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task, with_status
from git_blackbird.model.plan.status import Status
from git_blackbird.storage.json_codec import dump_json
from git_blackbird.storage.plan_file import InvalidPlanError, PlanRenderer, parse_plan, render_plan
from tests.storage.building import STAMP, broken
from tests.support import commit, examples, git

GO_PLAN = b"""{
  "schemaVersion": 1,
  "items": {
    "a": {
      "id": "a",
      "title": "Write \\u003cmain\\u003e \\u0026 tests",
      "description": "",
      "acceptanceCriteria": [],
      "prompt": "",
      "parentId": null,
      "childIds": [],
      "deps": [],
      "status": "done",
      "createdAt": "2026-01-02T03:04:05.123456789Z",
      "updatedAt": "2026-01-02T03:04:05.1234568Z"
    },
    "p": {
      "id": "p",
      "title": "Gr\xc3\xb6\xc3\x9fe \xe4\xbb\xbb\xe5\x8a\xa1 \xf0\x9f\x90\xa6",
      "description": "two\\nlines\\tand \\"quotes\\" \\\\ \\u2028\\u2029",
      "acceptanceCriteria": [
        "it works",
        "it is tested"
      ],
      "prompt": "do it",
      "parentId": null,
      "childIds": [
        "z",
        "t10"
      ],
      "deps": [],
      "status": "in_progress",
      "createdAt": "2026-01-02T03:04:05+02:00",
      "updatedAt": "2026-01-02T03:04:05+02:00",
      "notes": ""
    },
    "t10": {
      "id": "t10",
      "title": "ten",
      "description": "",
      "acceptanceCriteria": [],
      "prompt": "",
      "parentId": "p",
      "childIds": [],
      "deps": [
        "z",
        "a"
      ],
      "status": "todo",
      "createdAt": "2026-01-02T03:04:05Z",
      "updatedAt": "2026-01-02T03:04:05Z",
      "notes": "careful",
      "depRationale": {
        "a": "it needs main",
        "z": "and z"
      }
    },
    "z": {
      "id": "z",
      "title": "zet",
      "description": "",
      "acceptanceCriteria": [],
      "prompt": "",
      "parentId": "p",
      "childIds": [],
      "deps": [],
      "status": "waiting_user",
      "createdAt": "2026-01-02T03:04:05Z",
      "updatedAt": "2026-01-02T03:04:05Z"
    }
  }
}
"""
LINES = GO_PLAN.count(b"\n")
ITEM = {
    "id": "a",
    "title": "A",
    "acceptanceCriteria": [],
    "childIds": [],
    "deps": [],
    "status": "todo",
    "createdAt": STAMP,
    "updatedAt": STAMP,
}


def plan_bytes(**items: Any) -> bytes:
    return json.dumps({"schemaVersion": 1, "items": items}).encode()


def faults(data: bytes) -> list[str]:
    with pytest.raises(InvalidPlanError) as raised:
        parse_plan(data, "the plan")
    assert all(fault.place and fault.what and fault.fix for fault in raised.value.faults)
    texts = [str(fault) for fault in raised.value.faults]
    listed = "".join(f"\n- {legible(text)}" for text in texts)
    assert raised.value.message == f"invalid plan: the plan{listed}"
    return texts


def test_a_plan_of_the_go_program_is_written_back_byte_for_byte() -> None:
    plan = parse_plan(GO_PLAN, "plan")
    assert render_plan(plan) == GO_PLAN
    assert plan.tasks[TaskId("a")].title == "Write <main> & tests"
    assert plan.tasks[TaskId("p")].children == ("z", "t10")
    assert plan.tasks[TaskId("p")].notes == ""
    assert plan.tasks[TaskId("a")].created_at == "2026-01-02T03:04:05.123456789Z"


def test_an_empty_plan() -> None:
    assert render_plan(Plan()) == b'{\n  "schemaVersion": 1,\n  "items": {}\n}\n'
    assert parse_plan(render_plan(Plan()), "plan") == Plan()


def test_items_and_rationales_are_written_in_order_whatever_theirs_was() -> None:
    whole = json.loads(GO_PLAN)
    whole["items"] = dict(reversed(whole["items"].items()))
    rationale = whole["items"]["t10"]["depRationale"]
    whole["items"]["t10"]["depRationale"] = dict(reversed(rationale.items()))
    assert render_plan(parse_plan(json.dumps(whole).encode(), "plan")) == GO_PLAN


def test_what_the_go_program_lets_be_absent_may_be() -> None:
    one = parse_plan(plan_bytes(a=ITEM), "plan").tasks[TaskId("a")]
    assert one == new_task(TaskId("a"), "A", STAMP)
    explicit = ITEM | {"parentId": None, "notes": None, "depRationale": None}
    assert parse_plan(plan_bytes(a=explicit), "plan").tasks[TaskId("a")] == one


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[]", ['$: is not an object (write {"schemaVersion": 1, "items": {}})']),
        (b"null", ['$: is not an object (write {"schemaVersion": 1, "items": {}})']),
        (
            b"{}",
            [
                "$.schemaVersion: is missing (write 1)",
                "$.items: is missing (make it an object from task id to task)",
            ],
        ),
        (b'{"schemaVersion": 2, "items": {}}', ["$.schemaVersion: is 2, not 1 (write 1)"]),
        (b'{"schemaVersion": true, "items": {}}', ["$.schemaVersion: is true, not 1 (write 1)"]),
        (b'{"schemaVersion": 1.0, "items": {}}', ["$.schemaVersion: is 1.0, not 1 (write 1)"]),
        (b'{"schemaVersion": "1", "items": {}}', ['$.schemaVersion: is "1", not 1 (write 1)']),
        (
            b'{"schemaVersion": 1, "items": []}',
            ["$.items: is not an object (make it an object from task id to task)"],
        ),
        (
            b'{"schemaVersion": 1, "items": {}, "x y": 1, "more": 2}',
            [
                '$["x y"]: unknown field (remove it: the plan\'s schema has no such field)',
                "$.more: unknown field (remove it: the plan's schema has no such field)",
            ],
        ),
        (b'{"schemaVersion": 1,}', None),
        (b'{"schemaVersion": 1, "items": {"a": {}, "a": {}}}', None),
        (b'{"schemaVersion": NaN, "items": {}}', ["$: NaN is not JSON (make it valid JSON)"]),
        (
            b'{"schemaVersion": 1, "items": {"items": 1, "notes": null}}',
            [
                '$.items["items"]: is 1 (make it an object)',
                '$.items["notes"]: is null (make it an object)',
            ],
        ),
        (b"\xef\xbb\xbf" + GO_PLAN, None),
        (b"\xff\xfe" + GO_PLAN, ["$: not UTF-8 at byte 0 (make it valid JSON)"]),
        (GO_PLAN + b"x", [f"$: Extra data at line {LINES + 1}, column 1 (make it valid JSON)"]),
        (b"[" * 100_000, ["$: nested too deeply (make it valid JSON)"]),
        (b"", ["$: Expecting value at line 1, column 1 (make it valid JSON)"]),
    ],
    ids=range(18),
)
def test_faults_of_the_whole_file(data: bytes, expected: list[str] | None) -> None:
    found = faults(data)
    assert found == expected if expected is not None else len(found) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"extra": 1}, ["extra: unknown field (remove it: the plan's schema has no such field)"]),
        ({"Title": "A"}, ["Title: unknown field (remove it: the plan's schema has no such field)"]),
        ({"model": "-x"}, ['model: is "-x" (name an agent or a model, or remove it)']),
        ({"title": 5}, ["title: is 5 (make it a string)"]),
        ({"title": None}, ["title: is null (make it a string)"]),
        ({"title": ""}, ["title: is empty (give the task a title)"]),
        ({"description": ["x"]}, ["description: is a list (make it a string)"]),
        ({"prompt": {}}, ["prompt: is an object (make it a string)"]),
        ({"parentId": 5}, ["parentId: is 5 (make it a string or null)"]),
        ({"parentId": ""}, ['parentId: unknown parent id "" (name a task of this plan or null)']),
        ({"deps": None}, ["deps: is null (make it a list of strings)"]),
        ({"deps": "b"}, ['deps: is "b" (make it a list of strings)']),
        ({"deps": {}}, ["deps: is an object (make it a list of strings)"]),
        (
            {"childIds": ["b", 5, None]},
            ["childIds[1]: is 5 (make it a string)", "childIds[2]: is null (make it a string)"],
        ),
        ({"acceptanceCriteria": [["x"]]}, ["acceptanceCriteria[0]: is a list (make it a string)"]),
        ({"depRationale": []}, ["depRationale: is a list (make it an object of strings)"]),
        ({"depRationale": {"b": 1}}, ['depRationale["b"]: is 1 (make it a string)']),
        ({"notes": True}, ["notes: is true (make it a string or null)"]),
        ({"id": "b"}, ['id: is "b", not its key (make the key and the id the same)']),
        (
            {"status": "Todo"},
            [f'status: unknown status "Todo" (use one of: {", ".join(Status)})'],
        ),
        ({"createdAt": 0}, ["createdAt: is 0 (make it a string)"]),
        ({"title": "x" * 99, "id": 5}, ["id: is 5 (make it a string)"]),
        ({"title": ["x" * 99]}, ["title: is a list (make it a string)"]),
        ({"id": 10**60}, [f"id: is 1{'0' * 36}... (make it a string)"]),
    ],
    ids=range(24),
)
def test_faults_of_one_item(change: dict[str, Any], expected: list[str]) -> None:
    assert faults(plan_bytes(a=ITEM | change)) == [f'$.items["a"].{text}' for text in expected]


def test_every_field_that_is_missing_is_named() -> None:
    required = ["id", "title", "acceptanceCriteria", "childIds", "deps", "status", "createdAt", "updatedAt"]
    assert faults(plan_bytes(a={})) == [f'$.items["a"].{name}: is missing (add it)' for name in required]


def test_items_that_are_none_and_hostile_keys() -> None:
    hostile = ITEM | {"id": "../../x"}
    found = faults(plan_bytes(**{"a": None, "../../x": hostile, "n\nl": 5, "": []}))
    assert [text.split(" (")[0] for text in found] == [
        '$.items["a"]: is null',
        "$.items[\"../../x\"]: the task id starts with '.'",
        '$.items["n\\nl"]: is 5',
        "$.items[\"n\\nl\"]: the task id contains '\\n'",
        '$.items[""]: is a list',
        '$.items[""]: the task id is empty',
    ]


def test_faults_of_shape_and_between_items_come_in_one_go() -> None:
    wrong = {
        "b": ITEM | {"id": "b", "deps": ["a", "gone"]},
        "a": ITEM | {"title": 5, "extra": 1},
        "c": ITEM | {"id": "c", "deps": ["c2"]},
        "c2": ITEM | {"id": "c2", "deps": ["c"]},
    }
    expected = {
        "a": ['$.items["a"].extra: unknown field', '$.items["a"].title: is 5'],
        "b": ['$.items["b"].deps[1]: unknown dep id "gone"'],
        "c": ['$.items["c"].deps: dependency cycle detected: c -> c2 -> c'],
        "c2": [],
    }
    for order in (sorted(wrong), sorted(wrong, reverse=True)):
        found = faults(plan_bytes(**{key: wrong[key] for key in order}))
        assert [text.split(" (")[0] for text in found] == [text for key in order for text in expected[key]]


def test_a_misspelt_name_comes_before_what_follows_from_it() -> None:
    item = {name: value for name, value in ITEM.items() if name != "title"}
    found = faults(plan_bytes(a=item | {"status": "Todo", "titel": "T", "deps": ["gone"]}))
    assert [text.split(" (")[0] for text in found] == [
        '$.items["a"].titel: unknown field',
        '$.items["a"].deps[0]: unknown dep id "gone"',
        '$.items["a"].status: unknown status "Todo"',
        '$.items["a"].title: is missing',
    ]


def test_a_file_that_git_could_not_merge_is_named_with_the_ways_out(repo: Path) -> None:
    name = "blackbird.plan.json"
    commit(repo, {name: plan_bytes(a=ITEM).decode()})
    git(repo, "checkout", "-q", "-b", "theirs")
    theirs = plan_bytes(a=ITEM | {"title": "Theirs"})
    commit(repo, {name: theirs.decode()})
    git(repo, "checkout", "-q", "-")
    commit(repo, {name: plan_bytes(a=ITEM | {"title": "Ours"}).decode()})
    subprocess.run(["git", "merge", "-q", "theirs"], cwd=repo, capture_output=True, check=False)
    (told,) = faults((repo / name).read_bytes())
    place = (repo / name).read_text().splitlines().index("<<<<<<< HEAD") + 1
    assert told == (
        f"$: line {place}: git could not merge the file and left conflict markers in it (after "
        f"`git blackbird hooks install`, `git checkout --merge :/{name}` merges it by task and field, or "
        f"brings the markers back; else edit it, or take one side with `git checkout --ours :/{name}` or "
        f"`git checkout --theirs :/{name}`)"
    )
    merge, ours, theirs = re.findall("`git (checkout [^`]*)`", told)
    for command in (ours, theirs, merge):
        git(repo, *command.split())
    assert "<<<<<<< ours" in (repo / name).read_text()
    git(repo, "checkout", "--theirs", f":/{name}")
    assert parse_plan((repo / name).read_bytes(), name).tasks[TaskId("a")].title == "Theirs"


def test_half_a_surrogate_pair_is_read_and_written_as_the_go_program_reads_it() -> None:
    data = plan_bytes(a=ITEM | {"title": "\ud800"})
    assert parse_plan(data, "plan").tasks[TaskId("a")].title == "\ufffd"
    halved = Plan({TaskId("a"): new_task(TaskId("a"), "<\ud800>", STAMP)})
    assert render_plan(halved) == render_plan(Plan({TaskId("a"): new_task(TaskId("a"), "<\ufffd>", STAMP)}))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
SPECIAL = st.sampled_from(["<&>", "\u2028", "\u2029", "\x00", "\x7f", '"\\', "\ufffd", "🐦", "\r\n"])
WORDS = TEXT | SPECIAL
STAMPS = st.sampled_from([STAMP, "2026-01-01T00:00:00.000000001Z", "2026-01-01T05:30:00+05:30"])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Valid plans: each task depends on earlier ones and lies under an earlier one."""
    names = [
        TaskId(f"{draw(st.sampled_from(['t', 'w_', 'ä']))}{number}")
        for number in range(draw(st.integers(0, 6)))
    ]
    tasks: dict[TaskId, Task] = {}
    for number, name in enumerate(names):
        earlier = st.lists(st.sampled_from(names[:number]), unique=True) if number else st.just([])
        deps = tuple(draw(earlier))
        parent = draw(st.none() | st.sampled_from(names[:number])) if number else None
        tasks[name] = replace(
            new_task(name, draw(WORDS) or "title", STAMP),
            updated_at=draw(STAMPS),
            description=draw(WORDS),
            acceptance_criteria=tuple(draw(st.lists(WORDS, max_size=2))),
            prompt=draw(WORDS),
            parent=parent,
            deps=deps,
            status=draw(st.sampled_from(list(Status))),
            notes=draw(st.none() | WORDS),
            dep_rationale={dep: draw(WORDS) for dep in sorted(deps) if draw(st.booleans())},
        )
        if parent is not None:
            tasks[parent] = replace(tasks[parent], children=(*tasks[parent].children, name))
    return Plan(tasks)


@given(plans())
@settings(max_examples=examples(150), deadline=None)
def test_what_is_written_is_read_back_and_written_the_same(plan: Plan) -> None:
    written = render_plan(plan)
    again = parse_plan(written, "plan")
    assert again == plan
    assert render_plan(again) == written
    assert json.loads(written)["schemaVersion"] == 1


def is_plan(data: bytes) -> bool:
    """Whether the bytes are a plan; one that is can be written and read again, one that is not says why."""
    try:
        plan = parse_plan(data, "plan")
    except InvalidPlanError:
        texts = faults(data)
        assert texts
        assert all(text.startswith("$") and "\n" not in text for text in texts)
        return False
    assert parse_plan(render_plan(plan), "plan") == plan
    return True


@given(st.integers(0, 2**32))
@settings(max_examples=examples(500), deadline=None)
def test_a_plan_broken_anywhere_parses_or_is_refused_with_places(seed: int) -> None:
    is_plan(dump_json(broken(json.loads(GO_PLAN), seed)))


@given(st.integers(0, 2**32))
@settings(max_examples=examples(300), deadline=None)
def test_a_plan_with_broken_bytes_parses_or_is_refused(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(GO_PLAN)
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    is_plan(bytes(data))


def test_a_plan_is_rendered_by_pieces_as_it_is_as_a_whole() -> None:
    renderer = PlanRenderer()
    plan = Plan(
        {TaskId(key): new_task(TaskId(key), f'"{key}",\n    "', STAMP) for key in ("b", "a", "ä", "c")}
    )
    for after in (
        plan,
        plan.replaced(with_status(plan.tasks[TaskId("a")], Status.DONE, STAMP)),
        plan.replaced(new_task(TaskId("d"), "\ud800 <&>", STAMP)),
        Plan({TaskId("c"): plan.tasks[TaskId("c")]}),
        Plan(),
        plan,
    ):
        assert renderer.render(after) == render_plan(after)


@given(st.lists(st.dictionaries(st.sampled_from("abcdä"), st.sampled_from(Status)), max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_plans_after_one_another_are_rendered_as_each_alone(states: list[dict[str, Status]]) -> None:
    renderer, tasks = PlanRenderer(), {TaskId(key): new_task(TaskId(key), key, STAMP) for key in "äcabd"}
    for statuses in states:
        # A task is the same object as before where it did not change, as after a command.
        for key, status in statuses.items():
            tasks[TaskId(key)] = with_status(tasks[TaskId(key)], status, STAMP)
        plan = Plan({key: task for key, task in tasks.items() if key in statuses})
        assert renderer.render(plan) == render_plan(plan)

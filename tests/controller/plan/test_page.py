"""Plans as pages: what a page makes of a plan, what others changed meanwhile, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.controller.plan.edit import edit_task, rename_task
from git_blackbird.controller.plan.page import RemovedError, add_page, edit_page, preview_page
from git_blackbird.controller.plan.page_reading import PageConflictError, page_of
from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.natural import read_page
from git_blackbird.messages.forms.page import PageTask, parse_page, render_page
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.task_fields import fields_of
from tests.cli.plans import task
from tests.controller.support import agree_to_agent, configure, execute, leaf, open_at, put_plan
from tests.messages.forms.test_page import TEXT
from tests.support import examples

A, B, P = map(TaskId, ["a", "b", "p"])


def plan_of(repo: Path) -> Plan:
    return open_at(repo).store.plan()


def tree(plan: Plan) -> list[str]:
    return [f"{'  ' * depth}{task.id}" for depth, task in plan.walk()]


def faults(action: Callable[[], object]) -> list[str]:
    with pytest.raises(RequestError) as caught:
        action()
    return caught.value.message.splitlines()


@pytest.fixture
def planned(repo: Path) -> Path:
    put_plan(repo, task("p", children=("a", "b")), task("a", parent="p"), task("b", parent="p", deps=("a",)))
    return repo


LINE = TEXT.map(lambda text: " ".join(text.split()).strip() or "x").filter(str.isprintable)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Task, ...]:
    depths: list[int] = []
    for _ in range(draw(st.integers(1, 5))):
        depths.append(draw(st.integers(0, depths[-1] + 1)) if depths else 0)
    ids = [TaskId(f"t{number}") for number in range(len(depths))]
    path: list[int] = []
    tasks = {}
    for number, depth in enumerate(depths):
        del path[depth:]
        parent = ids[path[-1]] if path else None
        deps = () if parent is not None else tuple(ids[one] for one in range(number) if depths[one] == 0)
        deps = deps[: draw(st.integers(0, 2))]
        tasks[ids[number]] = replace(
            task(ids[number], draw(LINE), parent=parent, deps=deps),
            description=draw(TEXT),
            prompt=draw(TEXT),
            notes=draw(st.none() | TEXT),
            acceptance_criteria=tuple(draw(st.lists(TEXT.filter(str.strip), max_size=2))),
            dep_rationale={dep: draw(TEXT) for dep in deps[:1]},
            agent=draw(st.sampled_from([None, "claude", "codex"])),
            model=draw(st.sampled_from([None, "gpt-5.9"])),
            created_at=f"2026-01-01T00:00:0{number}Z",
            updated_at="2026-01-01T00:01:00Z",
        )
        if parent is not None:
            tasks[parent] = replace(tasks[parent], children=(*tasks[parent].children, ids[number]))
        path.append(number)
    return tuple(tasks.values())


@given(plans())
@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_plan_is_written_as_a_page_and_read_back_the_same(repo: Path, tasks: tuple[Task, ...]) -> None:
    put_plan(repo, *tasks)
    before = plan_of(repo)
    text = render_page(page_of(before))
    unchanged = edit_page(open_at(repo), page_of(before), parse_page(text, is_whole=True))
    assert not unchanged.is_changed
    assert plan_of(repo) == before
    put_plan(repo)
    add_page(open_at(repo), parse_page(text, is_whole=True))
    after = plan_of(repo)
    assert tree(after) == tree(before)
    for one in before.tasks.values():
        fields = fields_of(one)
        prompt = fields.prompt.strip("\n") if fields.prompt.strip() else fields.prompt
        assert fields_of(after.tasks[one.id]) == replace(fields, prompt=prompt)


def test_names_are_ids_titles_or_beginnings_and_ids_are_made_of_titles(planned: Path) -> None:
    page = parse_page(
        "## An API for orders\nafter: The store, b\nbecause The store: it keeps them\n\nDo it.\n"
        "## The store\n### Über Tables!\n- [ ] there\n## The store 2\nafter: an-api\nstatus: done\n"
    )
    result = preview_page(open_at(planned), page)
    assert [one.id for one in result.added] == [
        "an-api-for-orders",
        "the-store",
        "uber-tables",
        "the-store-2",
    ]
    assert tree(plan_of(planned)) == ["p", "  a", "  b"]
    add_page(open_at(planned), page)
    plan = plan_of(planned)
    api, last = plan.tasks[TaskId("an-api-for-orders")], plan.tasks[TaskId("the-store-2")]
    assert (api.deps, api.dep_rationale) == (("the-store", "b"), {"the-store": "it keeps them"})
    assert (last.deps, last.status) == (("an-api-for-orders",), Status.DONE)
    assert tree(plan)[3:] == ["an-api-for-orders", "the-store", "  uber-tables", "the-store-2"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("## \n", "line 1: a task needs a title"),
        ("## x\nid: a\n", 'line 2: a task "a" exists already (ids are compared without case)'),
        ("## x\nid: u\n## y\nid: U\n", 'line 2 and line 4 have one id, "U"'),
        ("## x\nid: {u}\n## y\nid: {u}\n", 'line 2 and line 4 have one id, "{u}"'),
        ("## x\nid: ../x\n", "line 2: the id '../x' starts with '.'"),
        ("## x\nafter: zz\n", "line 2: 'zz' is no task of the page or the plan"),
        ("## One\n## On top\n## y\nafter: on\n", "line 4: 'on' begins several ids: on-top, one"),
        (
            "## x\nagent: clod\n",
            "line 2: agent: 'clod' is none of claude, codex, command, demo, gemini, opencode",
        ),
        ("## x\nmodel: -x\n", "line 2: model: '-x' is no name of a model"),
        ("## x\nstatus: doing\n", "line 2: status: 'doing' is none"),
        ('## x\n- [ ] "  "\n', "line 2: a criterion is empty"),
        ("## x\nbecause a: why\n", "line 1: a reason for a, which is not in `after:`"),
        ("## u\nafter: v\n## v\nafter: u\n", "line 1, 3: dependency cycle detected: u -> v -> u"),
    ],
)
def test_errors_name_their_lines_and_nothing_is_saved(planned: Path, text: str, fault: str) -> None:
    before = plan_of(planned)
    said = faults(lambda: add_page(open_at(planned), parse_page(text)))
    assert plan_of(planned) == before
    assert said == [fault]


def test_two_tasks_of_one_title_are_told_apart_by_an_id_and_are_no_name(planned: Path) -> None:
    twice = "## T\n## T\n"
    said = faults(lambda: add_page(open_at(planned), parse_page(twice)))
    assert said == ["line 2: another task is called T; give one of them an `id:`"]
    text = "## T\n## T\nid: t-2\n## x\nafter: T"
    assert faults(lambda: add_page(open_at(planned), parse_page(text))) == [
        "line 5: 'T' is the title of several tasks: t, t-2"
    ]


def test_five_hundred_tasks_are_added_in_their_order(repo: Path) -> None:
    put_plan(repo)
    page = [
        PageTask(f"Task {number}", after=(f"Task {number - 1}",) if number else None) for number in range(500)
    ]
    add_page(open_at(repo), page)
    assert tree(plan_of(repo)) == [f"task-{number}" for number in range(500)]


def test_a_plan_is_edited_as_a_whole(planned: Path) -> None:
    base = page_of(plan_of(planned))
    text = render_page(base)
    page = "## First\n\n" + text.replace("### Task b\nid: b\nafter: a", "## Task b\nid: b").replace(
        "### Task a\nid: a", "### Other\nid: a\n### New child"
    )
    result = edit_page(open_at(planned), base, parse_page(page, is_whole=True))
    assert [one.id for one in result.added] == ["first", "new-child"]
    assert (result.edited, result.moved) == ({"a": ("title",), "b": ("deps",)}, ("b",))
    assert tree(plan_of(planned)) == ["first", "p", "  a", "  new-child", "b"]


def test_what_is_no_longer_on_the_page_is_deleted_only_if_that_is_agreed(planned: Path) -> None:
    base = page_of(plan_of(planned))
    page = [one for one in base if one.fields["id"] != "b"]
    with pytest.raises(RemovedError, match="the page has no longer: b"):
        edit_page(open_at(planned), base, page)
    assert edit_page(open_at(planned), base, page, agreed=("b",)).deleted == ("b",)  # type: ignore[arg-type]
    assert tree(plan_of(planned)) == ["p", "  a"]


def test_who_depended_on_what_a_page_deletes_is_named(planned: Path) -> None:
    base = page_of(plan_of(planned), (A,))
    edit_task(open_at(planned), "b", lambda now: replace(now, deps=(A,)))
    result = edit_page(open_at(planned), base, (), agreed={A})
    assert (result.deleted, result.edited) == ((A,), {B: ("deps",)})


def test_the_top_has_a_name_for_new_tasks_too(planned: Path) -> None:
    add_page(open_at(planned), parse_page("## x"), "root")
    add_page(open_at(planned), parse_page("## y"), "/p")
    assert tree(plan_of(planned)) == ["p", "  a", "  b", "  y", "x"]


def test_what_is_no_longer_on_the_page_is_named_by_nothing_on_it(planned: Path) -> None:
    base = page_of(plan_of(planned))
    page = parse_page(render_page([one for one in base if one.fields["id"] != "a"]))
    said = faults(lambda: edit_page(open_at(planned), base, page, agreed=(A,)))
    assert said == ["line 6: 'a' is no longer on the page"]
    assert tree(plan_of(planned)) == ["p", "  a", "  b"]


def test_what_others_change_meanwhile_is_not_deleted(planned: Path) -> None:
    base = page_of(plan_of(planned))
    edit_task(open_at(planned), "b", lambda now: replace(now, notes="Theirs."))
    page = [one for one in base if one.fields["id"] != "b"]
    said = faults(lambda: edit_page(open_at(planned), base, page, agreed=(B,)))
    assert said == ["b was changed by someone else meanwhile: it is not deleted"]
    assert tree(plan_of(planned)) == ["p", "  a", "  b"]


def test_what_moves_to_the_top_stands_where_the_page_has_it(repo: Path) -> None:
    put_plan(repo, leaf("b"), task("p", children=("a",)), task("a", parent="p"))
    base = page_of(plan_of(repo))
    page = [replace(one, depth=0) for one in base if one.fields["id"] != "p"]
    edit_page(open_at(repo), base, page, agreed=(P,))
    assert tree(plan_of(repo)) == ["b", "a"]


def test_what_others_change_meanwhile_is_kept_or_shown(planned: Path) -> None:
    base = page_of(plan_of(planned))
    edit_task(open_at(planned), "a", lambda now: replace(now, notes="Theirs."))
    mine = [replace(one, title="Mine") if one.fields["id"] == "a" else one for one in base]
    edit_page(open_at(planned), base, mine)
    assert fields_of(plan_of(planned).tasks[A]).notes == "Theirs."
    base = page_of(plan_of(planned))
    edit_task(open_at(planned), "a", lambda now: replace(now, title="Theirs"))
    again = [replace(one, title="Ours") if one.fields["id"] == "a" else one for one in base]
    with pytest.raises(PageConflictError) as caught:
        edit_page(open_at(planned), base, again)
    assert list(caught.value.theirs()) == [
        "a: changed by someone else meanwhile: title. Below is your text; save it to keep it. Theirs:",
        "title: Theirs",
    ]
    edit_page(open_at(planned), caught.value.base(base), caught.value.merged)
    assert plan_of(planned).tasks[A].title == "Ours"


def test_json_with_the_natural_fields_is_a_page(repo: Path) -> None:
    put_plan(repo)
    tasks: list[dict[str, object]] = [
        {"id": "b", "title": "B", "prompt": "Do b.", "deps": ["a"], "parent": "p"},
        {"id": "a", "title": "A", "criteria": ["it works"], "agent": "codex"},
        {"id": "p", "title": "P", "description": "Both."},
    ]
    for document in (tasks, {"tasks": tasks}, {"items": {one["id"]: one for one in tasks}}):
        put_plan(repo)
        add_page(open_at(repo), read_page(json.dumps(document)))
        assert tree(plan_of(repo)) == ["a", "p", "  b"]
    assert plan_of(repo).tasks[B].deps == (A,)
    plan = (repo / "blackbird.plan.json").read_text()
    put_plan(repo)
    add_page(open_at(repo), read_page(plan))
    assert tree(plan_of(repo)) == ["a", "p", "  b"]


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ("{", "line 1: not JSON, or cut off: Expecting property name enclosed in double quotes, column 2"),
        ("{}", "no tasks: a list of them, or an object with `items` or `tasks`, is expected"),
        ("[5]", "task 1: an object is expected"),
        ('[{"id": "a"}]', "a: title: field required"),
        ('[{"title": "a", "titel": 1}]', "task 1: titel: extra inputs are not permitted"),
        ('[{"id": "a", "title": "A", "parent": "x"}]', "a: its parent x is not among the tasks"),
        (
            '[{"id": "a", "title": "A", "parent": "b"}, {"id": "b", "title": "B", "parent": "a"}]',
            "a, b: each is below another of them",
        ),
    ],
)
def test_json_that_is_no_plan_is_refused(document: str, fault: str) -> None:
    assert faults(lambda: read_page(document)) == [fault]


def test_errors_of_json_name_their_tasks(planned: Path) -> None:
    page = read_page('[{"id": "a", "title": "A"}, {"title": "x{0}", "deps": ["zz"]}]')
    assert faults(lambda: add_page(open_at(planned), page)) == [
        'a: a task "a" exists already (ids are compared without case)',
        "x{0}: 'zz' is no task of the page or the plan",
    ]
    page = read_page('[{"id": "x", "title": "X"}, {"id": "X", "title": "Y"}]')
    assert faults(lambda: add_page(open_at(planned), page)) == ['two tasks have the id "X"']


def test_a_task_without_runs_is_renamed_wherever_it_is_named(planned: Path) -> None:
    assert rename_task(open_at(planned), "a", "first") == "a"
    plan = plan_of(planned)
    assert tree(plan) == ["p", "  first", "  b"]
    assert plan.tasks[B].deps == ("first",)
    assert faults(lambda: rename_task(open_at(planned), "first", "B")) == [
        'a task "B" already exists (ids are compared without case)'
    ]
    rename_task(open_at(planned), "first", "First")
    assert tree(plan_of(planned)) == ["p", "  First", "  b"]


def test_a_task_with_runs_keeps_its_id(repo: Path) -> None:
    put_plan(repo, leaf("a"))
    configure(repo, agent="command", command__run="cat >/dev/null; echo 1 >one")
    agree_to_agent(repo)
    execute(repo)
    assert faults(lambda: rename_task(open_at(repo), "a", "b")) == [
        "a has runs, which are kept by its id: it cannot be renamed"
    ]

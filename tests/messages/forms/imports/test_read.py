"""Tasks of other programs are read whole, and what is cut off or wrong is an error with its file and line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.imports.common import Source
from git_blackbird.messages.forms.imports.read import TaskFile, read_tasks
from git_blackbird.messages.forms.page import parse_page, render_page
from git_blackbird.model.plan.task_forms import TaskForm
from tests.support import examples

SAMPLES = Path(__file__).with_name("samples")
FORMS = {
    "tasks.md": TaskForm.SPEC_KIT,
    "tasks.json": TaskForm.TASK_MASTER,
    "issues.jsonl": TaskForm.BEADS,
    "issues.json": TaskForm.GITHUB,
    "backlog": TaskForm.BACKLOG,
    "TODO.md": TaskForm.CHECKLIST,
}


def test_each_form_of_other_programs_has_a_sample() -> None:
    assert {*FORMS.values()} == {*TaskForm} - {TaskForm.PAGE}


def files_of(name: str) -> list[TaskFile]:
    path = SAMPLES / name
    paths = sorted(path.glob("*.md")) if path.is_dir() else [path]
    return [TaskFile(one.name, one.read_text()) for one in paths]


def sample(name: str) -> Source:
    form, source = read_tasks(files_of(name), None)
    assert form == FORMS[name]
    return source


def shape(source: Source) -> list[str]:
    """Each task by its id, below its parent, with what comes before it and whether it is over."""
    return [
        f"{'  ' * task.depth}{task.fields['id']}"
        + (f" < {' '.join(task.after)}" if task.after else "")
        + (f" ({task.fields['status']})" if "status" in task.fields else "")
        for task in source.tasks
    ]


def faults(text: str, form: TaskForm | None = None) -> list[str]:
    with pytest.raises(RequestError) as caught:
        read_tasks([TaskFile("file", text)], form)
    return caught.value.message.splitlines()


def test_phases_of_spec_kit_are_barriers_and_p_stands_beside() -> None:
    source = sample("tasks.md")
    assert shape(source) == [
        "phase-1",
        "  T001 (done)",
        "  T002 < T001 (done)",
        "  T003 < T001",
        "phase-2",
        "  T004 < phase-1",
        "  T005 < T004",
        "  T006 < T004",
        "  T007 < T005 T006",
        "phase-3",
        "  T008 < phase-2",
        "  T009 < T008",
        "  T010 < T009",
    ]
    named = {task.fields["id"]: task for task in source.tasks}
    assert named["T009"].title == "Add `POST /lists/{id}/readers` in `lists/api.py`"
    assert named["T009"].prompt.endswith("\nwith the limit of FR-007: at most 20 readers of a list")
    assert named["phase-3"].fields["description"] == "**Goal**: Owners invite readers to a list"
    assert source.left_out[-1] == 'the section "Dependencies & Execution Order"'


def test_sections_of_spec_kit_without_tasks_are_left_out() -> None:
    text = (
        "# Tasks\n## Flow\n```\n- [ ] T009 [P] an example\n```\n## Phase 3.1: Setup\n"
        "- [ ] T001 a\n- [ ] T002 b\n"
        "## Polish\n- [ ] T003 [P] c (depends on T001-T002)\n## Validation Checklist\n- [ ] all tests pass\n"
    )
    form, source = read_tasks([TaskFile("f", text)], None)
    assert form == "spec-kit"
    assert shape(source) == ["phase-3.1", "  T001", "  T002 < T001", "polish", "  T003 < phase-3.1 T001 T002"]
    assert source.left_out == ('the section "Flow"', 'the section "Validation Checklist"')
    lost = "## Phase 1\n- [ ] no id\n- [ ] T001 a\n"
    assert faults(lost) == ["file: line 2: a task begins with `- [ ] T001 `, and this is none"]
    assert faults("## Phase 1\n- [ ] T001 a\n```\n") == ["file: line 3: this fence is not closed"]


def test_tags_and_subtasks_of_task_master() -> None:
    source = sample("tasks.json")
    assert shape(source) == [
        "1 (done)",
        "2",
        "  2.1 < 1",
        "  2.2 < 2.1 1 (skipped)",
        "3 < 1 2.1",
        "search",
        "  search-1",
        "  search-2 < search-1",
    ]
    first, store, *_ = source.tasks
    assert first.prompt == "Use the standard library.\nReject entities."
    assert first.criteria == ("Feeds of ten projects are read without an error.",)
    assert (store.fields["description"], store.prompt) == ("Keep what was read.", "")
    assert source.left_out == ("priority of 3 tasks", 'state "in-progress" of 1 task')


def test_links_of_beads() -> None:
    source = sample("issues.jsonl")
    assert shape(source) == ["feed-a1b", "  feed-c2d (done)", "feed-e3f < feed-c2d"]
    fetch = source.tasks[1]
    assert fetch.prompt == "Ten seconds.\n\nUse a thread."
    assert fetch.criteria == ("a slow server is given up", "the others are read")
    assert "link discovered-from of 1 task" in source.left_out
    assert "deletion of 1 task" in source.left_out


def test_lines_of_beads_that_are_no_issues_are_counted() -> None:
    lines = [
        {"_schema": "beads-jsonl/1", "_sort": "stable-v1"},
        {"_type": "issue", "id": "b-1", "title": "One", "issue_type": "task"},
        {"_type": "memory", "key": "style", "value": "no tabs"},
        {"id": "b-2", "title": "Two", "issue_type": "task"},
        {"_type": "memory", "key": "host", "value": ""},
    ]
    for kept, headers in ((lines, ("1 header record",)), (lines[1:], ()), (lines[2:], ())):
        text = "".join(f"{json.dumps(line)}\n" for line in kept)
        form, source = read_tasks([TaskFile("f", text)], None)
        assert form == "beads"
        assert shape(source) == [line["id"] for line in kept if "id" in line]
        assert source.left_out[1:] == (*headers, "2 memory records")
    assert faults('{"_type": "issue", "title": "x"}\n') == ["file: issue 1: id: field required"]
    assert faults('{"id": "b-1", "issue_type": "task"}\n') == ["file: issue 1: title: field required"]


def test_issues_of_github() -> None:
    source = sample("issues.json")
    assert shape(source) == ["gh-3 (done)", "gh-5 (skipped)", "gh-7 < gh-3 gh-9"]
    assert source.tasks[2].criteria == ("it shows the list", "on a tablet too")
    assert "- [ ] no criterion" in source.tasks[0].prompt
    assert source.left_out == ("labels of 1 task",)
    page = [{"number": number, "title": "x", "state": "OPEN"} for number in range(30)]
    _, full = read_tasks([TaskFile("i", json.dumps(page))], None)
    assert full.left_out == ("what `gh issue list` does not print without --limit: more than 30 issues",)


def test_files_of_backlog() -> None:
    source = sample("backlog")
    assert shape(source) == ["TASK-4 < TASK-5", "TASK-5 (done)", "  task-5.1"]
    log, fetch, timeout = source.tasks
    assert log.title == "Keep a log of what was fetched: when, and how long it took"
    assert (fetch.title, timeout.title) == ("Fetch: it's over HTTP", 'Give up after "ten" seconds')
    assert log.criteria == ("Each fetch is one line", "The log is never longer than 1 MB")


def test_a_markdown_list() -> None:
    source = sample("TODO.md")
    assert shape(source) == [
        "choose-a-name (done)",
        "write-a-page",
        "  about-us",
        "  imprint",
        "write-a-page-2",
    ]
    _, _, about, imprint, _ = source.tasks
    assert about.prompt == "Two lines are enough."
    assert imprint.criteria == ("with an address",)
    text = "## Back\n- [ ] a\n## Notes\nnone\n## Front\n- [ ] a\n"
    _, sections = read_tasks([TaskFile("t", text)], TaskForm.CHECKLIST)
    assert shape(sections) == ["back", "  a", "front", "  a-2"]
    assert sections.left_out == ('the text of line 3, "Notes"',)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_cut_off_within_a_line_is_an_error(name: str) -> None:
    first, *others = files_of(name)
    places = range(1, len(first.text.rstrip()), 13)
    for place in places:
        if first.text[place - 1 : place + 1].count("\n"):
            continue
        cut = first.text[:place]
        if name == "issues.jsonl" and cut.endswith("}") and _is_json(cut.splitlines()[-1]):
            continue
        with pytest.raises(RequestError) as caught:
            read_tasks([TaskFile("cut", cut), *others], FORMS[name])
        assert caught.value.message.startswith("cut: "), cut
        assert caught.value.hint


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_errors_name_the_file_and_the_line() -> None:
    assert faults('[{"number": 1, "title": "a"},\n {"number": 2, "tit') == [
        "file: line 2: not JSON, or cut off: Unterminated string starting at, column 16"
    ]
    one = '{"id": "b-1", "title": "a", "issue_type": "task"}'
    assert faults(f'{one}\n{{"id": "b-2", "ti')[0].startswith("file: line 2: not JSON, or cut off")
    assert faults(f"{one}\n{one}") == ["file: b-1: a second task b-1"]
    assert faults('[{"number": 1}]') == ["file: issue 1: title: field required"]
    assert faults('{"tasks": [], "tasks": []}') == ["file: not JSON: a key stands twice in one object: tasks"]
    assert faults("- [ ] T001 a\n- [ ] T001 b\n") == ["file: line 2: a second task T001"]
    assert faults("- [ ] T001 a\n- [ ] b\n") == [
        "file: line 2: a task begins with `- [ ] T001 `, and this is none"
    ]
    assert faults("- [ ] a\n- [ ]\n") == ["file: line 2: an item without a text: is the file cut off?"]
    assert faults("- [ ] a\n```\n") == ["file: line 2: this fence is not closed"]
    assert faults("- [ ] a\n- [ ] b c") == [
        "file: line 2: the file is cut off here, or lacks the line break at its end: if it is whole, add that"
    ]
    assert faults("---\nid: a\ntitle: b\n---\n<!-- AC:BEGIN -->\n- [ ] #1 x\n") == [
        "file: line 5: AC:BEGIN without its END: the file is cut off"
    ]
    assert faults("---\nid: a\ntitle: 'b\n---\n") == ["file: line 3: this quoted text does not end"]


PIECES = (
    "- [ ] ", "* [x] ", "T001 ", "T002", "[P] ", "(depends on T001)", "## ", "### Phase 1: ", "a", "\n", "\n",
    "---\n", "id: ", "title: ", "dependencies:\n", "  - ", "'", '"', "[", "]", "{", "}", ":", ",", "```\n",
    "<!-- AC:BEGIN -->\n", "<!-- 1 task -->\n", "after: a\n", '"tasks"', '"id": "a"', '"number": 1',
    '"title": "a"', '"issue_type": "x"', '"dependencies": [1]', "null", "1e999", "\\", "\t", "\r", "\x00",
    "\u202e",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.sampled_from([None, *FORMS.values()]))
@settings(max_examples=examples(500), deadline=None)
def test_no_text_is_a_bug_and_every_id_is_there_once(text: str, form: TaskForm | None) -> None:
    try:
        _, source = read_tasks([TaskFile("f", text)], form)
    except RequestError:
        return
    ids = [task.fields["id"] for task in source.tasks]
    assert len(ids) == len(set(ids))
    assert parse_page(render_page(source.tasks)) == source.tasks


OTHERS: tuple[Any, ...] = (None, 1, "x", [], {}, True, [None], {"id": []})


@pytest.mark.parametrize("name", ["tasks.json", "issues.json", "issues.jsonl"])
def test_no_value_of_another_type_is_a_bug(name: str) -> None:
    text = (SAMPLES / name).read_text()
    for line in text.splitlines() if name.endswith("l") else [text]:
        for place in range(len(list(_changed(json.loads(line), -1, None)))):
            for value in OTHERS:
                (changed, *_) = _changed(json.loads(line), place, value)
                try:
                    _, source = read_tasks([TaskFile("f", json.dumps(changed))], FORMS[name])
                except RequestError:
                    continue
                assert all(isinstance(task.fields["id"], str) for task in source.tasks)


def _changed(value: Any, place: int, new: Any) -> Iterator[Any]:
    """Yield a value for each of the places in it, the one with this number changed."""
    places = [(value, key) for key in (value if isinstance(value, dict) else range(len(value)))]
    for number, (holder, key) in enumerate(places):
        held = holder[key]
        if isinstance(held, dict | list):
            places += [(held, inner) for inner in (held if isinstance(held, dict) else range(len(held)))]
        if number == place:
            holder[key] = new
    yield from [value] * len(places)


def test_what_a_file_is_is_said_where_it_is_not_seen() -> None:
    assert faults("nothing here\n") == ["file: it has no tasks in a form that is known"]
    assert faults("[]") == [
        "file: no tasks: a list of them, or an object with `items` or `tasks`, is expected"
    ]
    both = "## a\n- [ ] b\n"
    assert faults(both) == [
        "file: its headings may be tasks with criteria, or its items tasks below headings"
    ]
    assert shape(read_tasks([TaskFile("f", both)], TaskForm.PAGE)[1]) == ["a"]
    assert shape(read_tasks([TaskFile("f", both)], TaskForm.CHECKLIST)[1]) == ["a", "  b"]
    assert read_tasks([TaskFile("f", "## a\nafter: b\n- [ ] c\n## b\n")], None)[0] == "page"
    assert read_tasks([TaskFile("f", '[{"title": "a"}]')], None)[0] == "page"

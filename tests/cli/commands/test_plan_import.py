"""``plan import``: tasks of other programs come into the plan, and an import again merges."""

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from git_blackbird.controller.plan.export import export_plan
from git_blackbird.controller.plan.imports import ImportRequest, import_tasks
from git_blackbird.messages.forms.imports.read import TaskFile, read_tasks
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.task_forms import TaskForm
from tests.cli.commands.test_plan_export import with_done
from tests.controller.plan.test_page import plan_of, plans
from tests.controller.support import open_at, put_plan
from tests.messages.forms.imports.test_read import FORMS, SAMPLES
from tests.support import examples
from tests.trial.program import Trial

LIST = """# Feature

## Phase 1: Store
- [ ] T001 Write the store
- [ ] T002 Write the page

## Phase 2: Sale
- [ ] T003 Write the till
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo)
    trial.init()
    return trial


def write(trial: Trial, text: str, name: str = "specs/001/tasks.md") -> None:
    path = trial.repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read(trial: Trial, *options: str, code: int = 0, name: str = "specs/001/tasks.md") -> str:
    return trial.expect(code, "plan", "import", name, *options)


def test_an_import_again_takes_what_changed_there_and_keeps_what_changed_here(trial: Trial) -> None:
    write(trial, LIST)
    would = read(trial, "--dry-run")
    assert (
        "would: added 5 tasks:\nwould:   phase-1  Phase 1: Store\nwould:     T001  Write the store\n" in would
    )
    assert "no tasks" in trial.expect(0, "list")
    assert "added 5 tasks" in read(trial)
    assert read(trial) == "the plan is unchanged\n"
    trial.expect(0, "edit", "T001", "--prompt", "In `store.py`.", "--agent", "codex")
    trial.expect(0, "edit", "T003", "--title", "Write the cash register")
    trial.expect(0, "set-status", "T001", "done")
    trial.expect(0, "delete", "T002")
    changed = LIST.replace("Write the store", "Write the store of goods").replace("[ ] T003", "[x] T003")
    write(trial, changed + "- [ ] T004 Open the shop\n")
    assert read(trial) == (
        "added T004\n"
        "updated T001: title\n"
        "left out: T002 was deleted here (--prefer source brings it back)\n"
        "left out: T003 is done in the source: `git blackbird set-status T003 done`\n"
    )
    said = trial.expect(0, "show", "T001")
    assert "Write the store of goods  [DONE]" in said
    assert "In `store.py`." in said
    assert "Write the cash register" in trial.expect(0, "show", "T003")
    write(trial, changed)
    assert "left out: T004 is no longer in the source: `git blackbird delete T004`\n" in read(trial)


def test_where_both_changed_nothing_is_until_it_is_said_who_is_right(trial: Trial) -> None:
    write(trial, LIST)
    read(trial)
    trial.expect(0, "edit", "T001", "--title", "Ours")
    write(trial, LIST.replace("Write the store", "Theirs").replace("Write the till", "New"))
    assert read(trial, code=1) == (
        "error: specs/001/tasks.md: T001: changed here and in the source: title\n"
        "hint: nothing was changed; --prefer source or --prefer plan says which counts\n"
    )
    assert "Write the till" in trial.expect(0, "show", "T003")
    assert read(trial, "--prefer", "plan") == "updated T003: title\n"
    trial.expect(0, "edit", "T001", "--title", "Ours again")
    write(trial, LIST.replace("Write the store", "Theirs again").replace("Write the till", "New"))
    assert read(trial, "--prefer", "source") == "updated T001: title\n"


def test_a_second_list_with_the_same_ids_is_not_taken_for_the_first(trial: Trial) -> None:
    write(trial, LIST)
    read(trial)
    other = "specs/002/tasks.md"
    write(trial, "## Phase 1: Other\n- [ ] T001 Something else\n", other)
    assert read(trial, code=1, name=other).splitlines()[:2] == [
        "error: specs/002/tasks.md: phase-1 is the id of a task that was imported from specs/001/tasks.md",
        "specs/002/tasks.md: T001 is the id of a task that was imported from specs/001/tasks.md",
    ]
    assert "added 2 tasks" in read(trial, "--prefix", "002-", name=other)
    assert "Something else" in trial.expect(0, "show", "002-T001")
    (trial.repo / "specs/001").rename(trial.repo / "specs/000")
    moved = "specs/000/tasks.md"
    write(trial, LIST.replace("Write the till", "New"), moved)
    assert "imported from specs/001" in read(trial, code=1, name=moved)
    assert read(trial, "--as", "specs/001/tasks.md", name=moved) == "updated T003: title\n"


def test_what_nothing_has_is_no_dependency_and_is_named(trial: Trial) -> None:
    issues = [
        {"id": "b-1", "title": "One", "dependencies": [blocked("b-9"), blocked("b-2")]},
        {"id": "b-2", "title": "Two", "dependencies": [blocked("b-9")]},
    ]
    name = ".beads/issues.jsonl"
    write(trial, "".join(f"{json.dumps(one)}\n" for one in issues), name)
    said = read(trial, "--format", "beads", name=name)
    assert "left out: dependency on b-9, which is not in the source, of b-1, b-2\n" in said
    assert deps(trial) == {"b-1": ["b-2"], "b-2": []}


def blocked(by: str) -> dict[str, str]:
    return {"depends_on_id": by, "type": "blocks"}


def deps(trial: Trial) -> dict[str, list[str]]:
    items = json.loads((trial.repo / "blackbird.plan.json").read_bytes())["items"]
    return {task: item["deps"] for task, item in items.items()}


def test_a_task_depends_on_what_came_from_the_same_source_and_on_no_other_of_that_name(trial: Trial) -> None:
    task = "---\nid: {}\ntitle: {}\ndependencies: [{}]\n---\n"
    write(trial, task.format("one", "One", ""), "backlog/one.md")
    write(trial, task.format("two", "Two", "one"), "backlog/two.md")
    read(trial, name="backlog")
    assert "unchanged" in read(trial, name="backlog/two.md")
    write(trial, task.format("three", "Three", "one"), "other/three.md")
    assert "left out: dependency on one, which is" in read(trial, name="other")
    write(trial, '[{"title": "Four", "deps": ["one", "Five", "none"]}, {"title": "Five"}]', "page.json")
    assert "left out: dependency on none, which is not in the source, of four" in read(
        trial, name="page.json"
    )
    assert deps(trial) == {"one": [], "two": ["one"], "three": [], "four": ["one", "five"], "five": []}


def test_of_a_folder_only_files_in_it_are_read(trial: Trial, tmp_path: Path) -> None:
    task = "---\nid: {}\ntitle: x\n---\n"
    (tmp_path / "elsewhere.md").write_text(task.format("secret"))
    write(trial, task.format("here"), "backlog/1.md")
    write(trial, task.format("deeper"), "backlog/done/file")
    folder = trial.repo / "backlog"
    (folder / "2.md").symlink_to("done/file")
    (folder / "3.md").symlink_to(tmp_path / "elsewhere.md")
    (folder / "4.md").symlink_to("../../elsewhere.md")
    os.mkfifo(folder / "5.md")
    (folder / "6.md").mkdir()
    (folder / "7.md").symlink_to("gone.md")
    lines = read(trial, name="backlog").splitlines()
    assert lines[:3] == ["added 2 tasks:", "  here  x", "  deeper  x"]
    assert [line.partition("left out: ")[2] for line in lines[3:]] == [
        f"backlog/3.md, a link out of the folder, to {tmp_path / 'elsewhere.md'}",
        f"backlog/4.md, a link out of the folder, to {trial.repo.parent / 'elsewhere.md'}",
        "backlog/5.md: not a regular file",
        "backlog/6.md: Is a directory",
        "backlog/7.md: No such file or directory",
    ]
    assert read(trial, name=str(folder)).startswith("the plan is unchanged\n")
    assert trial.expect(0, "plan", "import", ".", cwd=folder).startswith("the plan is unchanged\n")
    for name in ("1.md", "2.md"):
        (folder / name).unlink()
    assert "hint: backlog/5.md: not a regular file\n" in read(trial, name="backlog", code=2)


def test_a_file_that_a_person_names_may_be_anywhere_and_a_pipe(trial: Trial, tmp_path: Path) -> None:
    (tmp_path / "list.md").write_bytes(b"\xef\xbb\xbf- [ ] One\r\n- [ ] Two\r\n")
    write(trial, "", "link.md")
    (trial.repo / "link.md").unlink()
    (trial.repo / "link.md").symlink_to(tmp_path / "list.md")
    added = "added 2 tasks:\n  one  One\n  two  Two\n"
    assert read(trial, name="link.md") == added
    for name in ("-", "/dev/stdin"):
        said = trial.expect(0, "plan", "import", name, "--prefix", f"{len(name)}-", stdin="- [ ] Two\n")
        assert said == f"added {len(name)}-two\n"
    assert read(trial, name="/dev/zero", code=2) == (
        "error: /dev/zero cannot be read as text: larger than 64 MB\n"
    )


def test_in_a_clone_nobody_knows_what_was_imported(trial: Trial) -> None:
    write(trial, LIST)
    read(trial)
    (trial.repo / ".git/blackbird/imports.json").unlink()
    assert read(trial) == "the plan is unchanged\n"
    (trial.repo / ".git/blackbird/imports.json").write_text("{")
    write(trial, LIST.replace("Write the till", "New"))
    assert "T003: differs from the plan: title" in read(trial, code=1)
    assert read(trial, "--prefer", "source") == "updated T003: title\n"


def test_tasks_move_and_are_reordered_as_in_the_source(trial: Trial) -> None:
    write(trial, LIST)
    read(trial)
    first, second = "- [ ] T001 Write the store\n", "- [ ] T002 Write the page\n"
    write(trial, LIST.replace(first, "") + "- [ ] T001 Write the store\n")
    assert "moved T001" in read(trial)
    write(trial, LIST.replace(first + second, second + first))
    said = read(trial)
    assert "moved T001" in said
    assert trial.expect(0, "list", "--tree").index("T002") < trial.expect(0, "list", "--tree").index("T001")


def test_what_is_new_at_the_top_comes_last_and_moves_nothing(trial: Trial) -> None:
    lines = "".join(f"- [ ] item {number}\n" for number in range(1, 12))
    write(trial, lines)
    read(trial)
    write(trial, f"- [ ] first\n{lines}")
    assert read(trial) == "added first\n"
    assert read(trial) == "the plan is unchanged\n"
    assert trial.expect(0, "list").splitlines()[-1].startswith("first")


def test_files_of_a_folder_come_in_the_order_of_their_numbers(trial: Trial) -> None:
    for number in (2, 10, 9):
        write(trial, f"---\nid: task-{number}\ntitle: T\n---\n", f"tasks/task-{number} - T.md")
    assert read(trial, name="tasks").split()[3::2] == ["task-2", "task-9", "task-10"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_imported_and_imported_again_without_a_change(trial: Trial, name: str) -> None:
    place = trial.repo / "in" / name
    if (SAMPLES / name).is_dir():
        shutil.copytree(SAMPLES / name, place)
    else:
        write(trial, (SAMPLES / name).read_text(), f"in/{name}")
    before = json.loads(read(trial, "--json", name=f"in/{name}"))["data"]
    assert before["form"] == FORMS[name]
    assert before["added"]
    assert "the plan is unchanged" in read(trial, name=f"in/{name}")
    for form in ("page", "json", "markdown"):
        write(trial, trial.expect(0, "plan", "export", "--format", form), form)
        assert "the plan is unchanged" in read(trial, name=form)
    assert trial.expect(0, "validate") == "OK\n"


def test_pages_come_from_standard_input_and_wrong_ones_change_nothing(trial: Trial) -> None:
    page = "## A\nid: a\nafter: B\n\nDo it.\n## B\nid: b\n"
    assert "added 2 tasks" in trial.expect(0, "plan", "import", "-", stdin=page)
    cycle = page.replace("id: b\n", "id: b\nafter: A\n")
    said = trial.expect(1, "plan", "import", "-", stdin=cycle)
    assert "dependency cycle detected" in said
    assert "-: line 1, 6: " in said
    whole = trial.expect(0, "plan", "export")
    cut = whole[: whole.index("## B")]
    assert "-: the page is cut off" in trial.expect(1, "plan", "import", "-", stdin=cut)
    assert trial.expect(0, "plan", "export") == whole
    assert "cannot be read" in trial.expect(2, "plan", "import", "nowhere.md")
    (trial.repo / "empty").mkdir()
    assert "has no file NAME.md" in trial.expect(2, "plan", "import", "empty")


@pytest.mark.exhaustive
def test_many_tasks_and_hostile_texts(trial: Trial) -> None:
    hostile = ["<!-- 1 tasks -->", "\x1b[31m## x", 'a"b', "- [ ] y", "```", "\u202eabc", "prompt: x\nid: y"]
    many = [
        {"number": number, "title": f"Task {number}", "body": hostile[number % len(hostile)], "state": "OPEN"}
        for number in range(1, 501)
    ]
    write(trial, json.dumps(many), "issues.json")
    assert "added 500 tasks" in read(trial, name="issues.json")
    assert "the plan is unchanged" in read(trial, name="issues.json")
    write(trial, trial.expect(0, "plan", "export"), "out.md")
    assert "the plan is unchanged" in read(trial, name="out.md")
    plan = plan_of(trial.repo)
    assert len(plan.tasks) == 500
    assert {task.prompt or task.acceptance_criteria[0] for task in plan.tasks.values()} == {
        *(one for one in hostile if one != "- [ ] y"),
        "y",
    }


@given(plans())
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_import_export_import_changes_nothing(repo: Path, tasks: tuple[Task, ...]) -> None:
    put_plan(repo, *with_done(tasks))
    workspace = open_at(repo)
    for number, form in enumerate(("page", "json")):
        text = export_plan(workspace.plan_state().plan, form)
        before = workspace.store.plan_bytes()
        _, source = read_tasks([TaskFile("f", text)], TaskForm.PAGE)
        for name in (f"first{number}", f"first{number}", "other"):
            result = import_tasks(workspace, source, ImportRequest(name, is_page=True))
            assert not result.page.is_changed
            assert workspace.store.plan_bytes() == before
    exported = export_plan(workspace.plan_state().plan, "page")
    put_plan(repo)
    workspace.paths.imports.unlink()
    import_tasks(workspace, source, ImportRequest("new", is_page=True))
    assert export_plan(workspace.plan_state().plan, "page") == exported

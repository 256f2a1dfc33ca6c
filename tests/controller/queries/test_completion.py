"""What completion offers of a plan, in every state; and of files that are none."""

import json
import os
from pathlib import Path

import pytest

from git_blackbird.controller.queries.completion import Glance, glance, list_refs
from git_blackbird.model.plan.status import Status
from tests.cli.golden_harness import save
from tests.cli.plans import run, task
from tests.support import git

STATES = [
    task("asks", status=Status.WAITING_USER),
    task("blocked", status=Status.BLOCKED),
    task("done", status=Status.DONE),
    task("failed", status=Status.FAILED),
    task("live", status=Status.IN_PROGRESS),
    task("ready", deps=("done",)),
    task("skipped", status=Status.SKIPPED),
    task("waits", deps=("failed",)),
    task("waits-failed", status=Status.FAILED, deps=("skipped",)),
]
TAKEN = {
    "execute": ["ready"],
    "decide": ["asks"],
    "resume": ["asks"],
    "resume -m": ["asks", "done", "live"],
    "restart": ["asks", "blocked", "failed", "ready"],
    "restart -m": ["asks", "blocked", "failed", "ready"],
    "retry": ["asks", "blocked", "failed", "waits-failed"],
    "review show": ["asks", "done", "live"],
    "review run": ["asks", "done"],
    "review dismiss": [],
    "show": [one.id for one in STATES],
}
OF_PARENTS = {
    "execute": [],
    "decide": [],
    "resume": ["flagged"],
    "resume --all": ["bad", "top"],
    "review show": ["bad", "fresh", "open", "top"],
    "review run": ["bad", "fresh"],
    "review dismiss": ["bad", "fresh", "top"],
}


def ids(offers: list[tuple[str, str]]) -> list[str]:
    return [value for value, _ in offers]


@pytest.mark.parametrize("verb", TAKEN)
def test_leaves_are_offered_by_their_status(repo: Path, verb: str) -> None:
    save(repo, STATES, [run("asks"), run("done"), run("live")])
    assert ids(Glance(str(repo)).tasks_for(verb)) == TAKEN[verb]


@pytest.mark.parametrize("verb", OF_PARENTS)
def test_parents_are_offered_by_their_children(repo: Path, verb: str) -> None:
    tasks = [
        task("bad", status=Status.WAITING_USER, parent="top", children=("flagged",)),
        task("flagged", status=Status.DONE, parent="bad"),
        task("fresh", status=Status.WAITING_USER, children=("fresh-1",)),
        task("fresh-1", status=Status.DONE, parent="fresh"),
        task("open", children=("open-1",)),
        task("open-1", status=Status.IN_PROGRESS, parent="open"),
        task("top", status=Status.IN_PROGRESS, children=("bad",)),
    ]
    save(repo, tasks)
    feedback = repo / ".blackbird/parent-review-feedback/flagged.json"
    feedback.parent.mkdir(parents=True)
    feedback.write_text("{}")
    assert ids(Glance(str(repo)).tasks_for(verb)) == OF_PARENTS[verb]


@pytest.mark.parametrize(
    ("action", "taken"), [("add", ["a", "with"]), ("remove", ["b"]), ("set", ["a", "b", "with"])]
)
def test_deps_are_other_tasks(repo: Path, action: str, taken: list[str]) -> None:
    save(repo, [task("a"), task("b"), task("t", deps=("b",)), task("with")])
    assert ids(Glance(str(repo)).dependencies(action, "t")) == taken


def test_the_newest_runs_are_offered_with_their_time(repo: Path) -> None:
    save(repo, [task("a")], [run("a", "019b7c4e52000001"), run("a", "019b7c4e52000002")])
    (repo / ".blackbird/runs/a/odd.json").write_text("{}")
    assert Glance(str(repo)).runs("a") == [
        ("odd", ""),
        ("019b7c4e52000002", "2026-01-02 01:24 UTC"),
        ("019b7c4e52000001", "2026-01-02 01:24 UTC"),
    ]
    assert Glance(str(repo)).runs("../../..") == []


def test_the_plan_is_found_from_below_and_where_git_is_told_to_look(repo: Path, tmp_path: Path) -> None:
    save(repo, [task("a")])
    below = repo / "deep/er"
    below.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert ids(glance({}, str(below)).tasks_for("")) == ["a"]
    assert ids(glance({"GIT_WORK_TREE": str(repo)}, str(elsewhere)).tasks_for("")) == ["a"]
    assert ids(glance({"GIT_DIR": str(repo / ".git")}, str(below)).tasks_for("")) == []
    assert ids(glance({}, str(elsewhere)).tasks_for("")) == []


def test_branches_and_tags_are_offered(repo: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    git(repo, "tag", "v1")
    assert list_refs(dict(os.environ), str(repo)) == ["main", "v1"]
    assert list_refs(dict(os.environ), "/") == []


BAD = [
    "",
    "nonsense",
    "[" * 100_000,
    "[]",
    "null",
    '{"items": 3}',
    '{"items": ["a"]}',
    '{"items": {"a": 3, "../up": {}, ".hidden": {}, "a\\u001b[31mb": {}, "": 1}}',
    "\ud800",
]


@pytest.mark.parametrize("text", BAD, ids=[text[:20] for text in BAD])
def test_of_a_file_that_is_no_plan_nothing_is_offered(repo: Path, text: str) -> None:
    (repo / "blackbird.plan.json").write_bytes(text.encode(errors="surrogatepass"))
    assert Glance(str(repo)).tasks_for("") == []


def test_what_is_odd_in_a_task_is_passed_over(repo: Path) -> None:
    items = {"a": {"title": "red\x1b[31m\n", "status": 3, "deps": "b", "childIds": [1, "b"], "parentId": {}}}
    (repo / "blackbird.plan.json").write_text(json.dumps({"items": items}))
    assert Glance(str(repo)).tasks_for("") == [("a", "red [31m  (3)")]


def test_a_pipe_or_a_link_in_place_of_the_plan_is_not_read(repo: Path) -> None:
    plan = repo / "blackbird.plan.json"
    os.mkfifo(plan)
    assert Glance(str(repo)).tasks_for("") == []
    plan.unlink()
    (repo / "other.json").write_text('{"items": {"a": {}}}')
    plan.symlink_to("other.json")
    assert Glance(str(repo)).tasks_for("") == []

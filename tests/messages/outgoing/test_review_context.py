from dataclasses import replace
from typing import Any

from git_blackbird.messages.outgoing.review_context import (
    MAX_FILES,
    REVIEWER_INSTRUCTIONS,
    REVIEWER_SYSTEM_PROMPT,
    ComposedChange,
    ReviewedChild,
    build_review_context,
    render_review_prompt,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import new_task
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import InterleavedEdit, Summary, Trees
from tests.model.building import STAMP, run, task

HOUSE = replace(
    new_task(TaskId("house"), "A house", STAMP),
    description="To live in.",
    acceptance_criteria=("It is dry.", "Its door closes."),
    prompt="Build it.",
    children=(TaskId("roof"), TaskId("door")),
)
DOOR_RUN = "0000000000000001"

OPTIONS = "--text --no-ext-diff --no-textconv --ignore-submodules=none"


def _worked(files: list[str], diffstat: str = " door.txt | 1 +\n", **fields: Any) -> Run:
    summary = {"files": files, "diffstat": diffstat}
    return run(1, task_id="door", base_tree="b" * 40, head_tree="c" * 40, review_summary=summary, **fields)


def _children(context: dict[str, Any]) -> Any:
    return context["parentReview"]["children"]


def test_a_reviewer_is_told_the_criteria_and_what_the_runs_of_the_children_did() -> None:
    children = [
        ReviewedChild(task("roof"), None),
        ReviewedChild(task("door"), _worked(["hinge.txt", "door.txt"])),
    ]
    assert build_review_context(HOUSE, children) == {
        "schemaVersion": 1,
        "task": {
            "id": "house",
            "title": "A house",
            "description": "To live in.",
            "acceptanceCriteria": ["It is dry.", "Its door closes."],
            "prompt": "Build it.",
        },
        "parentReview": {
            "parentTaskId": "house",
            "parentTaskTitle": "A house",
            "acceptanceCriteria": ["It is dry.", "Its door closes."],
            "reviewerInstructions": REVIEWER_INSTRUCTIONS,
            "children": [
                {
                    "childId": "door",
                    "childTitle": "Task door",
                    "latestRunId": DOOR_RUN,
                    "latestRunSummary": "door.txt | 1 +",
                    "artifactRefs": [f".blackbird/runs/door/{DOOR_RUN}.json", "door.txt", "hinge.txt"],
                    "changeCommand": (
                        f"git diff {OPTIONS} refs/blackbird/runs/{DOOR_RUN}:base "
                        f"refs/blackbird/runs/{DOOR_RUN}:head"
                    ),
                },
                {
                    "childId": "roof",
                    "childTitle": "Task roof",
                    "note": "This task has no run, its status was set by hand: look at the work itself.",
                },
            ],
        },
        "systemPrompt": REVIEWER_SYSTEM_PROMPT,
    }


def test_empty_parts_are_left_away() -> None:
    context = build_review_context(task("p", children=["a"]), [ReviewedChild(task("a"), run(task_id="a"))])
    assert context["task"] == {"id": "p", "title": "Task p"}
    assert "acceptanceCriteria" not in context["parentReview"]
    assert _children(context) == [
        {
            "childId": "a",
            "childTitle": "Task a",
            "latestRunId": DOOR_RUN,
            "artifactRefs": [f".blackbird/runs/a/{DOOR_RUN}.json"],
        }
    ]


def test_a_reviewer_in_prose_is_told_the_same() -> None:
    children = [
        ReviewedChild(task("door"), _worked(["hinge.txt", "door.txt"])),
        ReviewedChild(task("roof"), None),
    ]
    context = build_review_context(HOUSE, children, fault='missing required field "passed"')
    assert render_review_prompt(context) == (
        f"{REVIEWER_SYSTEM_PROMPT}\n\n"
        "# Review of house: A house\n\n"
        "## What was to be done\n\nTo live in.\nBuild it.\n\n"
        "## Acceptance criteria\n\n- It is dry.\n- Its door closes.\n\n"
        f"## How to judge\n\n{REVIEWER_INSTRUCTIONS}\n\n"
        "## The tasks under review\n\n"
        "### door: Task door\n\n"
        f"Record of its latest run: .blackbird/runs/door/{DOOR_RUN}.json\n\n"
        "Its whole change: "
        f"`git diff {OPTIONS} refs/blackbird/runs/{DOOR_RUN}:base refs/blackbird/runs/{DOOR_RUN}:head`\n\n"
        "door.txt | 1 +\n\n"
        "Files it changed:\n- door.txt\n- hinge.txt\n\n"
        "### roof: Task roof\n\n"
        "This task has no run, its status was set by hand: look at the work itself.\n\n"
        '## Your last answer could not be used\n\nmissing required field "passed"\n'
    )


def _composed(pair: Trees | None, **summary: Any) -> Any:
    change = ComposedChange(pair, Summary(**summary), 2)
    child = ReviewedChild(task("door"), _worked(["hinge.txt"]), "/the top", change)
    return _children(build_review_context(HOUSE, [child]))[0]


def test_of_several_runs_the_change_is_told_that_they_made_together() -> None:
    between = tuple(InterleavedEdit(path=name, task="roof", run="2" * 16) for name in ("b", "a", "b"))
    told = _composed(
        Trees("d" * 40, "e" * 40), files=("door.txt", "hinge.txt"), diffstat=" 2 files", between=between
    )
    assert told == {
        "childId": "door",
        "childTitle": "Task door",
        "latestRunId": DOOR_RUN,
        "latestRunSummary": "2 files",
        "artifactRefs": [f".blackbird/runs/door/{DOOR_RUN}.json", "door.txt", "hinge.txt"],
        "changeCommand": f"git -C '/the top' diff {OPTIONS} {'d' * 40} {'e' * 40}",
        "note": "2 runs made its change. Between them, other tasks changed a, b as well.",
    }


def test_a_change_of_several_runs_whose_snapshots_are_gone_is_said_not_to_be_known() -> None:
    told = _composed(None, minimal="tree dddd is gone")
    assert told["note"] == (
        "2 runs made its change. What they changed together is not known: tree dddd is gone"
    )
    assert "changeCommand" not in told


def test_of_a_child_that_is_a_parent_its_own_review_is_told() -> None:
    def note(**fields: Any) -> str:
        review = run(task_id="wing", run_type="review", base_tree="b" * 40, head_tree="c" * 40, **fields)
        told = _children(build_review_context(HOUSE, [ReviewedChild(task("wing"), review)]))[0]
        assert "changeCommand" not in told
        return str(told["note"])

    assert note(parent_review_passed=True) == "Its own children were reviewed and passed."
    dismissed = {"reason": "good enough", "at": STAMP}
    assert note(parent_review_passed=False, dismissed=dismissed) == (
        "Its own review was dismissed: good enough"
    )


def test_a_summary_is_cut_at_a_character() -> None:
    told = _children(
        build_review_context(HOUSE, [ReviewedChild(task("door"), _worked(["a"], "x" + "é" * 900))])
    )
    assert told[0]["latestRunSummary"] == "x" + "é" * 599


def test_more_files_than_are_told_are_counted() -> None:
    files = [f"f{number:03}" for number in range(MAX_FILES + 7)]
    told = _children(build_review_context(HOUSE, [ReviewedChild(task("door"), _worked(files))]))[0]
    assert told["artifactRefs"][1:] == files[:MAX_FILES]
    assert told["note"] == "7 more files were changed."
    counted = run(task_id="door", review_summary={"files": ["a"], "totals": {"files": 30}})
    assert _children(build_review_context(HOUSE, [ReviewedChild(task("door"), counted)]))[0]["note"] == (
        "29 more files were changed."
    )


def test_changes_of_many_children_are_told_until_it_is_too_much() -> None:
    children = [
        ReviewedChild(
            task(f"c{number}"),
            run(task_id=f"c{number}", review_summary={"files": [f"{number}{'x' * 70_000}"]}),
        )
        for number in range(4)
    ]
    context = build_review_context(HOUSE, children)
    assert [len(child["artifactRefs"]) for child in _children(context)] == [2, 2, 1, 1]
    assert _children(context)[2]["note"] == (
        "Its change is too large to be listed here: look at the work itself."
    )

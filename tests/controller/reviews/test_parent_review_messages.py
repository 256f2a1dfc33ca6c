"""What the reviewer of a parent is told of each child, and what a child is told of its review."""

import json
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.controller.engine.commands import ResumeRequest, resume_loop
from git_blackbird.controller.engine.review_commands import review_obstacle
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.views.stop import StopReason
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    perform,
    put_plan,
    store_at,
)
from tests.support import commit, git

PASSED = {"passed": True, "resumeTaskIds": [], "feedbackForResume": "", "reviewResults": []}
FLAGGED = {
    "passed": False,
    "resumeTaskIds": ["a", "c"],
    "feedbackForResume": "The two do not fit together.",
    "reviewResults": [{"taskId": "a", "status": "failed", "feedback": "a.txt has one line."}],
}
# The first review flags both, `a` with words of its own; the second passes.
AGENT = f"""case $(cat) in
*'"parentReview":'*)
    if [ -e MARKS/flagged ]; then echo '{json.dumps(PASSED)}'
    else touch MARKS/flagged; echo '{json.dumps(FLAGGED)}'; fi;;
*'"id":"a"'*) if [ "$BLACKBIRD_RESUME" = 1 ]; then echo two >more.txt; else echo one >a.txt; fi;;
*) echo other >>c.txt;;
esac
"""


@pytest.fixture
def flagged(repo: Path) -> Path:
    """A repository where the review of p has flagged a and c."""
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="command", command__run=AGENT.replace("MARKS", str(repo.parent)))
    configure(repo, command__schema="true")
    children = ["a", "c"]
    put_plan(repo, parent_of("p", children), *(leaf(child, parent="p") for child in children))
    assert execute(repo).reason is StopReason.PARENT_REVIEW_REQUIRED
    return repo


def _runs(repo: Path, task_id: str) -> tuple[Run, ...]:
    return store_at(repo).records.history(TaskId(task_id)).runs


def _resume(repo: Path, task_id: str) -> Run:
    request = ResumeRequest(TaskId(task_id))
    perform(open_at(repo), Person(), lambda workspace, ui: resume_loop(workspace, ui, request))
    return _runs(repo, task_id)[-1]


def test_a_child_is_told_what_its_review_says_of_it_and_of_all(flagged: Path) -> None:
    told = _resume(flagged, "a").context["parentReviewFeedback"]["feedback"]
    assert told == (
        "a.txt has one line.\n\nOf all tasks that were reviewed together, it says:\n\n"
        "The two do not fit together."
    )
    assert _resume(flagged, "c").context["parentReviewFeedback"]["feedback"] == "The two do not fit together."


def test_a_reviewer_is_told_the_whole_change_of_a_child(flagged: Path) -> None:
    _resume(flagged, "a")
    _resume(flagged, "c")
    review = [run for run in _runs(flagged, "p") if run.run_type is RunType.REVIEW][-1]
    assert review.parent_review_passed is True
    told: dict[str, Any] = review.context["parentReview"]["children"][0]
    assert told["note"] == "2 runs made its change."
    assert told["artifactRefs"][1:] == ["a.txt", "more.txt"]
    assert "a.txt" in told["latestRunSummary"]
    *_, base, head = told["changeCommand"].split()
    assert git(flagged, "diff", "--name-status", base, head) == "A\ta.txt\nA\tmore.txt"


def test_asking_whether_a_parent_can_be_reviewed_writes_no_object(flagged: Path) -> None:
    _resume(flagged, "a")
    before = git(flagged, "count-objects", "-v")
    state = open_at(flagged).plan_state()
    assert review_obstacle(state, state.plan.tasks[TaskId("p")]) is None
    assert git(flagged, "count-objects", "-v") == before

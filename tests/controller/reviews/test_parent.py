"""The gate in front of a parent: fail, go on in the same session, review again."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.engine.dry_run import forecast
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.engine.review_commands import dismiss_review, review_loop
from git_blackbird.controller.plan.deletion import delete_task
from git_blackbird.controller.plan.edit import NewTask, add_task, edit_task
from git_blackbird.controller.queries.reviews import view_review
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import GateState
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType, TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.support import (
    APPROVE,
    QUIT,
    Person,
    bring,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    perform,
    put_plan,
    run_to_stop,
    status,
    store_at,
)
from tests.support import Prepared, commit, write

REQUIRED = StopReason.PARENT_REVIEW_REQUIRED
ASKS_FOR_LINE = "require a.txt second | a | a.txt needs a second line"
B_IS_TOLD = (
    "b.txt needs more\n\nOf all tasks that were reviewed together, it says:\n\n"
    "a.txt needs a second line\nb.txt needs more"
)


@pytest.fixture
def demo(repo: Path) -> Path:
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="0", execution__acceptNoChange="true")
    return repo


def reviewer(task_id: str, children: Sequence[str], prompt: str = "", parent: str | None = None) -> Task:
    above = None if parent is None else TaskId(parent)
    return replace(parent_of(task_id, children), prompt=prompt, parent=above)


def family(demo: Path, prompt: str = ASKS_FOR_LINE, feedback: str = "append a.txt second") -> None:
    """A parent that wants a second line of a, and a task that waits for the parent."""
    put_plan(
        demo,
        reviewer("p", ["a", "b"], prompt),
        leaf("a", f"write a.txt first\non-feedback {feedback}", parent="p"),
        leaf("b", "write b.txt b", parent="p"),
        leaf("z", "write z.txt z", deps=["p"]),
    )


@pytest.fixture
def flagged(demo: Path, prepared: Prepared) -> Path:
    """A family whose parent was reviewed: a owes its second line."""

    def execute_family() -> None:
        family(demo)
        execute(demo)

    return bring(prepared, demo, execute_family)


def reviews(repo: Path, parent: str = "p") -> list[Run]:
    runs = store_at(repo).records.history(TaskId(parent)).runs
    return [run for run in runs if run.run_type is RunType.REVIEW]


def runs_of(repo: Path, task_id: str) -> tuple[Run, ...]:
    return store_at(repo).records.history(TaskId(task_id)).work_runs


def feedback_of(repo: Path) -> dict[str, str]:
    return {str(task_id): one.feedback for task_id, one in open_at(repo).plan_state().feedback.items()}


def on_disk(repo: Path) -> list[str]:
    folder = repo / ".git" / "blackbird" / "parent-review-feedback"
    return sorted(path.stem for path in folder.glob("*.json")) if folder.exists() else []


def resume(repo: Path, task_id: str, person: Person | None = None, message: str | None = None) -> Stop:
    request = ResumeRequest(task_id, message)
    return perform(
        open_at(repo), person or Person(), lambda workspace, ui: resume_loop(workspace, ui, request)
    )


def resume_all(repo: Path, parent: str, person: Person | None = None) -> Stop:
    return perform(
        open_at(repo), person or Person(), lambda workspace, ui: resume_all_loop(workspace, ui, parent)
    )


def restart(repo: Path, task_id: str) -> Stop:
    return perform(open_at(repo), Person(), lambda workspace, ui: restart_loop(workspace, ui, task_id, None))


def review(repo: Path, parent: str) -> Stop:
    return perform(open_at(repo), Person(), lambda workspace, ui: review_loop(workspace, ui, parent))


@pytest.mark.exhaustive
def test_a_passing_review_lets_the_parent_be_done_before_what_waits_for_it(demo: Path) -> None:
    family(demo, "require a.txt first\nreview-say Result: failed logins are counted. ISSUES.md is new.")
    assert execute(demo).reason is StopReason.COMPLETED
    (made,) = reviews(demo)
    assert (made.status, made.parent_review_passed) == (RunStatus.SUCCESS, True)
    assert made.parent_review_resume_task_ids == ()
    assert set(made.parent_review_results or {}) == {"a", "b"}
    assert made.review_summary is None
    assert [status(demo, task) for task in ("p", "z")] == [Status.DONE, Status.DONE]
    assert runs_of(demo, "z")[0].started_at > made.started_at


ASKING = "ask q Which line?\non-feedback append a.txt second"


@pytest.mark.exhaustive
def test_feedback_outlives_a_question_that_is_asked_while_it_is_carried(demo: Path) -> None:
    family(demo, feedback=ASKING)
    execute(demo)
    stop = resume(demo, "a", message="mind the end of line")
    assert (stop.exit_code, stop.next_steps) == (4, ("git blackbird resume a    # or --answer q=VALUE",))
    assert (on_disk(demo), status(demo, "a")) == (["a"], Status.WAITING_USER)
    stop = resume(demo, "a", message="the second")
    assert stop.reason is StopReason.COMPLETED
    asked, answered = runs_of(demo, "a")[1:]
    for one in (asked, answered):
        assert one.context["parentReviewFeedback"]["feedback"] == "a.txt needs a second line"
    assert (asked.context["feedback"], asked.message) == (
        "mind the end of line",
        "mind the end of line",
    )
    assert answered.prompt is not None
    for text in ("  the second\n", "a.txt needs a second line", "mind the end of line"):
        assert text in answered.prompt
    assert (on_disk(demo), status(demo, "p")) == ([], Status.DONE)


@pytest.mark.exhaustive
def test_resume_all_asks_what_one_of_them_asked_before(demo: Path) -> None:
    family(demo, feedback=ASKING)
    execute(demo)
    assert resume_all(demo, "p").exit_code == 4
    assert resume_all(demo, "p").exit_code == 4
    assert resume_all(demo, "p", Person(answers=[{"q": "the second"}])).reason is StopReason.COMPLETED
    assert len(runs_of(demo, "a")) == 3
    assert (on_disk(demo), status(demo, "p")) == ([], Status.DONE)


def test_a_review_is_made_once_for_the_same_children(demo: Path) -> None:
    family(demo, "require a.txt first")
    execute(demo, None, "a")
    execute(demo, None, "b")
    execute(demo)
    execute(demo)
    assert len(reviews(demo)) == 1


def test_a_parent_is_reviewed_before_it_counts_as_done_whoever_approves_its_last_child(demo: Path) -> None:
    """Also when the last child was approved to quit."""
    family(demo)
    configure(demo, execution__stopAfterEachTask="true")
    execute(demo, Person([APPROVE]))
    execute(demo, Person([QUIT]))
    assert (reviews(demo), status(demo, "p")) == ([], Status.WAITING_USER)
    assert execute(demo).reason is REQUIRED
    assert len(reviews(demo)) == 1
    assert runs_of(demo, "z") == ()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        (
            "review-answer I looked, and it is fine.",
            "the reviewer's answer cannot be read: no valid JSON object found in agent output",
        ),
        ("fail 3", "told to fail with status 3"),
        (
            "ask q Is it good? | yes | no",
            "the reviewer asked a question instead of giving a verdict: Is it good?",
        ),
    ],
)
def test_a_reviewer_without_a_verdict_is_tried_once_more_and_never_passes(
    demo: Path, prompt: str, error: str
) -> None:
    """A crash, garbage and a question are no verdict."""
    family(demo, prompt)
    stop = execute(demo)
    assert stop.reason is REQUIRED
    assert stop.text == f"no verdict on p: {error}"
    assert stop.next_steps == (
        "git blackbird execute",
        "git blackbird review dismiss p    # asks why; or --reason TEXT",
    )
    assert [(one.status, one.parent_review_passed, one.error) for one in reviews(demo)] == [
        (RunStatus.FAILED, None, error)
    ] * 2
    assert (status(demo, "p"), runs_of(demo, "z")) == (Status.WAITING_USER, ())
    assert execute(demo).reason is REQUIRED
    assert len(reviews(demo)) == 4


@pytest.mark.exhaustive
def test_the_second_reviewer_hears_what_was_wrong_with_the_first_answer(demo: Path) -> None:
    family(demo, "review-answer-once fine\nrequire a.txt first")
    assert execute(demo).reason is StopReason.COMPLETED
    garbage, passed = reviews(demo)
    assert "no valid JSON object" in str(passed.context)
    assert (garbage.parent_review_passed, passed.parent_review_passed) == (None, True)


def test_a_dependent_of_a_parent_waits_for_the_review_after_a_rejection(demo: Path) -> None:
    """What was rejected and done again is reviewed again."""
    family(demo, "require a.txt first")
    execute(demo)
    set_status(open_at(demo), "b", Status.TODO)
    assert status(demo, "p") is Status.IN_PROGRESS
    execute(demo)
    assert [one.parent_review_passed for one in reviews(demo)] == [True, True]


def test_a_child_that_was_set_done_by_hand_is_reviewed_as_such(demo: Path) -> None:
    """What it is owed goes with a fresh start."""
    family(demo)
    set_status(open_at(demo), "a", Status.DONE)
    stop = execute(demo)
    assert stop.reason is REQUIRED
    assert stop.next_steps == ("git blackbird restart a    # a new session, with everything pending",)
    told = {child["childId"]: child for child in reviews(demo)[0].context["parentReview"]["children"]}
    assert "latestRunId" not in told["a"]
    with pytest.raises(RequestError, match="a cannot be resumed: it has no current run"):
        resume(demo, "a")
    assert restart(demo, "a").reason is StopReason.COMPLETED
    (made,) = runs_of(demo, "a")
    assert made.context["parentReviewFeedback"]["feedback"] == "a.txt needs a second line"
    assert (on_disk(demo), status(demo, "p")) == ([], Status.DONE)


@pytest.mark.exhaustive
def test_feedback_outlives_a_resume_that_fails_and_goes_with_the_next(demo: Path) -> None:
    family(demo, feedback="fail 4")
    execute(demo)
    assert resume(demo, "a").reason is REQUIRED
    assert (status(demo, "a"), on_disk(demo)) == (Status.FAILED, ["a"])
    assert execute(demo).next_steps == ("git blackbird resume a",)
    edit_task(open_at(demo), "a", lambda now: replace(now, prompt="write a.txt first\nappend a.txt second"))
    reset_task(open_at(demo), "a")
    assert execute(demo).reason is StopReason.COMPLETED
    assert [bool(run.context.get("parentReviewFeedback")) for run in runs_of(demo, "a")] == [
        False,
        True,
        True,
    ]
    assert on_disk(demo) == []


@pytest.mark.exhaustive
def test_two_flagged_children_end_in_one_review(demo: Path) -> None:
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    put = open_at(demo)
    edit_task(put, "b", lambda now: replace(now, prompt="write b.txt b\non-feedback append b.txt more"))
    stop = execute(demo)
    assert stop.next_steps == (
        "git blackbird resume --all p    # each of these",
        "git blackbird resume a",
        "git blackbird resume b",
    )
    halfway = resume(demo, "a")
    assert (halfway.reason, halfway.next_steps) == (REQUIRED, ("git blackbird resume b",))
    assert len(reviews(demo)) == 1
    assert resume(demo, "b").reason is StopReason.COMPLETED
    assert [one.parent_review_passed for one in reviews(demo)] == [False, True]


def test_all_flagged_children_are_resumed_in_order(demo: Path) -> None:
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    edit_task(
        open_at(demo), "b", lambda now: replace(now, prompt="write b.txt b\non-feedback append b.txt more")
    )
    execute(demo)
    assert resume_all(demo, "p").reason is StopReason.COMPLETED
    assert (
        runs_of(demo, "a")[-1].started_at < runs_of(demo, "b")[-1].started_at < reviews(demo)[-1].started_at
    )
    with pytest.raises(RequestError, match="no review feedback is pending below p"):
        resume_all(demo, "p")


@pytest.mark.exhaustive
def test_with_checkpoints_what_was_resumed_is_approved_before_it_is_reviewed_again(demo: Path) -> None:
    family(demo)
    configure(demo, execution__stopAfterEachTask="true")
    execute(demo, Person([APPROVE, APPROVE]))
    stop = resume(demo, "a", Person())
    assert stop.reason is StopReason.DECISION_REQUIRED
    assert (len(reviews(demo)), on_disk(demo)) == (1, ["a"])
    record_decision(open_at(demo), "a", APPROVE)
    assert on_disk(demo) == []
    execute(demo, Person([APPROVE]))
    assert [one.parent_review_passed for one in reviews(demo)] == [False, True]


@pytest.mark.exhaustive
def test_a_child_that_asks_while_it_carries_feedback_keeps_it(demo: Path) -> None:
    family(demo, feedback="ask q Where? | here | there")
    execute(demo)
    assert resume(demo, "a", Person()).reason is StopReason.WAITING_USER
    assert (status(demo, "a"), on_disk(demo)) == (Status.WAITING_USER, ["a"])
    assert execute(demo).next_steps == ("git blackbird resume a    # or --answer q=VALUE",)
    request = ResumeRequest("a", answers={"q": "here"})
    perform(open_at(demo), Person(), lambda workspace, ui: resume_loop(workspace, ui, request))
    told = runs_of(demo, "a")[-1].context
    assert told["parentReviewFeedback"]["feedback"] == "a.txt needs a second line"
    assert told["answers"] == [{"id": "q", "value": "here"}]


def deep(demo: Path, top: str, mid: str) -> None:
    put_plan(
        demo,
        reviewer("top", ["mid", "c"], top),
        reviewer("mid", ["a", "b"], mid, parent="top"),
        leaf("a", "write a.txt 1\non-feedback append a.txt 2", parent="mid"),
        leaf("b", "write b.txt 1\non-feedback append b.txt 2", parent="mid"),
        leaf("c", "write c.txt 1\non-feedback append c.txt 2", parent="top"),
    )


@pytest.mark.exhaustive
def test_the_nearest_ancestor_is_reviewed_first(demo: Path) -> None:
    deep(demo, "require c.txt 1", "require a.txt 1")
    assert execute(demo).reason is StopReason.COMPLETED
    (mid,), (top,) = reviews(demo, "mid"), reviews(demo, "top")
    assert mid.started_at < top.started_at
    told = top.context["parentReview"]["children"]
    assert [child["childId"] for child in told] == ["c", "mid"]
    assert told[1]["latestRunId"] == mid.id


@pytest.mark.exhaustive
def test_feedback_for_a_child_that_is_a_parent_is_owed_by_its_leaves(demo: Path) -> None:
    deep(demo, "require b.txt 2 | mid | all of it twice", "require a.txt 1")
    stop = execute(demo)
    assert stop.next_steps == (
        "git blackbird resume --all top    # each of these",
        "git blackbird resume a",
        "git blackbird resume b",
    )
    assert feedback_of(demo) == {"a": "all of it twice", "b": "all of it twice"}
    assert resume(demo, "a").next_steps == ("git blackbird resume b",)
    assert status(demo, "mid") is Status.WAITING_USER
    assert resume(demo, "b").reason is StopReason.COMPLETED
    assert [one.parent_review_passed for one in reviews(demo, "mid")] == [True, True]
    assert [one.parent_review_passed for one in reviews(demo, "top")] == [False, True]


@pytest.mark.exhaustive
def test_a_failing_review_can_be_dismissed_by_a_person_with_a_reason(flagged: Path) -> None:
    with pytest.raises(RequestError, match="a dismissal needs a reason"):
        dismiss_review(open_at(flagged), "p", "  ")
    with pytest.raises(RequestError, match="agents do not judge themselves"):
        dismiss_review(open_at(flagged, BLACKBIRD_RUN_ID="0123456789abcdef"), "p", "fine")
    done = dismiss_review(open_at(flagged), "p", "good enough")
    assert (done.parent.status, done.dropped, on_disk(flagged)) == (Status.DONE, ("a",), [])
    (stored,) = reviews(flagged)
    assert stored.dismissed is not None
    assert stored.dismissed.reason == "good enough"
    assert stored.dismissed.by == "Ada <ada@example.com>"
    assert stored.parent_review_passed is False
    assert execute(flagged).text == "every task is done"
    with pytest.raises(RequestError, match="there is no review of p to dismiss: it is done"):
        dismiss_review(open_at(flagged), "p", "again")


@pytest.mark.exhaustive
def test_a_review_without_a_verdict_can_be_dismissed_and_one_never_made(demo: Path) -> None:
    family(demo, "fail 1")
    execute(demo)
    dismiss_review(open_at(demo), "p", "the reviewer is ill")
    assert status(demo, "p") is Status.DONE
    set_status(open_at(demo), "a", Status.TODO)
    set_status(open_at(demo), "a", Status.DONE)
    assert status(demo, "p") is Status.WAITING_USER
    dismiss_review(open_at(demo), "p", "no need")
    assert status(demo, "p") is Status.DONE
    assert reviews(demo)[-1].error == "dismissed without a verdict"


def test_a_dismissal_is_for_the_children_as_they_are(flagged: Path) -> None:
    dismiss_review(open_at(flagged), "p", "good enough")
    set_status(open_at(flagged), "b", Status.TODO)
    assert execute(flagged).reason is REQUIRED
    assert len(reviews(flagged)) == 2


def test_a_verdict_on_children_that_changed_meanwhile_counts_for_nothing(demo: Path) -> None:
    family(demo, "require a.txt first\nsleep 600")
    execute(demo, None, "a")
    set_status(open_at(demo), "b", Status.DONE)
    sneak = "require a.txt first\nreview-say looking"
    edit_task(open_at(demo), "p", lambda now: replace(now, prompt=sneak))

    class Meddler(Person):
        def notify(self, event: object) -> None:
            if type(event).__name__ == "RunStarted" and not reviews(demo)[:-1]:
                edit_task(open_at(demo), "b", lambda now: replace(now, title="another title"))

    execute(demo, Meddler(), limit=0)
    moved, counted = reviews(demo)
    assert (moved.parent_review_passed, moved.superseded_by) == (True, "plan-changed")
    assert (counted.parent_review_passed, counted.superseded_at) == (True, None)
    assert status(demo, "p") is Status.DONE


def test_a_review_by_hand_replaces_the_one_before(flagged: Path) -> None:
    write(flagged, {"a.txt": "first\nsecond by hand\n"})
    assert review(flagged, "p").reason is StopReason.COMPLETED
    failed, passed = reviews(flagged)
    assert (failed.superseded_by, passed.parent_review_passed) == (passed.id, True)
    assert (on_disk(flagged), status(flagged, "p")) == ([], Status.DONE)


@pytest.mark.exhaustive
def test_a_review_by_hand_that_fails_holds_a_parent_back_that_was_done(demo: Path) -> None:
    family(demo, "require a.txt first")
    execute(demo)
    edit_task(open_at(demo), "p", lambda now: replace(now, prompt=ASKS_FOR_LINE))
    assert review(demo, "p").reason is REQUIRED
    assert (status(demo, "p"), on_disk(demo)) == (Status.WAITING_USER, ["a"])
    view = view_review(open_at(demo), "p")
    assert (view.gate, view.is_present, [one.command for one in view.outstanding]) == (
        GateState.FAILING,
        True,
        ["git blackbird resume a"],
    )


def test_a_review_by_hand_needs_done_children(demo: Path) -> None:
    family(demo)
    with pytest.raises(RequestError, match="p cannot be reviewed: not done: a, b"):
        review(demo, "p")
    with pytest.raises(RequestError, match="z has no change by an agent to review"):
        review(demo, "z")


def test_with_the_gate_off_nothing_is_reviewed_and_switching_settles(demo: Path) -> None:
    family(demo)
    configure(demo, execution__parentReviewEnabled="false")
    assert execute(demo).text == "every task is done"
    assert (reviews(demo), status(demo, "p")) == ([], Status.DONE)
    configure(demo, execution__parentReviewEnabled="true")
    assert execute(demo).text == "every task is done"
    set_status(open_at(demo), "b", Status.TODO)
    assert execute(demo).reason is REQUIRED
    configure(demo, execution__parentReviewEnabled="false")
    assert execute(demo).text == "every task is done"
    assert feedback_of(demo) == {"a": "a.txt needs a second line"}
    configure(demo, execution__parentReviewEnabled="true")
    assert execute(demo).reason is REQUIRED
    assert status(demo, "p") is Status.WAITING_USER


def test_an_agent_that_cannot_be_held_to_a_schema_is_refused_before_the_first_task(demo: Path) -> None:
    family(demo)
    configure(demo, agent="command", command__run="true")
    stop = execute(demo)
    assert stop.reason is StopReason.AGENT_UNAVAILABLE
    assert stop.text == "the agent 'command' cannot enforce the schema of a parent review"
    assert "git config blackbird.command.schema true" in stop.next_steps[0]
    assert runs_of(demo, "a") == ()
    configure(demo, execution__parentReviewEnabled="false")
    assert execute(demo).reason is StopReason.COMPLETED


def test_a_reviewer_that_writes_changes_nothing_here(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", "", parent="p"))
    configure(demo, agent="command", command__schema="true")
    configure(
        demo,
        command__run='cat >/dev/null; echo "$BLACKBIRD_TASK_ID $PWD" >>"$PWD/out"; '
        'if [ -n "$BLACKBIRD_RESPONSE_SCHEMA" ]; then cat out; echo \'{"passed": true}\'; fi',
    )
    assert execute(demo).reason is StopReason.COMPLETED
    assert (demo / "out").read_text() == f"a {demo}\n"
    (made,) = reviews(demo)
    assert (made.parent_review_passed, (made.stdout or "").startswith(f"a {demo}\np ")) == (True, True)


def test_what_the_go_program_marked_done_stays_but_what_it_left_owed_stops_the_flow(demo: Path) -> None:
    family(demo)
    configure(demo, execution__parentReviewEnabled="false")
    execute(demo)
    stamp = "2026-01-01T00:00:00Z"
    with store_at(demo).transaction() as transaction:
        left = Feedback(
            parent_task_id=TaskId("p"),
            review_run_id=runs_of(demo, "a")[0].id,
            feedback="by the other program",
            created_at=stamp,
            updated_at=stamp,
        )
        transaction.save_feedback(TaskId("a"), left)
    configure(demo, execution__parentReviewEnabled="true")
    stop = execute(demo)
    assert (stop.reason, stop.next_steps) == (REQUIRED, ("git blackbird resume a",))
    assert status(demo, "p") is Status.DONE
    assert resume(demo, "a").reason is StopReason.COMPLETED
    assert on_disk(demo) == []


def test_a_done_parent_is_not_set_free_by_hand_but_by_dismissing(flagged: Path) -> None:
    with pytest.raises(RequestError) as refused:
        set_status(open_at(flagged), "p", Status.DONE)
    assert refused.value.hint == (
        "git blackbird review run p\ngit blackbird review dismiss p    # asks why; or --reason TEXT"
    )


def test_feedback_that_was_not_written_yet_is_written_before_anything_else_changes(flagged: Path) -> None:
    (flagged / ".git/blackbird/parent-review-feedback/a.json").unlink()
    assert feedback_of(flagged) == {"a": "a.txt needs a second line"}
    edit_task(open_at(flagged), "a", lambda now: replace(now, title="another title"))
    assert on_disk(flagged) == ["a"]
    set_status(open_at(flagged), "a", Status.TODO)
    assert on_disk(flagged) == ["a"]
    execute(flagged)
    assert (
        runs_of(flagged, "a")[-1].context["parentReviewFeedback"]["feedback"] == "a.txt needs a second line"
    )


def test_feedback_whose_child_was_just_saved_as_done_is_owed_no_more(flagged: Path) -> None:
    set_status(open_at(flagged), "a", Status.TODO)
    workspace = open_at(flagged)
    kept = workspace.plan_state().feedback[TaskId("a")]
    set_status(workspace, "a", Status.DONE)
    settled_at = store_at(flagged).plan().tasks[TaskId("a")].updated_at
    with store_at(flagged).transaction() as transaction:
        transaction.save_feedback(TaskId("a"), kept.settled(settled_at))
    assert feedback_of(flagged) == {}
    edit_task(open_at(flagged), "a", lambda now: replace(now, title="another title"))
    assert on_disk(flagged) == []


def test_a_review_that_nobody_is_left_to_read_is_made_again(demo: Path) -> None:
    family(demo, "require a.txt first")
    execute(demo)
    workspace = open_at(demo)
    (made,) = reviews(demo)
    lost = made.updated(
        status=RunStatus.RUNNING, parent_review_passed=None, parent_review_results=None
    ).updated(process=None)
    with workspace.store.transaction() as transaction:
        transaction.save_run(lost)
    person = Person()
    with hold_controller(workspace, "test"):
        recover(workspace, person, CallScope())
    assert person.notices() == [f"p: its review {made.id} was interrupted; it is made again"]
    (closed,) = reviews(demo)
    assert (closed.status, closed.terminal_reason) == (RunStatus.FAILED, TerminalReason.CONTROLLER_LOST)


@pytest.mark.exhaustive
def test_an_interrupted_review_is_made_again_by_the_next_execute(demo: Path) -> None:
    family(demo, "sleep 600")

    class Impatient(Person):
        loop: Loop | None = None

        def notify(self, event: object) -> None:
            if type(event).__name__ == "RunProgress" and self.loop is not None and reviews(demo):
                self.loop.interrupt()

    person = Impatient()
    workspace = open_at(demo)
    stop = run_to_stop(
        workspace, execute_loop(workspace, person, [], None), lambda loop: setattr(person, "loop", loop)
    )
    assert (stop.reason, stop.next_steps) == (StopReason.INTERRUPTED, ("git blackbird execute",))
    (cut,) = reviews(demo)
    assert (cut.status, cut.terminal_reason) == (RunStatus.FAILED, TerminalReason.INTERRUPTED)
    edit_task(open_at(demo), "p", lambda now: replace(now, prompt="require a.txt first"))
    assert execute(demo).reason is StopReason.COMPLETED
    assert len(reviews(demo)) == 2


def test_resuming_a_finished_task_asks_for_a_word(demo: Path) -> None:
    """An old waiting run is not resumed again."""
    family(demo, "require a.txt first")
    execute(demo)
    with pytest.raises(RequestError, match="nothing to resume: a is done"):
        resume(demo, "a")


def test_an_unavailable_reviewer_charges_nothing(demo: Path) -> None:
    family(demo, "require a.txt first")
    execute(demo, None, "a")
    configure(demo, agent="claude", claude__path="/nowhere/claude")
    set_status(open_at(demo), "b", Status.DONE)
    set_status(open_at(demo), "a", Status.DONE)
    assert review(demo, "p").reason is StopReason.AGENT_UNAVAILABLE
    assert execute(demo).reason is StopReason.AGENT_UNAVAILABLE
    assert reviews(demo) == []
    assert status(demo, "p") is Status.WAITING_USER


def waits(repo: Path) -> list[tuple[str, str, str | None, tuple[str, ...]]]:
    return [
        (one.task.id, one.due.value, one.flagged.fault, one.flagged.commands)
        for one in build_overview(open_at(repo)).due
        if one.flagged is not None
    ]


@pytest.mark.exhaustive
def test_a_parent_whose_verdict_is_half_heard_is_said_to_wait_for_the_other_half(demo: Path) -> None:
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    execute(demo)
    assert [wait for _, wait, _, _ in waits(demo)] == ["review_failing"]
    resume(demo, "a")
    assert waits(demo) == [
        ("p", "review_due", "b must first act on open review feedback", ("git blackbird resume --all p",))
    ]
    assert review(demo, "p").next_steps == ("git blackbird resume b",)


@pytest.mark.exhaustive
def test_a_review_by_hand_without_a_verdict_leaves_what_was_owed(demo: Path) -> None:
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    execute(demo)
    resume(demo, "a")
    edit_task(open_at(demo), "p", lambda now: replace(now, prompt="fail 3"))
    stop = review(demo, "p")
    assert (stop.reason, stop.next_steps) == (
        REQUIRED,
        (
            "git blackbird resume b",
            "git blackbird review run p",
            "git blackbird review dismiss p    # asks why; or --reason TEXT",
        ),
    )
    assert feedback_of(demo) == {"b": B_IS_TOLD}


def test_a_failed_child_that_carries_feedback_is_gone_on_with_everywhere_the_same(demo: Path) -> None:
    family(demo, feedback="fail 4")
    execute(demo)
    stop = resume(demo, "a")
    (one,) = build_overview(open_at(demo)).due
    assert (one.command, stop.next_steps) == ("git blackbird resume a", ("git blackbird resume a",))


@pytest.mark.exhaustive
def test_what_is_ready_elsewhere_is_started_by_name_while_a_review_stops_the_flow(demo: Path) -> None:
    put_plan(
        demo,
        reviewer("p", ["a"], ASKS_FOR_LINE),
        leaf("a", "write a.txt first", parent="p"),
        leaf("x", "write x.txt x"),
    )
    execute(demo, None, "a")
    assert build_overview(open_at(demo)).stops_at == "the review"
    assert execute(demo, None, "x").reason is StopReason.COMPLETED
    assert status(demo, "x") is Status.DONE


def test_a_dry_run_is_refused_as_the_execute_is(demo: Path) -> None:
    family(demo)
    configure(demo, agent="command", command__run="true")
    with pytest.raises(AgentUnavailableError, match="cannot enforce the schema of a parent review"):
        forecast(open_at(demo), [], None)


def two_flagged(demo: Path) -> None:
    """Both children are flagged, and a was resumed."""
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    execute(demo)
    resume(demo, "a")


@pytest.mark.exhaustive
def test_a_dismissal_halfway_lets_the_parent_go_as_it_is(demo: Path) -> None:
    two_flagged(demo)
    done = dismiss_review(open_at(demo), "p", "good enough")
    assert (done.parent.status, done.dropped, on_disk(demo)) == (Status.DONE, ("b",), [])
    assert execute(demo).text == "every task is done"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("is_present", [True, False])
def test_feedback_that_cannot_be_read_is_written_anew_from_its_verdict(demo: Path, is_present: bool) -> None:
    family(demo, f"{ASKS_FOR_LINE}\nrequire b.txt more | b | b.txt needs more")
    execute(demo)
    file = demo / ".git/blackbird/parent-review-feedback/b.json"
    if not is_present:
        resume(demo, "a")
    before = json.loads(file.read_text())
    file.write_text("{")
    assert build_overview(open_at(demo)).unreadable == ()
    stop = execute(demo)
    assert (stop.reason, len(reviews(demo)), runs_of(demo, "z")) == (REQUIRED, 1, ())
    assert json.loads(file.read_text()) == before
    file.write_text("{")
    resume(demo, "b")
    assert "b.txt needs more" in (runs_of(demo, "b")[-1].prompt or "")


def test_nothing_is_concluded_beside_feedback_that_cannot_be_read_and_has_no_verdict(flagged: Path) -> None:
    (flagged / ".git/blackbird/parent-review-feedback/b.json").write_text("{")
    resume(flagged, "a")
    stop = execute(flagged)
    assert (stop.reason, len(reviews(flagged)), runs_of(flagged, "z")) == (
        StopReason.UNREADABLE_RECORD,
        1,
        (),
    )
    assert stop.text.startswith("b is stopped by a record that cannot be used: ")


def test_a_child_asked_for_by_name_starts_beside_one_that_owes_something(demo: Path) -> None:
    two_flagged(demo)
    add_task(open_at(demo), NewTask("another", id="c", parent="p", prompt="write c.txt c"))
    stop = execute(demo, None, "c")
    assert (status(demo, "c"), stop.reason, stop.next_steps) == (
        Status.DONE,
        REQUIRED,
        ("git blackbird resume b",),
    )


def test_what_is_owed_to_a_deleted_task_goes_with_it(demo: Path) -> None:
    two_flagged(demo)
    delete_task(open_at(demo), "b")
    assert on_disk(demo) == []


@pytest.mark.exhaustive
def test_a_done_child_does_not_lose_what_it_is_owed_by_being_called_done(demo: Path) -> None:
    two_flagged(demo)
    with pytest.raises(RequestError) as refused:
        set_status(open_at(demo), "b", Status.DONE)
    assert refused.value.message == "b is done but has open feedback from the review of p"
    set_status(open_at(demo), "b", Status.TODO)
    let_go = set_status(open_at(demo), "b", Status.DONE).let_go
    assert let_go is not None
    assert let_go.feedback == B_IS_TOLD


def test_feedback_stays_owed_where_an_older_plan_says_that_nothing_was_done(flagged: Path) -> None:
    workspace = open_at(flagged)
    with workspace.transaction() as transaction:
        plan = transaction.plan()
        old = [replace(task, status=Status.TODO, updated_at=task.created_at) for task in plan.tasks.values()]
        transaction.save_plan(plan.replaced(*old))
    execute(flagged)
    assert store_at(flagged).plan() == plan
    assert on_disk(flagged) == ["a"]
    assert len(reviews(flagged)) == 1


def test_readers_say_that_a_parent_does_not_stay_done(flagged: Path) -> None:
    workspace = open_at(flagged)
    with workspace.store.transaction() as transaction:
        plan = transaction.plan()
        transaction.save_plan(plan.replaced(replace(plan.tasks[TaskId("p")], status=Status.DONE)))
    assert build_overview(open_at(flagged)).drift == {"p": (Status.DONE, Status.WAITING_USER)}
    with hold_controller(open_at(flagged), "execute"):
        assert build_overview(open_at(flagged)).drift == {}


def test_nothing_is_dismissed_while_a_child_is_worked_on(demo: Path) -> None:
    family(demo, feedback="fail 4")
    execute(demo)
    resume(demo, "a")
    with pytest.raises(RequestError, match="there is no review of p to dismiss: not done: a"):
        dismiss_review(open_at(demo), "p", "enough")
    assert on_disk(demo) == ["a"]


def test_a_plan_that_is_broken_during_a_review_loses_no_verdict(demo: Path) -> None:
    family(demo)

    class Meddler(Person):
        def notify(self, event: object) -> None:
            super().notify(event)  # type: ignore[arg-type]
            if type(event).__name__ == "RunStarted" and reviews(demo):
                (demo / "blackbird.plan.json").write_text("{")

    assert execute(demo, Meddler()).reason is REQUIRED
    (made,) = reviews(demo)
    assert made.parent_review_passed is False
    assert "the last valid plan has been restored" in made.notes[-1]
    assert on_disk(demo) == ["a"]


def test_a_parent_with_open_children_is_not_set_done_around_its_review(demo: Path) -> None:
    family(demo)
    with pytest.raises(RequestError, match="when its children are and its review passed; open: a, b"):
        set_status(open_at(demo), "p", Status.DONE)
    set_status(open_at(demo), "a", Status.SKIPPED)
    set_status(open_at(demo), "b", Status.SKIPPED)
    set_status(open_at(demo), "p", Status.DONE)
    assert status(demo, "p") is Status.DONE


def skipping(demo: Path, prompt: str = "") -> None:
    """A parent of whose two children b is skipped, and a task that waits for the parent."""
    put_plan(
        demo,
        reviewer("p", ["a", "b"], prompt),
        leaf("a", "write a.txt first\non-feedback append a.txt second", parent="p"),
        leaf("b", "write b.txt b", parent="p"),
        leaf("z", "write z.txt z", deps=["p"]),
    )
    set_status(open_at(demo), "b", Status.SKIPPED)


@pytest.mark.exhaustive
def test_a_parent_is_reviewed_and_done_beside_a_skipped_child(demo: Path) -> None:
    skipping(demo)
    foreseen = [task.id for task in forecast(open_at(demo), [], None).order]
    assert foreseen == ["a", "p", "z"]
    assert execute(demo).text == "no ready tasks remaining"
    assert [status(demo, task) for task in "apz"] == [Status.DONE] * 3
    (review,) = reviews(demo)
    told = review.context["parentReview"]
    assert [child["childId"] for child in told["children"]] == ["a"]
    assert told["skippedChildren"] == [{"childId": "b", "childTitle": "Task b"}]
    assert sorted(review.parent_review_results or {}) == ["a"]


def test_skipping_the_last_open_child_makes_the_review_due(demo: Path) -> None:
    skipping(demo)
    set_status(open_at(demo), "b", Status.TODO)
    execute(demo, None, "a")
    assert (status(demo, "p"), reviews(demo)) == (Status.IN_PROGRESS, [])
    set_status(open_at(demo), "b", Status.SKIPPED)
    assert status(demo, "p") is Status.WAITING_USER
    view = view_review(open_at(demo), "p")
    assert (view.gate, view.skipped) == (GateState.REVIEW_DUE, ("b",))
    (waiting,) = build_overview(open_at(demo)).due
    assert waiting.flagged is not None
    assert (waiting.task.id, waiting.flagged.skipped) == ("p", ("b",))
    assert review(demo, "p").reason is StopReason.COMPLETED
    assert status(demo, "p") is Status.DONE


@pytest.mark.exhaustive
def test_a_skipped_child_that_is_to_be_done_after_all_reopens_its_parent(demo: Path) -> None:
    skipping(demo)
    execute(demo)
    reset = set_status(open_at(demo), "b", Status.TODO)
    assert (reset.reopened, status(demo, "p")) == (("p",), Status.IN_PROGRESS)
    execute(demo)
    assert status(demo, "p") is Status.DONE
    assert len(reviews(demo)) == 2


def test_a_verdict_is_about_the_children_that_are_not_skipped(demo: Path) -> None:
    skipping(demo, ASKS_FOR_LINE)
    assert execute(demo).reason is REQUIRED
    assert feedback_of(demo) == {"a": "a.txt needs a second line"}
    resume(demo, "a")
    assert status(demo, "p") is Status.DONE


@pytest.mark.exhaustive
def test_a_reviewer_that_flags_a_skipped_child_gave_no_verdict(demo: Path) -> None:
    skipping(demo, ASKS_FOR_LINE.replace("| a |", "| b |"))
    assert execute(demo).reason is REQUIRED
    assert feedback_of(demo) == {}
    assert "is not a child of this parent" in (reviews(demo)[0].error or "")


def test_a_flagged_child_that_is_skipped_keeps_nobody_waiting(demo: Path) -> None:
    family(demo)
    assert execute(demo).reason is REQUIRED
    set_status(open_at(demo), "a", Status.SKIPPED)
    stop = execute(demo)
    assert stop.reason is REQUIRED
    assert "resume a" not in " ".join(stop.next_steps)
    dismiss_review(open_at(demo), "p", "b is enough")
    assert execute(demo).reason is StopReason.COMPLETED
    assert status(demo, "z") is Status.DONE


def test_where_every_child_is_skipped_nothing_is_reviewed_and_the_ways_on_are_said(demo: Path) -> None:
    skipping(demo)
    set_status(open_at(demo), "a", Status.SKIPPED)
    assert execute(demo).blocked == {"z": ("p",)}
    assert build_overview(open_at(demo)).hints == (
        "git blackbird set-status p done    # done without a, b",
        "git blackbird set-status a todo    # it still has to be done",
    )
    with pytest.raises(RequestError, match="p cannot be reviewed: all of its children are skipped"):
        review(demo, "p")
    with pytest.raises(RequestError, match="to dismiss: all of its children are skipped"):
        dismiss_review(open_at(demo), "p", "enough")
    set_status(open_at(demo), "p", Status.DONE)
    execute(demo)
    assert status(demo, "z") is Status.DONE


def test_without_the_gate_a_parent_is_done_beside_a_skipped_child(demo: Path) -> None:
    configure(demo, execution__parentReviewEnabled="false")
    skipping(demo)
    execute(demo)
    assert [status(demo, task) for task in "pz"] == [Status.DONE] * 2
    assert reviews(demo) == []


CLAUDE_WITH_A_FAILING_REVIEW = r"""#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
cat >/dev/null
case "$*" in
  *--resume*) [ ! -e "${0%/*}/forgets" ] || { echo "No conversation found with session ID: x" >&2; exit 1; };;
esac
verdict='{"passed": false, "resumeTaskIds": ["a"], "feedbackForResume": "add a second line"}'
says='"is_error":false,"result":"done"'
case "$*" in
  *--json-schema*) says=$says',"structured_output":'$verdict;;
  *) [ ! -e "${0%/*}/logged-out" ] || says='"is_error":true,"result":"Not logged in. Please run /login"'
     while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done;;
esac
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$2"
printf '{"type":"result","subtype":"success",%s,"session_id":"%s",' "$says" "$2"
printf '"usage":{"input_tokens":1,"output_tokens":0}}\n'
"""


@pytest.mark.parametrize("refusal", ["logged-out", "forgets"])
def test_a_refused_session_leaves_the_verdict_and_its_ways_out(demo: Path, refusal: str) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", parent="p"))
    fake = demo.parent / "claude"
    fake.write_text(CLAUDE_WITH_A_FAILING_REVIEW)
    fake.chmod(0o755)
    configure(demo, agent="claude", claude__path=str(fake), execution__acceptNoChange="true")
    (held,) = execute(demo).held
    ((*before, commands),) = waits(demo)
    (demo.parent / refusal).touch()
    assert resume(demo, "a").reason is StopReason.AGENT_UNAVAILABLE
    (again,) = execute(demo).held
    assert (again.run_id, again.flagged and again.flagged.fault) == (
        held.run_id,
        held.flagged and held.flagged.fault,
    )
    ((*after, later),) = waits(demo)
    assert (after, later[1:]) == (before, commands[1:])
    assert dismiss_review(open_at(demo), "p", "good enough").run.id == reviews(demo)[0].id


@pytest.mark.exhaustive
def test_each_child_whose_session_was_refused_is_named_with_its_restart(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a", "b"]), leaf("a", parent="p"), leaf("b", parent="p"))
    fake = demo.parent / "claude"
    fake.write_text(CLAUDE_WITH_A_FAILING_REVIEW.replace('["a"]', '["a", "b"]'))
    fake.chmod(0o755)
    configure(demo, agent="claude", claude__path=str(fake), execution__acceptNoChange="true")
    assert execute(demo).reason is REQUIRED
    (demo.parent / "forgets").touch()
    stop = resume_all(demo, "p")
    (first_a, _), (first_b, _) = runs_of(demo, "a"), runs_of(demo, "b")
    assert stop.reason is StopReason.AGENT_UNAVAILABLE
    assert stop.text == "; ".join(
        f"claude refused session {run.provider_session_ref} of run {run.id}" for run in (first_a, first_b)
    )
    assert [step.split("#")[0].strip() for step in stop.next_steps] == [
        "git blackbird restart a",
        "git blackbird restart b",
    ]


def test_feedback_that_an_unavailable_agent_did_not_hear_is_still_owed(demo: Path) -> None:
    put_plan(demo, parent_of("p", ["a"]), leaf("a", parent="p"))
    fake = demo.parent / "claude"
    fake.write_text(CLAUDE_WITH_A_FAILING_REVIEW)
    fake.chmod(0o755)
    configure(demo, agent="claude", claude__path=str(fake), execution__acceptNoChange="true")
    assert execute(demo).reason is REQUIRED
    assert feedback_of(demo) == {"a": "add a second line"}
    (demo.parent / "logged-out").touch()
    assert resume_all(demo, "p").reason is StopReason.AGENT_UNAVAILABLE
    assert (status(demo, "a"), feedback_of(demo)) == (Status.DONE, {"a": "add a second line"})
    (demo.parent / "logged-out").unlink()
    assert resume_all(demo, "p").reason is REQUIRED
    assert [run.prompt is not None and "add a second line" in run.prompt for run in runs_of(demo, "a")] == [
        False,
        True,
        True,
    ]

"""States of a plan: random ones of a small one, as they may be, and one with all that may be due."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import InterruptedApproval, LiveRun, Seen
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.broken import Broken, BrokenCriterion
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.history import History, RecordError, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback, completion_signature
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    PROGRAM,
    SUPERSEDED_BY_RETRY,
    CheckOutcome,
    DecisionState,
    ReviewState,
    RunStatus,
    RunType,
    TerminalReason,
)
from tests.model.building import LATER, STAMP, histories, run, task, tree

PARENTS = {"a": "p", "b": "p", "c": "p"}
NAMES = ("a", "b", "c", "d", "p")
BROKEN = BrokenCriterion(
    command="make test", task_id=TaskId("landed"), run=RunId(f"{13:016x}"), at=LATER, words="failed: exit 2"
)


def mostly(usual: Any, others: Iterable[Any]) -> st.SearchStrategy[Any]:
    """The usual value three times out of four."""
    return st.integers(0, 3).flatmap(
        lambda draw: st.sampled_from([usual, *others]) if draw == 0 else st.just(usual)
    )


def is_possible(fields: dict[str, Any]) -> bool:
    try:
        build("a", 1, fields)
    except ValueError:
        return False
    return True


RUN = st.fixed_dictionaries(
    {
        "status": mostly(RunStatus.SUCCESS, RunStatus),
        "run_type": mostly(RunType.EXECUTE, [RunType.MANUAL, RunType.REVIEW]),
        "program": st.sampled_from([PROGRAM, PROGRAM, None]),
        "decision_state": mostly(None, DecisionState),
        "review_state": mostly(None, ReviewState),
        "undone_at": mostly(None, [LATER]),
        "superseded_by": mostly(None, [SUPERSEDED_BY_RETRY]),
        "recheck_due": mostly(False, [True]),
        "broken": mostly(None, [Broken(criteria=(BROKEN,))]),
        "provider_session_ref": st.sampled_from(["session", None]),
        "parent_review_passed": st.sampled_from([None, False, True]),
    }
).filter(is_possible)
ODD = mostly((), [("odd",)])
RECORDS = st.tuples(st.lists(RUN, max_size=3), ODD)
FILE = mostly("none", ["feedback", "broken"])


def history_of(name: str, drawn: tuple[list[dict[str, Any]], Any], first: int) -> History:
    runs, faults = drawn
    return History(
        tuple(build(name, number, fields) for number, fields in enumerate(runs, start=first)),
        tuple(RecordError(f"runs/{name}/x.json", what) for what in faults),
    )


def build(name: str, number: int, fields: dict[str, Any]) -> Run:
    is_over = fields["superseded_by"] is not None
    verdict = {"parent_review_resume_task_ids": ["a"], "parent_review_feedback": "more"}
    told = {key: value for key, value in fields.items() if key != "status"}
    superseded = {"superseded_at": LATER} if is_over else {}
    return run(number, fields["status"], name, **{**told, **superseded, **verdict})


def feedback_files(files: Mapping[str, str]) -> SavedFeedback:
    said = Feedback(parent_task_id=TaskId("p"), review_run_id=run(1).id, feedback="more", created_at=STAMP,
                    updated_at=STAMP)  # fmt: skip
    return SavedFeedback(
        {TaskId(name): said for name, kind in files.items() if kind == "feedback"},
        tuple(
            RecordError(f"feedback/{name}.json", "odd") for name, kind in files.items() if kind == "broken"
        ),
    )


STATUSES = st.lists(st.sampled_from([Status.DONE, Status.DONE, *Status]), min_size=5, max_size=5)
DRAWN = st.tuples(STATUSES, st.lists(RECORDS, min_size=6, max_size=6), st.lists(FILE, min_size=5, max_size=5))


def planned(
    drawn: tuple[list[Status], list[Any], list[str]],
) -> tuple[Plan, dict[TaskId, History], SavedFeedback]:
    """The plan, histories and feedback files that were drawn."""
    statuses, records, files = drawn
    drawn_histories = {
        TaskId(name): history_of(name, drawn, 1 + 3 * place)
        for place, (name, drawn) in enumerate(zip((*NAMES, "gone"), records, strict=True))
        if any(drawn)
    }
    plan = tree(dict(zip(NAMES, statuses, strict=True)), PARENTS)
    return plan, drawn_histories, feedback_files(dict(zip(NAMES, files, strict=True)))


def everything() -> tuple[PlanState, Seen]:
    """A state with an item of each kind."""
    tasks = [
        *(task(name) for name in ("request", "check", "review", "land", "decide", "answer")),
        *(task(name) for name in ("ask", "go-on", "closed", "undone", "approved", "ready")),
        task("failed", Status.FAILED),
        task("stuck", Status.QUEUED),
        task("odd"),
        task("flagged", Status.DONE),
        task("landed", Status.DONE),
        replace(task("broken", Status.DONE), acceptance_criteria=("$ make test",)),
        task("waits", deps=("answer",)),
        task("waits-too", deps=("waits",)),
        *(task(name, Status.WAITING_USER, children=[f"{name}-1"]) for name in ("bad", "due", "again")),
        *(task(f"{name}-1", Status.DONE, parent=name) for name in ("bad", "due", "again")),
    ]
    plan = Plan({one.id: one for one in tasks})

    def reviewed(number: int, parent: str, **fields: Any) -> Run:
        signature = completion_signature(plan.tasks[TaskId(parent)], plan.tasks)
        fields = {**fields, "parent_review_completion_signature": signature}
        return run(number, task_id=parent, run_type="review", **fields)

    told = reviewed(20, "bad", parent_review_passed=False)
    mute = reviewed(21, "again", status=RunStatus.FAILED, error="no verdict")
    asked = [{"id": "q", "prompt": "Which?"}]
    gone = run(12, RunStatus.RUNNING, "closed")
    runs = histories(
        run(1, task_id="request", decision_state=DecisionState.CHANGES_REQUESTED, decision_feedback="more"),
        run(2, task_id="check", check=CheckResult(outcome=CheckOutcome.DUE)),
        run(3, task_id="review", review_state=ReviewState.DUE),
        run(4, task_id="land", landing="due", worktree="/w/land"),
        run(5, task_id="decide", decision_state=DecisionState.PENDING),
        run(6, RunStatus.WAITING_USER, "answer", questions=asked),
        run(7, RunStatus.PAUSED, "ask", terminal_reason=TerminalReason.WALL_LIMIT),
        run(8, RunStatus.PAUSED, "go-on"),
        run(9, RunStatus.FAILED, "failed"),
        run(10, task_id="approved", decision_state=DecisionState.PENDING),
        run(11, task_id="undone", moving="undo"),
        run(13, task_id="landed", recheck_due=True),
        run(14, task_id="broken", broken=Broken(criteria=(BROKEN,))),
        gone,
        told,
        mute,
    )
    runs[TaskId("odd")] = History(faults=(RecordError("runs/odd/x.json", "it is odd"),))
    said = Feedback(
        parent_task_id=TaskId("gone"),
        review_run_id=told.id,
        feedback="more",
        created_at=LATER,
        updated_at=LATER,
    )
    state = PlanState(plan, runs, SavedFeedback({TaskId("flagged"): said}), is_gated=True)
    approval = InterruptedApproval(
        TaskId("approved"), RunId(f"{10:016x}"), None, False, "git blackbird execute"
    )
    return state, Seen(unwatched=(LiveRun(gone, False),), approval=approval)

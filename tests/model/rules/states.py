"""Random states of a small plan: records, feedback and statuses as they may be."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History, RecordError, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    PROGRAM,
    SUPERSEDED_BY_RETRY,
    DecisionState,
    ReviewState,
    RunStatus,
    RunType,
)
from tests.model.building import LATER, STAMP, run, tree

PARENTS = {"a": "p", "b": "p", "c": "p"}
NAMES = ("a", "b", "c", "d", "p")


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
    histories = {
        TaskId(name): history_of(name, drawn, 1 + 3 * place)
        for place, (name, drawn) in enumerate(zip((*NAMES, "gone"), records, strict=True))
        if any(drawn)
    }
    plan = tree(dict(zip(NAMES, statuses, strict=True)), PARENTS)
    return plan, histories, feedback_files(dict(zip(NAMES, files, strict=True)))

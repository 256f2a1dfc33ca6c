"""How often the state of one task is read and derived, from its start to the report of its decision."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.engine.recovery import scan
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.git.change.changes import compose_trees
from git_blackbird.model.base.ids import TaskId, build_run_id
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.rules.reviews import outstanding_feedback
from git_blackbird.model.views.stop import StopReason
from git_blackbird.storage.feedback import FeedbackStore
from git_blackbird.storage.files import write_atomic
from tests.controller.support import (
    APPROVE,
    QUIT,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    runs_of,
)
from tests.support import commit

COUNTED: dict[str, Callable[..., object]] = {
    "feedback derived": outstanding_feedback,
    "feedback read": FeedbackStore.load_all,
    "feedback written": FeedbackStore.save,
    "recoveries": scan,
    "files written": write_atomic,
    "changes composed": compose_trees,
}


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count calls, in every thread, without standing in for what is called."""
    counts: Counter[str] = Counter()
    names: dict[CodeType, str] = {function.__code__: name for name, function in COUNTED.items()}

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            counts[names[frame.f_code]] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def gated(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true", execution__acceptNoChange="true")
    put_plan(
        repo,
        parent_of("p", ["a", "b"]),
        leaf("a", "write x 1", parent="p"),
        leaf("b", parent="p", deps=["a"]),
    )


def test_one_task_is_derived_once_for_each_state_that_is_read(repo: Path) -> None:
    gated(repo)
    with counting() as counts:
        execute(repo, Person())
    # One recovery before the agent starts, one before the decision is asked for.
    assert counts["recoveries"] == 2
    # Each by the state of one moment: of the two recoveries, of the start and of the end under the lock, and
    # of the end of the call. What would follow an approval is derived from the state of the decision.
    assert (counts["feedback derived"], counts["feedback read"], counts["feedback written"]) == (6, 5, 0)
    # The record and the plan, at the start and at the end.
    assert counts["files written"] == 4
    with counting() as counts:
        record_decision(open_at(repo), "a", APPROVE)
    # The state that is looked at is not asked for feedback, the one after the record is written is.
    assert (counts["feedback derived"], counts["feedback read"], counts["feedback written"]) == (1, 2, 0)
    assert counts["files written"] == 2
    with counting() as counts:
        build_overview(open_at(repo))
    assert (counts["feedback derived"], counts["feedback read"]) == (1, 1)


def test_a_decision_records_the_trees_that_were_shown(repo: Path) -> None:
    gated(repo)
    execute(repo, Person([changes("louder")]))
    person = Person([QUIT])
    with counting() as counts:
        execute(repo, person)
    (checkpoint, *_) = person.checkpoints
    assert checkpoint.pair is not None
    assert runs_of(repo, "a")[-1].shown == checkpoint.pair
    assert (checkpoint.runs, counts["changes composed"]) == (2, 1)


def test_an_action_is_taken_only_when_every_record_of_its_task_can_be_read(repo: Path) -> None:
    gated(repo)
    execute(repo, Person())
    (latest,) = runs_of(repo, "a")
    older = build_run_id(parse_timestamp(latest.started_at) - 10**9, 0)
    (open_at(repo).paths.task_runs(TaskId("a")) / f"{older}.json").write_text("{")
    person = Person([APPROVE])
    stop = execute(repo, person)
    assert (stop.reason, person.checkpoints) == (StopReason.UNREADABLE_RECORD, [])

"""What the runs of a task say together."""

import pytest

from git_blackbird.model.run.history import History
from tests.records import run_of

PAUSED, OVER = {"status": "paused"}, {"status": "success"}


@pytest.mark.parametrize(
    ("runs", "owes"),
    [
        ([{}], False),
        ([{"by_hand": True}], True),
        ([OVER, {}], False),
        ([{**OVER, "decision_required": True}, {}], True),
        ([{**OVER, "decision_required": True}, PAUSED, {"status": "waiting_user"}, {}], True),
        ([OVER, {**PAUSED, "by_hand": True}, {}], True),
        ([{**OVER, "decision_required": True}, OVER, PAUSED, {}], False),
        ([{**PAUSED, "resumes": "2"}, PAUSED, {}], False),
    ],
)
def test_a_decision_is_owed_until_a_run_is_over(runs: list[dict[str, object]], owes: bool) -> None:
    made = [
        run_of(
            **{
                "id": str(number),
                "task_id": "a",
                "status": "running",
                "started_at": f"2026-01-01T00:00:0{number}Z",
                "resumes": str(number - 1) if number > 1 else None,
                **facts,
            }
        )
        for number, facts in enumerate(runs, 1)
    ]
    assert History(tuple(made)).owes_decision(made[-1]) is owes

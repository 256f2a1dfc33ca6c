"""Whole histories of one task as the program can write them: up to four runs, wherever they worked."""

from typing import Any

from hypothesis import strategies as st

from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run, RunStatus
from tests.model.building import run
from tests.model.change.stages import writable_runs

_RUNS = [run for _, run in writable_runs()]
_TREES = tuple(letter * 40 for letter in "abc")
_COMMITS = tuple(digit * 40 for digit in "123")
_OVERTAKEN = ("retry", "restart", "unavailable", "session-lost", "set-status:done", "set-status:todo")
_REQUESTERS = (None, None, "reviewers", "check", "landing")


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Runs oldest first; each but the last may count or be superseded."""
    count = draw(st.integers(1, 4))
    return History(tuple(draw(_runs(number)) for number in range(1, count + 1)))


@st.composite
def _runs(draw: st.DrawFn, number: int) -> Run:
    base = draw(st.sampled_from(_RUNS))
    is_over = base.status in {RunStatus.SUCCESS, RunStatus.FAILED}
    fields: dict[str, Any] = base.to_json()
    fields |= run(number, base.status, cost_usd=draw(st.sampled_from((None, 0.25)))).to_json()
    fields |= draw(st.sampled_from(({}, {}, {"run_type": "manual"})))
    fields["head_commit"] = draw(st.sampled_from(_COMMITS))
    fields["superseded_by"] = by = draw(st.sampled_from((None, None, *_OVERTAKEN)))
    fields["superseded_at"] = None if by is None else f"2026-01-01T01:{number:02d}:00Z"
    fields["message"] = draw(st.sampled_from((None, None, "faster")))
    fields["questions"] = draw(st.sampled_from(([], [{"id": "q", "prompt": "Which?"}])))
    fields["answers"] = draw(st.sampled_from(([], [{"id": "q", "value": f"answer {number}"}])))
    if base.decision_state == "changes_requested":
        fields["decision_feedback"] = f"request {number}"
        fields["requested_by"] = draw(st.sampled_from(_REQUESTERS))
        fields["review_round"] = draw(st.sampled_from((None, 1, 2)))
    if base.worktree is not None:
        fields["worktree_base"] = draw(st.sampled_from(_TREES))
        fields["decided_trees"] = draw(st.sampled_from((None, {"base": _TREES[0], "head": _TREES[1]})))
    if base.landing == "landed" or base.landing_begun:
        fields["landing_trees"] = {
            "base": draw(st.sampled_from(_TREES)),
            "head": draw(st.sampled_from(_TREES)),
        }
    if is_over and draw(st.booleans()):
        fields["base_tree"], fields["head_tree"] = (draw(st.sampled_from(_TREES)) for _ in range(2))
        fields["end_commit"] = draw(st.sampled_from(_COMMITS))
        fields["commits"] = draw(st.sampled_from(([], [_COMMITS[0]])))
        fields["review_summary"] = draw(st.sampled_from((None, _SUMMARY)))
    return Run.from_value(fields)


_SUMMARY = {
    "outside": [
        {"old": _COMMITS[0], "new": _COMMITS[1], "text": "commit: theirs"},
        {"old": _COMMITS[1], "new": _COMMITS[2], "text": "commit: unknown", "in_change": True},
    ]
}

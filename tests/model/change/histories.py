"""Whole histories of one task as the program can write them: up to four runs, wherever they worked."""

from hypothesis import strategies as st

from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from tests.model.building import run
from tests.model.change.stages import writable_facts

_FACTS = [facts for _, facts in writable_facts()]
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
    facts = dict(draw(st.sampled_from(_FACTS)))
    is_over = facts["status"] in {RunStatus.SUCCESS, RunStatus.FAILED}
    facts["cost_usd"] = draw(st.sampled_from((None, 0.25)))
    facts |= draw(st.sampled_from(({}, {}, {"run_type": "manual"})))
    facts["start_commit"] = draw(st.sampled_from(_COMMITS))
    facts["superseded_by"] = by = draw(st.sampled_from((None, None, *_OVERTAKEN)))
    facts["superseded_at"] = None if by is None else f"2026-01-01T01:{number:02d}:00Z"
    facts["message"] = draw(st.sampled_from((None, None, "faster")))
    facts["questions"] = draw(st.sampled_from(([], [{"id": "q", "prompt": "Which?"}])))
    facts["answers"] = draw(st.sampled_from(([], [{"id": "q", "value": f"answer {number}"}])))
    if facts["decision_state"] == "changes_requested":
        facts["decision_feedback"] = f"request {number}"
        facts["requested_by"] = draw(st.sampled_from(_REQUESTERS))
        facts["review_round"] = number_of_round = draw(st.sampled_from((None, 1, 2)))
        facts["merged_review"] = None if number_of_round is None else {}
    if facts["worktree"] is not None:
        facts["worktree_base"] = draw(st.sampled_from(_TREES))
        facts["shown"] = draw(st.sampled_from((None, {"base": _TREES[0], "head": _TREES[1]})))
    if facts["landing"] == "landed" or facts["moving"] == "land":
        place = "landing_trees" if facts["landing"] == "landed" else "moving_trees"
        facts[place] = {"base": draw(st.sampled_from(_TREES)), "head": draw(st.sampled_from(_TREES))}
    if is_over and draw(st.booleans()):
        facts["base_tree"], facts["head_tree"] = (draw(st.sampled_from(_TREES)) for _ in range(2))
        facts["end_commit"] = draw(st.sampled_from(_COMMITS))
        facts["commits"] = draw(st.sampled_from(([], [_COMMITS[0]])))
        facts["review_summary"] = draw(st.sampled_from((None, _SUMMARY)))
    return run(number, **facts)


_SUMMARY = {
    "outside": [
        {"old": _COMMITS[0], "new": _COMMITS[1], "text": "commit: theirs"},
        {"old": _COMMITS[1], "new": _COMMITS[2], "text": "commit: unknown", "in_change": True},
    ]
}

"""``--timings``: where the time of a call went."""

import json
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.views.events import Phase, TaskTimings, Timings
from tests.support import commit
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"a.txt": "a\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command("cat >/dev/null; echo x >>a.txt; sleep 0.3")
    return trial


def test_what_was_measured_is_sorted_by_task_and_summed_by_phase() -> None:
    spent = {("b", "agent"): 2.0, ("a", "agent"): 1.0, ("b", "decision"): 0.5}
    timings = Timings.of(spent, 4.0)
    assert timings.tasks == (
        TaskTimings(TaskId("b"), {Phase.AGENT: 2.0, Phase.DECISION: 0.5}),
        TaskTimings(TaskId("a"), {Phase.AGENT: 1.0}),
    )
    assert (timings.phases, timings.other) == ({Phase.AGENT: 3.0, Phase.DECISION: 0.5}, 0.5)


def test_a_table_has_a_row_for_each_task_and_one_for_the_call(trial: Trial) -> None:
    lines = trial.expect(0, "execute", "--no-input", "--timings").splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("seconds "))
    assert lines[at].split() == ["seconds", *Phase, "other", "all"]
    rows = {
        name: cells
        for name, *cells in (line.rsplit(maxsplit=len(Phase) + 2) for line in lines[at + 1 : at + 4])
    }
    assert [*rows] == ["a", "b", "in all"]
    for name in ("a", "b"):
        assert float(rows[name][3]) >= 0.3
        assert [rows[name][place] for place in (0, 5, 6, 7)] == ["-", "-", "-", "-"]
    assert float(rows["in all"][-1]) >= float(rows["a"][-1]) + float(rows["b"][-1])
    assert lines[at + 4] == "every task is done"


def test_programs_get_an_event_before_the_stop(trial: Trial) -> None:
    output = trial.expect(3, "execute", "--stop-after-each", "--json", "--timings")
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    timings, stop = events[-2:]
    assert (timings["event"], stop["event"]) == ("timings", "stop")
    (task,) = timings["tasks"]
    assert task["task"] == "a"
    assert [*task["phases"]] == ["snapshot", "record", "agent", "summary", "decision"]
    assert timings["seconds"] >= task["seconds"] >= task["phases"]["agent"] >= 0.3


def test_nothing_is_shown_unless_it_is_asked_for(trial: Trial) -> None:
    assert "seconds" not in trial.expect(3, "execute", "--no-input", "--stop-after-each")
    assert "seconds " in trial.expect(0, "restart", "a", "--no-input", "--timings")


def test_the_trace_has_the_same_measuring_points(trial: Trial) -> None:
    trial.environ["BLACKBIRD_TRACE"] = str(trial.repo.parent / "trace")
    trial.expect(0, "execute", "--no-input", "--limit", "1")
    trace = (trial.repo.parent / "trace").read_text()
    for phase in ("snapshot", "record", "agent", "summary"):
        assert f"] {phase}: of a " in trace

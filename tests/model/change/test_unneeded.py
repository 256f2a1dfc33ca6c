"""Which runs nothing needs: the pure rule, over histories of all kinds."""

from typing import Any

import pytest

from git_blackbird.model.change.change import Change
from git_blackbird.model.change.work import Work, unneeded_runs
from git_blackbird.model.run.history import History, RecordError
from git_blackbird.model.run.run import Run
from tests.records import run_of

BASE, HEAD = "1" * 40, "2" * 40
FAILED = {"status": "failed"}
DONE = {"status": "success"}
EDITED = {"base_tree": BASE, "head_tree": HEAD}
UNDONE = {**DONE, **EDITED, "undone_at": "2026-01-01T00:00:00Z"}
AWAY = {**EDITED, "worktree": "/w", "worktree_base": BASE}
SUPERSEDED = {"superseded_by": "retry"}


def runs(*facts: dict[str, Any]) -> tuple[Run, ...]:
    return tuple(
        run_of(
            id=str(number),
            taskId="a",
            provider="demo",
            startedAt=f"2026-01-{number:02}T00:00:00Z",
            context={},
            **each,
        )
        for number, each in enumerate(facts, 1)
    )


@pytest.mark.parametrize(
    ("facts", "gone"),
    [
        ((FAILED, FAILED, DONE), "12"),
        ((FAILED, FAILED, FAILED), ""),
        ((DONE, FAILED, FAILED), ""),
        ((FAILED | EDITED, DONE), ""),
        ((FAILED | AWAY | SUPERSEDED, DONE), "1"),
        ((UNDONE, UNDONE, DONE | EDITED), ""),
        ((FAILED, UNDONE, FAILED, DONE), "3"),
        ((FAILED, DONE | {"provider_session_ref": "s1"}), ""),
        ((FAILED, DONE | {"decision_state": "pending"}), ""),
        ((FAILED, DONE | {"review_state": "due"}), ""),
        ((FAILED, {"status": "running"}), ""),
        ((FAILED, {"status": "waiting_user"}), ""),
        ((FAILED, {"status": "paused"}), ""),
        ((FAILED, DONE | EDITED | {"moving": "undo"}), ""),
        ((FAILED | SUPERSEDED,), ""),
    ],
)
def test_attempts_that_brought_nothing_go_and_what_counts_stays(
    facts: tuple[dict[str, Any], ...], gone: str
) -> None:
    history = History(runs(*({"provider_session_ref": f"s{at}"} | one for at, one in enumerate(facts, 1))))
    unneeded = unneeded_runs(history)
    assert "".join(run.id for run in unneeded) == gone
    assert derived(History(tuple(run for run in history.runs if run not in unneeded))) == derived(history)


def derived(history: History) -> list[object]:
    """What is derived from the runs of a task: status, messages, and what undo, redo and branch are about."""
    change, work = Change.of(history), Work(history)
    parts = (change.uncommitted, work.undone, work.runs)
    brought = [[run.id for run in part if run.has_changed_worktree] for part in parts]
    return [change.standing, change.messages(), brought, history.latest]


def test_a_record_that_cannot_be_used_keeps_all() -> None:
    history = History(runs(FAILED, DONE), (RecordError("/x", "broken"),))
    assert unneeded_runs(history) == ()

"""A run as a row: commands and the screen show the same of it."""

from typing import Any

from git_blackbird.messages.display.runs import OF_ALL_TASKS, OF_TASK, ON_SCREEN, Column, run_line, runs_table
from git_blackbird.messages.document import Style, aligned, plain
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from tests.records import STAMP, run_of

NOW = "2026-07-01T12:00:00.000Z"


def _run(run_id: str, **facts: Any) -> Run:
    needed = {"id": run_id, "task_id": "write", "provider": "demo", "status": "success", "started_at": STAMP}
    return run_of(**{**needed, "run_type": "execute", "completed_at": STAMP, **facts})


def test_each_table_says_the_same_of_a_run() -> None:
    run = _run("1", provider="codex\x1b[31m", worker="w\u202e1")
    tables = {
        columns: dict(
            zip(columns, (cell.text for cell in runs_table([run], NOW, columns).rows[1]), strict=True)
        )
        for columns in (OF_TASK, OF_ALL_TASKS, ON_SCREEN)
    }
    for column in Column:
        assert len({cells[column] for cells in tables.values() if column in cells}) == 1
    assert tables[ON_SCREEN][Column.AGENT] == "codex on w\ufffd1"
    words = run_line(run, NOW).text.replace(",", "").split()
    assert {tables[OF_TASK][Column.ID], tables[OF_TASK][Column.STATUS]} <= {*words}


def test_the_task_gives_way_where_there_are_several() -> None:
    runs = [_run("1", task_id="a-task-with-a-name-that-is-long")]
    _, text = plain(aligned(runs_table(runs, NOW, OF_ALL_TASKS), 60))
    assert len(text) <= 60
    assert "..." in text


def test_a_superseded_run_is_faint() -> None:
    cell = OF_TASK.index(Column.STATUS)
    for run, style in (
        (_run("1", status=RunStatus.SUCCESS), Style.DONE),
        (_run("1", status=RunStatus.SUCCESS, superseded_by="2"), Style.FAINT),
    ):
        assert runs_table([run], NOW, OF_TASK).rows[1][cell].style is style


def test_without_runs_there_are_no_headings() -> None:
    assert runs_table([], NOW, OF_TASK).rows == ()

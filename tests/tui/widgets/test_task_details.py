"""The pane of a task says what ``show`` says, and names keys instead of commands."""

from pathlib import Path

import pytest

from git_blackbird.controller.queries.task import view_task
from git_blackbird.messages.display.task import due_sections, neighbour_sections, run_sections, told_sections
from git_blackbird.messages.document import Line
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import RunStatus
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.widgets.task_details import TaskAndKeys, task_lines
from tests.cli.golden_harness import save
from tests.cli.plans import run, task
from tests.controller.support import open_at

NOW = "2026-01-02T03:04:05Z"
ASKED = (Question(id="db", prompt="Which database?", options=("mysql", "sqlite")),)


@pytest.fixture
def planned(repo: Path) -> Path:
    save(
        repo,
        [
            task("asked", status=Status.WAITING_USER, deps=("before",)),
            task("before", status=Status.DONE),
            task("broken", status=Status.FAILED),
            *(task(f"after-{number:02}", deps=("broken",)) for number in range(30)),
        ],
        [
            run("asked", status=RunStatus.WAITING_USER, questions=ASKED),
            *(
                run("broken", f"019b7c4e520000{number:02}", RunStatus.FAILED, error="exit status 7")
                for number in range(10)
            ),
        ],
    )
    return repo


@pytest.mark.parametrize("task_id", ["asked", "broken"])
def test_what_show_says_stands_in_the_pane(planned: Path, task_id: str) -> None:
    view = view_task(open_at(planned), task_id)
    pane = "\n".join(line.text for line in task_lines(TaskAndKeys(view, KeyTable()), NOW))
    assert "git blackbird" not in pane
    sections = (*due_sections(view), *told_sections(view), *run_sections(view, NOW, 8, narrow=True))
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Line) and "git blackbird" not in part.text:
            assert part.text.strip() in pane


def test_what_is_long_is_counted(planned: Path) -> None:
    view = view_task(open_at(planned), "broken")
    pane = [line.text.strip() for line in task_lines(TaskAndKeys(view, KeyTable()), NOW)]
    assert "and 10 more" in pane
    assert [text for text in pane if text.startswith("and 2 more: ")]
    (_, shown) = neighbour_sections(view)
    assert len(shown.parts) == 1

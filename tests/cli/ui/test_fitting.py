"""The checkpoint on a small terminal: what matters is on the screen, above the whole list of choices."""

from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.messages.display.checkpoint import fit_checkpoint, render_checkpoint
from git_blackbird.messages.document import Line
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import Asked
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, Requester, RunStatus
from git_blackbird.model.run.summary import FileChange, FileStatus, Outside, Snippet, Summary, Totals, Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from tests.cli.terminal import CTRL_C, ENTER, Terminal
from tests.controller.support import STAMP, configure, leaf, put_plan, runs_of
from tests.support import commit

FILES = tuple(f"src/f{number:02}.py" for number in range(12))
PROMPT = "\n".join([f"write {name} one\\ntwo" for name in FILES] + ["say One.\\nTwo.\\nThree."])
AGAIN = "\n".join(f"on-feedback write {name} three\\nfour" for name in FILES)


@pytest.fixture
def large(repo: Path) -> Path:
    """A repository with a task that changes many files, and has many criteria."""
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    criteria = tuple(f"Criterion {number}." for number in range(12))
    put_plan(repo, replace(leaf("a", f"{PROMPT}\n{AGAIN}"), acceptance_criteria=criteria))
    return repo


def test_a_small_terminal_shows_what_matters_and_counts_the_rest(large: Path) -> None:
    with Terminal(large, "execute", rows=24) as terminal:
        terminal.wait_for_list()
        terminal.wait_to_see("9) Reject and take back")
        first = terminal.text
        assert first.startswith("┏━ Task review checkpoint"), first
        for part in (
            "Task: a - Task a",
            "Acceptance criteria: (12 lines: git blackbird show a)",
            "Run status: success",
            "    A src/f00.py  +2 -0",
            "more lines: 5 shows the diff)",
            "    together: 12 files, +24 -0",
            "  Snippets: (",
            "(choose)",
        ):
            assert part in first, first
        # Of a change that is not shown whole, Enter approves nothing.
        terminal.type(ENTER, "3", ENTER)
        terminal.wait_for("Ctrl+S sends")
        terminal.type("Make it three.\r", *(f"And {number}.\r" for number in range(6)), "\x13")
        terminal.wait_for_list(times=2)
        terminal.wait_to_see("8) View changes since the request")
        second = terminal.text
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    for part in ("Task: a", "Changes requested:", "> Make it three.", "together: 12 files", "(choose)"):
        assert part in second, second
    assert runs_of(large, "a")[-1].decision_state is DecisionState.PENDING


def test_a_dumb_terminal_fits_too_and_a_pipe_gets_everything(large: Path) -> None:
    with Terminal(large, "execute", rows=24, environ={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Select option: ")
        text = terminal.text
        terminal.type(CTRL_C)
        terminal.end()
    assert text.startswith("starting a") or "Task review checkpoint" in text, text
    for part in ("Task: a - Task a", "Run status: success", "together: 12 files, +24 -0", "9) Reject"):
        assert part in text, text


SUMMARY = Summary(
    files=FILES,
    snippets=(Snippet(file=FILES[0], snippet="@@ -0,0 +1,2 @@\n+one\n+two"),),
    changes=tuple(FileChange(status=FileStatus.ADDED, path=name, additions=2) for name in FILES),
    totals=Totals(files=12, additions=24),
)
RUN = Run(
    id=RunId("0" * 16),
    task_id=TaskId("a"),
    provider="claude",
    started_at=STAMP,
    status=RunStatus.SUCCESS,
    decision_state=DecisionState.PENDING,
).updated(final_text="\n".join(map(str, range(9))))
WHOLE = Checkpoint(
    task=replace(leaf("a"), acceptance_criteria=("One.", "Two.", "Three.")),
    run=RUN,
    summary=SUMMARY,
    pair=Trees("a" * 40, "b" * 40),
    outside=Outside(),
    moved=("x", "y", "z"),
    asked=Asked("Do it.\nAll of it.\nNow.", Requester.REVIEWERS),
)


def in_rows(rows: int) -> tuple[list[str], Checkpoint]:
    lines, shown = fit_checkpoint(WHOLE, rows, lambda _: 1)
    return [line.text for line in lines], shown


def test_what_fits_is_shown_whole() -> None:
    lines = render_checkpoint(WHOLE)
    assert fit_checkpoint(WHOLE, len(lines), lambda _: 1) == (lines, WHOLE)
    assert WHOLE.preselected is not None


@pytest.mark.parametrize("rows", range(9, 45))
def test_every_height_is_filled_and_not_exceeded(rows: int) -> None:
    lines, shown = in_rows(rows)
    assert rows - 2 <= len(lines) <= rows or len(lines) == len(render_checkpoint(WHOLE))
    assert {"Task: a - Task a", "Run status: success", "    together: 12 files, +24 -0"} <= set(lines)
    assert "  > Do it." in lines
    assert (shown.is_shown is False) == (
        len([line for line in lines if "  A src/" in line]) < 12 or "      +two" not in lines
    )
    assert (shown.preselected is None) == (shown.is_shown is False)


def test_the_last_words_of_an_agent_stay_and_lines_are_counted_once() -> None:
    lines, _ = in_rows(30)
    at = lines.index("Agent says:")
    assert lines[at + 1 : at + 3] == ["  (8 more lines: git blackbird runs a 0000000000000000)", "  8"]
    few, _ = in_rows(9)
    assert few[-1].endswith(" more lines: a taller window shows them)")


def test_wide_lines_count_as_the_rows_they_take() -> None:
    def height(line: Line) -> int:
        return 1 + line.text.count("src/")

    lines, _ = fit_checkpoint(WHOLE, 20, height)
    assert sum(map(height, lines)) <= 20

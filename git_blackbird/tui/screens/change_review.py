"""The reviews of a leaf's change: the findings of both reviewers, round by round, and the actions on them."""

from collections.abc import Iterator

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.reviews import (
    change_facts,
    change_missing,
    change_rounds,
    merged_lines,
    result_lines,
)
from git_blackbird.messages.display.runs import format_cost, format_moment, review_word, verdict_word
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.run import Run
from git_blackbird.model.views.reviews import ChangeReviewView
from git_blackbird.tui.screens.choice import MenuItem
from git_blackbird.tui.screens.review import Obstacles, Request, ReviewAction, ReviewScreen, fact_lines
from git_blackbird.tui.widgets.styled_lines import bulleted, section


class ChangeReviewScreen(ReviewScreen):
    """Shows the reviews of one leaf's change."""

    def __init__(self, view: ChangeReviewView, obstacles: Obstacles) -> None:
        super().__init__(f"Reviews of {view.task.id}", _lines(view), _items(view, obstacles))


def _items(view: ChangeReviewView, obstacles: Obstacles) -> Iterator[MenuItem[Request]]:
    task_id = view.task.id
    if view.run is not None and view.run.is_pending:
        yield MenuItem(
            Request(ReviewAction.DECIDE, task_id), "Decide on the change", blocked_reason=obstacles.run
        )
    label = "Review now" if view.merged is None else "Review again"
    yield MenuItem(
        Request(ReviewAction.REVIEW, task_id), label, blocked_reason=obstacles.review or obstacles.run
    )


def _lines(view: ChangeReviewView) -> Iterator[StyledLine]:
    yield StyledLine(clean_line(view.task.title), Style.HEADING)
    yield from fact_lines(change_facts(view))
    yield from section("Missing", bulleted(change_missing(view), Style.WARNING))
    if view.run is not None and view.merged is not None:
        yield from section("Both reviews", map(StyledLine, merged_lines(view.run)))
    yield from section("Rounds", bulleted("  ".join(row) for row in change_rounds(view)))
    for run in view.about:
        yield from section(_title(run), _findings(run))
    yield from section(
        "Unreadable", bulleted((f"{error.path}: {error.what}" for error in view.faults), Style.WARNING)
    )


def _title(run: Run) -> str:
    return (
        f"{review_word(run.run_type).capitalize()} {run.id}: {run.status}, {verdict_word(run)}, "
        f"{clean_line(run.provider)}, {format_moment(run.started_at)}, {format_cost(run.cost_usd)}"
    )


def _findings(run: Run) -> Iterator[StyledLine]:
    if run.error:
        yield from bulleted([run.error], Style.WARNING)
    lines = list(result_lines(run))
    yield from map(StyledLine, lines)
    if not lines and not run.error:
        yield StyledLine("  nothing is recorded", Style.FAINT)

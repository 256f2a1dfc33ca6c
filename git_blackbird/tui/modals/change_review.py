"""The reviews of a leaf's change: what both reviewers found, round by round, and what can be done."""

from collections.abc import Iterator

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.review_text import merged_lines, result_lines, verdict_word
from git_blackbird.messages.review_views import change_facts, change_missing, change_rounds
from git_blackbird.messages.run_text import review_word, shown_cost, shown_moment
from git_blackbird.model.review_views import ChangeReviewView
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean_line
from git_blackbird.tui.lines import listed, section
from git_blackbird.tui.modals.chooser import Offer
from git_blackbird.tui.modals.review import Act, Obstacles, ReviewScreen, Wanted, fact_lines


class ChangeReviewScreen(ReviewScreen):
    """Shows how the reviews of one leaf's change stand."""

    def __init__(self, view: ChangeReviewView, obstacles: Obstacles) -> None:
        super().__init__(f"Reviews of {view.task.id}", _lines(view), _offers(view, obstacles))


def _offers(view: ChangeReviewView, obstacles: Obstacles) -> Iterator[Offer[Wanted]]:
    task_id = view.task.id
    if view.run is not None and view.run.is_pending:
        yield Offer(Wanted(Act.DECIDE, task_id), "Decide on the change", obstacle=obstacles.run)
    again = "Review now" if view.merged is None else "Review again"
    yield Offer(Wanted(Act.REVIEW, task_id), again, obstacle=obstacles.review or obstacles.run)


def _lines(view: ChangeReviewView) -> Iterator[Line]:
    yield Line(clean_line(view.task.title), Tone.HEADING)
    yield from fact_lines(change_facts(view))
    yield from section("Missing", listed(change_missing(view), Tone.WARNING))
    if view.run is not None and view.merged is not None:
        yield from section("Both reviews", map(Line, merged_lines(view.run)))
    yield from section("Rounds", listed("  ".join(row) for row in change_rounds(view)))
    for run in view.about:
        yield from section(_title(run), _found(run))
    yield from section("Unreadable", listed((f"{one.path}: {one.what}" for one in view.faults), Tone.WARNING))


def _title(run: Run) -> str:
    return (
        f"{review_word(run.run_type).capitalize()} {run.id}: {run.status}, {verdict_word(run)}, "
        f"{clean_line(run.provider)}, {shown_moment(run.started_at)}, {shown_cost(run.cost_usd)}"
    )


def _found(run: Run) -> Iterator[Line]:
    if run.error:
        yield from listed([run.error], Tone.WARNING)
    lines = list(result_lines(run))
    yield from map(Line, lines)
    if not lines and not run.error:
        yield Line("  nothing is recorded", Tone.FAINT)

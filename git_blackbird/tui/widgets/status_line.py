"""The one line that says how far the plan is, who works, what it costs and how much waits for a person."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_blackbird.controller.queries.status import StatusReport
from git_blackbird.messages.display.quantities import amount_text, budget_name, render_cost, render_duration
from git_blackbird.messages.document import line, truncate
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.spending import Spent

_UNUSABLE = "the configuration is not usable: [c] shows why"
_BAR_COLUMNS = 8
_LONGEST_SEARCH = 30
_SEPARATOR = " · "


class AtWork(NamedTuple):
    """Agents that this screen has seen work.

    ``runs`` are those at work, each as a task or review with its seconds so far; ``seconds`` and ``spent``
    are of all of them since the screen was opened.
    """

    runs: Sequence[tuple[str, float]] = ()
    seconds: float = 0.0
    spent: Spent = Spent()


class Narrowed(NamedTuple):
    """How the list of tasks is narrowed: filter and search, each "" if there is none, and how many match."""

    filter_name: str = ""
    searched: str = ""
    position: int = 0
    matches: int = 0


class Shown(NamedTuple):
    """What the screen knows besides the state; what waits for a person is counted without failed tasks.

    ``now`` is in nanoseconds since 1970.
    """

    waiting: int
    agent: str
    at_work: AtWork
    narrowed: Narrowed
    now: int = 0


def status_text(overview: StatusReport, shown: Shown) -> str:
    """Return the line; the most important first, since on a narrow screen it is cut."""
    if any(problem.fatal for problem in overview.problems):
        return _UNUSABLE
    progress = _progress(overview, shown.at_work, shown.agent)
    rest = (*_limits(overview, shown.now), *_rest(overview, shown.waiting))
    return line(_SEPARATOR.join((*_narrowed(shown.narrowed), *progress, *rest))).text


def _narrowed(narrowed: Narrowed) -> Iterator[str]:
    if narrowed.filter_name:
        yield f"filter {narrowed.filter_name}: {narrowed.matches}"
    if narrowed.searched:
        where = f"{narrowed.position} of {narrowed.matches}" if narrowed.position else str(narrowed.matches)
        yield f"search {truncate(narrowed.searched, _LONGEST_SEARCH)}: {where}"
    if narrowed.filter_name or narrowed.searched:
        yield "esc shows all"


def _progress(overview: StatusReport, at_work: AtWork, agent: str) -> Iterator[str]:
    done, leaves = overview.counts[Status.DONE] + overview.counts[Status.SKIPPED], overview.leaves
    if not leaves:
        yield "the plan has no tasks"
    else:
        yield f"{progress_bar(done, leaves)} {done}/{leaves}"
    yield agent
    if at_work.seconds >= 1:
        yield render_duration(at_work.seconds)
    if at_work.spent.cost_usd:
        yield render_cost(at_work.spent.cost_usd)
    if len(at_work.runs) == 1:
        ((about, seconds),) = at_work.runs
        yield f"● {about} {render_duration(seconds)}"
    elif at_work.runs:
        yield f"● {len(at_work.runs)} at work"


def _limits(overview: StatusReport, now: int) -> Iterator[str]:
    for hold in overview.limits:
        if hold.until > now:
            left = render_duration((hold.until - now) / 10**9)
            yield f"{hold.by.agent} at its limit: {'try ' if hold.is_guess else ''}in {left}"


def _rest(overview: StatusReport, waiting: int) -> Iterator[str]:
    yield from (f"{budget_name(line)} {amount_text(line)}" for line in overview.budgets if not line.task_id)
    if waiting:
        yield f"{waiting} wait" if waiting > 1 else "1 waits"
    if overview.failed:
        yield f"{overview.failed} failed"
    if overview.taken_back:
        yield f"{overview.taken_back} taken back"
    if overview.ready:
        yield f"{len(overview.ready)} ready"
    if overview.approving:
        yield f"committing {overview.approving.task.id}"
    if overview.locked_by:
        # Its process and its start are in `status`.
        yield f"running: {overview.locked_by.command or overview.locked_by.words}"


def progress_bar(done: int, total: int) -> str:
    """Return a bar of fixed width; it is full only when all is done, and empty only when nothing is."""
    filled = min(_BAR_COLUMNS, _BAR_COLUMNS * done // total)
    if done and not filled:
        filled = 1
    return f"[{'#' * filled}{'·' * (_BAR_COLUMNS - filled)}]"

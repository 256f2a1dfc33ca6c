"""The text of ``report``, and the words that its page shares."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from git_blackbird.controller.queries.report import AgentSpent, Report, ReportedTask
from git_blackbird.messages.display.evidence import coverage_word, noticed_word
from git_blackbird.messages.display.quantities import (
    budget_rows,
    counted,
    format_cost,
    format_moment,
    render_duration,
    short_number,
)
from git_blackbird.messages.display.queue import due_lines
from git_blackbird.messages.document import Line, Section, Span, Style, Table, line, listed, section, table
from git_blackbird.model.rules.spending import Spent

MAX_TASKS = 100
GONE = "no longer in the plan"
NO_AGENT = "no agent"
TASK_HEADINGS = (
    "Task",
    "Runs",
    "Took",
    "Tokens",
    "Cost",
    "Check",
    "Reviews",
    "Decision",
    "Rulings",
    "Both added",
    "Title",
)
AGENT_HEADINGS = ("Agent", "Runs", "Took", "Tokens", "Cost")


def report_document(report: Report) -> Iterator[Section | Line]:
    yield line(Span(title_text(report), Style.HEADING))
    yield from map(line, summary_lines(report))
    yield from (done_section(report), undone_section(report))
    yield section("spent", [_agents(report.agents)])
    yield from (budget_section(report), flaky_section(report), waiting_section(report))


def done_section(report: Report) -> Section:
    return section("done", _tasks(report.done))


def undone_section(report: Report) -> Section:
    return section("worked on, not done", _tasks(report.undone, has_status=True))


def budget_section(report: Report) -> Section:
    return section("budgets", budget_rows(report.overview.budgets))


def flaky_section(report: Report) -> Section:
    names = [f"{name}: {counted(times, 'time')}" for name, times in report.flaky.items()]
    return section("flaky: failed, and passed on the same files", listed(names, MAX_TASKS))


def waiting_section(report: Report) -> Section:
    """Return what waits for a person, as ``status`` says it."""
    waiting = report.overview.waiting
    shown = [one for item in waiting[:MAX_TASKS] for one in due_lines([item])]
    if len(waiting) > MAX_TASKS:
        shown.append(line(f"and {len(waiting) - MAX_TASKS} more (`git blackbird status`)"))
    return section("waits for you", shown)


def period_text(report: Report) -> str:
    """Say of which time the report is."""
    until = f"until {format_moment(report.until)}"
    return until if report.since is None else f"since {format_moment(report.since)}, {until}"


def title_text(report: Report) -> str:
    """Name the repository and the time."""
    return f"{report.repository}, {period_text(report)}"


def summary_lines(report: Report) -> Iterator[str]:
    """Sum it up in a few lines."""
    if plan := report.overview.counts_text:
        yield f"plan: {plan}"
    yield f"done: {done_text(report)}; {known_text(report)}"
    yield f"spent: {total_text(report.spent)}"
    if report.planning.runs:
        yield f"planning, of this: {total_text(report.planning)}"
    yield f"waiting for you: {len(report.overview.waiting) or 'nothing'}"


def done_text(report: Report) -> str:
    """Count what is done as the line about the plan does."""
    tasks = len(report.done_leaves)
    parents = len(report.done) - tasks
    return counted(tasks, "task") + (f" and {counted(parents, 'parent')}" if parents else "")


def known_text(report: Report) -> str:
    """Say what checks and reviews say of what is done."""
    verdicts = Counter(task.verdict for task in report.done_leaves if task.verdict is not None)
    checks = [
        f"{number} {'with ' if verdict[-1].isdigit() else ''}{verdict}"
        for verdict, number in sorted(verdicts.items())
    ]
    unchecked = len(report.done_leaves) - verdicts.total()
    if checks and unchecked:
        checks.append(f"{unchecked} not run")
    first = [task.tests_first for task in report.done_leaves if task.tests_first is not None]
    reviews = [f"{number} {verdict}" for verdict, number in report.reviews.items()]
    parts = [
        f"checks: {', '.join(checks)}" if checks else "no checks",
        noticed_word(report.hunks) if report.hunks else "",
        coverage_word(report.coverage),
        f"tests first: {sum(first)} of {len(first)}" if first else "",
        f"reviews of changes: {', '.join(reviews)}" if reviews else "no reviews of changes",
    ]
    return "; ".join(filter(None, parts))


def spent_text(spent: Spent) -> str:
    """Say what runs took in one line."""
    parts = [counted(spent.runs, "run"), render_duration(spent.seconds)]
    if spent.tokens:
        parts.append(f"{short_number(spent.tokens)} tokens")
    if spent.cost_usd is not None:
        parts.append(cost_text(spent))
    return ", ".join(parts)


def total_text(spent: Spent) -> str:
    """Return the totals of all runs, and how many of them have no known cost."""
    lacks = spent.cost_usd is not None and spent.unpriced
    return spent_text(spent) + (
        f" (without {counted(spent.unpriced, 'run')} of unknown cost)" if lacks else ""
    )


def cost_text(spent: Spent) -> str:
    """Return the cost of runs in short, with a plus where that of some is unknown; ``-`` where of all."""
    return format_cost(spent.cost_usd) + ("+" if spent.unpriced and spent.cost_usd is not None else "")


def spent_fields(spent: Spent) -> tuple[str, str, str, str]:
    """Return what runs took as fields of a table."""
    return (
        str(spent.runs),
        render_duration(spent.seconds),
        short_number(spent.tokens) if spent.tokens else "-",
        cost_text(spent),
    )


def task_fields(task: ReportedTask) -> tuple[str, ...]:
    """Return a task as a row under ``TASK_HEADINGS``."""
    return (
        task.id,
        *(spent_fields(task.spent) if task.runs else ("-",) * 4),
        task.verdict or "-",
        task.reviews or "-",
        task.decision or "-",
        str(task.rulings or "-"),
        ", ".join(task.both_added) or "-",
        task.title if task.status else GONE,
    )


def agent_fields(agent: AgentSpent) -> tuple[str, ...]:
    """Return what the runs of an agent took as a row under ``AGENT_HEADINGS``."""
    return (agent.agent or NO_AGENT, *spent_fields(agent.spent))


def task_rows(tasks: Sequence[ReportedTask], *, has_status: bool = False) -> list[tuple[str, ...]]:
    """Return a table of tasks with its headings, without columns in which nothing is known of any."""
    headings = [*TASK_HEADINGS[:1], *(["Status"] if has_status else []), *TASK_HEADINGS[1:]]
    rows = []
    for task in tasks:
        name, *fields = task_fields(task)
        status = "-" if task.status is None else task.status.value
        word = "taken back" if task.is_taken_back else status
        rows.append([name, *([word] if has_status else []), *fields])
    columns = [column for column in zip(headings, *rows, strict=True) if set(column[1:]) != {"-"}]
    return list(zip(*columns, strict=True))


def _tasks(tasks: Sequence[ReportedTask], *, has_status: bool = False) -> Iterator[str | Table]:
    if tasks:
        headings, *rows = task_rows(tasks, has_status=has_status)
        yield table([_headings(headings), *rows[:MAX_TASKS]])
        if len(rows) > MAX_TASKS:
            yield f"and {len(rows) - MAX_TASKS} more (--json has all)"


def _headings(words: Iterable[str]) -> list[Span]:
    return [Span(word, Style.HEADING) for word in words]


def _agents(agents: Sequence[AgentSpent]) -> Table:
    return table([_headings(AGENT_HEADINGS), *map(agent_fields, agents)] if agents else ())

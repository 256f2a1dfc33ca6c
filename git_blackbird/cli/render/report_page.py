"""The page of ``report``: one file that needs nothing else and no script, for light and dark screens."""

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from git_blackbird.cli.render.paint_html import paint_html
from git_blackbird.cli.render.plan_picture import MOST_TASKS, draw_plan
from git_blackbird.cli.render.plan_picture import remark_on as remark_on_plan
from git_blackbird.cli.render.report import (
    agent_fields,
    budget_section,
    cost_text,
    done_section,
    done_text,
    flaky_section,
    known_text,
    period_text,
    spent_text,
    title_text,
    total_text,
    undone_section,
    waiting_section,
)
from git_blackbird.cli.render.svg import (
    PICTURE_STYLE,
    STATUS_CLASSES,
    box,
    escape,
    fitted,
    label,
    picture,
    scrolling,
)
from git_blackbird.cli.render.timeline import draw_timeline
from git_blackbird.cli.render.timeline import remark_on as remark_on_timeline
from git_blackbird.controller.queries.report import Report, ReportedTask
from git_blackbird.messages.display.quantities import render_duration, short_number
from git_blackbird.model.plan.layers import layered_graph
from git_blackbird.model.rules.spending import Spent

_MOST_BARS = 20
_BAR_COLUMNS = 26
_BAR_LEFT, _BAR_WIDTH, _BAR_ROW = 190.0, 560.0, 24.0
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .3rem 0; } .dim, .remark { color: var(--dim); } .remark { font-size: .85rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem 1rem; }
.tiles b { display: block; font-size: 1.4rem; line-height: 1.3; }
table { border-collapse: collapse; font-size: .9rem; } .scroll, .picture { overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: left; }
th { color: var(--dim); font-weight: 600; } td { white-space: nowrap; }
td:last-child { min-width: 14rem; overflow-wrap: anywhere; white-space: normal; }
code { background: var(--card); border: 1px solid var(--line); border-radius: 4px; overflow-wrap: anywhere;
  padding: .05rem .35rem; }
.item { border-left: 4px solid var(--wait); margin: .6rem 0; overflow-wrap: anywhere; padding-left: .8rem; }
.done { color: var(--done); } .run { color: var(--run); } .wait { color: var(--wait); }
.fail { color: var(--fail); }
"""


class _Bar(NamedTuple):
    """One bar: an escaped name, what was spent, and the class of its colour."""

    name: str
    spent: Spent
    kind: str


def render_page(report: Report) -> str:
    """Write the whole page; whatever a plan or an agent says is escaped in it."""
    title = html.escape(f"Report on {title_text(report)}")
    body = "\n".join(_body(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{PICTURE_STYLE}{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.repository)}</h1>"
    yield f'<p class="dim">{html.escape(period_text(report))}</p>'
    yield from _tiles(report)
    for one in (waiting_section(report), done_section(report), undone_section(report)):
        yield from _section(one.title.capitalize(), paint_html(one.parts))
    yield from _section("Spent by agent", _agents(report))
    yield from _section("Budgets", paint_html(budget_section(report).parts))
    yield from _section("Flaky checks and tests", paint_html(flaky_section(report).parts))
    yield from _section("Spent by task", _task_bars(report))
    yield from _section("When", _timeline(report))
    yield from _section("Plan", _plan(report))


def _section(title: str, parts: Iterable[str]) -> Iterator[str]:
    listed = list(parts)
    if listed:
        yield f"<section>\n<h2>{title}</h2>"
        yield from listed
        yield "</section>"


def _tiles(report: Report) -> Iterator[str]:
    spent = report.spent
    tiles = {
        "done": done_text(report),
        "waiting for you": str(len(report.overview.waiting) or "nothing"),
        "in runs": f"{render_duration(spent.seconds)}",
        "tokens": short_number(spent.tokens) if spent.tokens else "-",
        "cost": cost_text(spent),
    }
    listed = "".join(f"<li><b>{html.escape(value)}</b>{name}</li>" for name, value in tiles.items())
    yield f'<ul class="tiles">{listed}</ul>'
    if plan := report.overview.counts_text:
        yield f"<p>Plan: {html.escape(plan)}</p>"
    yield f"<p>Of what is done: {html.escape(known_text(report))}</p>"
    yield f"<p>Spent: {html.escape(total_text(spent))}</p>"


def _agents(report: Report) -> Iterator[str]:
    bars = [_Bar(fitted(agent_fields(one)[0], _BAR_COLUMNS), one.spent, "run") for one in report.agents]
    yield from _bars(bars, "What each agent took")


def _task_bars(report: Report) -> Iterator[str]:
    bars = [
        _Bar(fitted(task.id, _BAR_COLUMNS), task.spent, _kind(task)) for task in report.tasks if task.runs
    ]
    yield from _bars(bars, "What each task took")


def _kind(task: ReportedTask) -> str:
    if task.is_taken_back:
        return "todo"
    return "skip" if task.status is None else STATUS_CLASSES[task.status]


def _bars(bars: Sequence[_Bar], name: str) -> Iterator[str]:
    """Draw the longest bars: of costs, where agents report any, else of tokens, else of time."""
    if not bars:
        return
    measure, what = _measure(bars)
    ranked = sorted(bars, key=lambda bar: -measure(bar.spent))[:_MOST_BARS]
    longest = max(measure(bar.spent) for bar in ranked) or 1.0
    parts = []
    for number, bar in enumerate(ranked):
        y = number * _BAR_ROW
        width = max(_BAR_WIDTH * measure(bar.spent) / longest, 2.0)
        parts.append(label(4, y + 16, bar.name, "small"))
        parts.append(box(_BAR_LEFT, y + 4, width, _BAR_ROW - 8, f"bar {bar.kind}"))
        parts.append(label(_BAR_LEFT + width + 8, y + 16, html.escape(spent_text(bar.spent))))
    yield scrolling(picture(_BAR_LEFT + _BAR_WIDTH + 260, len(ranked) * _BAR_ROW, name, parts))
    more = f" The {len(ranked)} longest of {len(bars)}." if len(bars) > len(ranked) else ""
    yield f'<p class="remark">Bars show {what}.{more}</p>'


def _measure(bars: Sequence[_Bar]) -> tuple[Callable[[Spent], float], str]:
    if any(bar.spent.cost_usd for bar in bars):
        return lambda spent: spent.cost_usd or 0.0, "what it cost"
    if any(bar.spent.tokens for bar in bars):
        return lambda spent: float(spent.tokens), "tokens; no agent reports a cost"
    return lambda spent: spent.seconds, "time; no agent reports tokens or a cost"


def _timeline(report: Report) -> Iterator[str]:
    if drawn := draw_timeline(report.tasks):
        yield scrolling(drawn)
        yield f'<p class="remark">{remark_on_timeline(report.tasks)}</p>'


def _plan(report: Report) -> Iterator[str]:
    if report.plan.tasks:
        first = (task.id for task in (*report.undone, *report.done))
        graph = layered_graph(report.plan, first, MOST_TASKS)
        yield scrolling(draw_plan(report.plan, graph, report.labels))
        yield f'<p class="remark">{remark_on_plan(graph)}</p>'

"""When the runs of a report worked: a row for each task, in which long pauses are cut short."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_blackbird.cli.render.svg import box, escape, fitted, label, picture
from git_blackbird.controller.queries.report import ReportedRun, ReportedTask
from git_blackbird.messages.display.quantities import counted, format_moment, render_duration
from git_blackbird.model.base.timestamps import SECOND, format_timestamp
from git_blackbird.model.run.states import RunStatus

MOST_ROWS = 60
_MOST_BARS = 1000
_LEFT, _WIDTH = 190.0, 780.0
_ROW, _BAR, _HEAD = 22.0, 13.0, 26.0
_PAUSE_WIDTH = 30.0
_LEAST_WIDTH = 3.0
_LEAST_PAUSE = 1200.0
_PAUSE_PART = 0.15
_MOST_PAUSES = 12
_LABEL_WIDTH = 110.0
_KINDS = {
    RunStatus.SUCCESS: "done",
    RunStatus.FAILED: "fail",
    RunStatus.RUNNING: "run",
    RunStatus.WAITING_USER: "wait",
    RunStatus.PAUSED: "wait",
}


class _Span(NamedTuple):
    """Seconds in which somebody was at work."""

    start: float
    end: float


class _Scale(NamedTuple):
    """Where moments are: spans of work, each of which begins at a place, all drawn to one scale."""

    spans: tuple[_Span, ...]
    begins: tuple[float, ...]
    per_second: float

    def x(self, moment: float) -> float:
        """Return the place of a moment of work."""
        index = max((number for number, span in enumerate(self.spans) if span.start <= moment), default=0)
        span = self.spans[index]
        return self.begins[index] + (min(moment, span.end) - span.start) * self.per_second


def draw_timeline(tasks: Sequence[ReportedTask]) -> str:
    """Draw when runs worked, the tasks in the order of their first one; "" without any that began."""
    rows = _rows(tasks)
    runs = [run for row in rows for run in _timed(row)]
    if not runs:
        return ""
    scale = _scale([_span(run) for run in runs])
    bottom = _HEAD + len(rows) * _ROW
    parts = [
        *_axis(scale, bottom),
        *(part for number, row in enumerate(rows) for part in _row(row, _HEAD + number * _ROW, scale)),
    ]
    return picture(_LEFT + _WIDTH + 10, bottom + 6, "When runs worked", parts)


def remark_on(tasks: Sequence[ReportedTask]) -> str:
    """Say how to read it, and what it leaves out."""
    timed = sum(1 for task in tasks if _timed(task))
    said = "Reviews are pale; a dashed line is a pause that is cut short."
    if timed > MOST_ROWS:
        said += f" The {counted(MOST_ROWS, 'task')} worked on last, of {timed}."
    return said


def _timed(task: ReportedTask) -> list[ReportedRun]:
    return [run for run in task.runs if run.began > 0][-_MOST_BARS // MOST_ROWS :]


def _rows(tasks: Sequence[ReportedTask]) -> list[ReportedTask]:
    timed = [task for task in tasks if _timed(task)]
    latest = sorted(timed, key=lambda task: _timed(task)[-1].began)[-MOST_ROWS:]
    return sorted(latest, key=lambda task: (_timed(task)[0].began, task.id))


def _span(run: ReportedRun) -> _Span:
    start = run.began / SECOND
    return _Span(start, start + run.spent.seconds)


def _scale(times: list[_Span]) -> _Scale:
    spans = _merged(times)
    pauses = (len(spans) - 1) * _PAUSE_WIDTH
    busy = sum(span.end - span.start for span in spans) or 1.0
    per_second = (_WIDTH - pauses) / busy
    begins: list[float] = []
    x = _LEFT
    for span in spans:
        begins.append(x)
        x += (span.end - span.start) * per_second + _PAUSE_WIDTH
    return _Scale(tuple(spans), tuple(begins), per_second)


def _merged(times: list[_Span]) -> list[_Span]:
    """Join what overlaps, and what only a short pause lies between."""
    joined = _joined(times, 0.0)
    busy = sum(span.end - span.start for span in joined)
    pauses = sorted(after.start - before.end for before, after in pairwise(joined))
    longest = pauses[-_MOST_PAUSES - 1] if len(pauses) > _MOST_PAUSES else 0.0
    return _joined(times, max(_LEAST_PAUSE, busy * _PAUSE_PART, longest))


def _joined(times: list[_Span], pause: float) -> list[_Span]:
    spans: list[_Span] = []
    for span in sorted(times):
        if spans and span.start - spans[-1].end <= pause:
            spans[-1] = _Span(spans[-1].start, max(spans[-1].end, span.end))
        else:
            spans.append(span)
    return spans


def _axis(scale: _Scale, bottom: float) -> Iterator[str]:
    said_until = 0.0
    for span, x in zip(scale.spans, scale.begins, strict=True):
        kind = "pause" if x > _LEFT else "axis"
        middle = x - (_PAUSE_WIDTH / 2 if x > _LEFT else 0)
        yield f'<path d="M{middle:.1f} {_HEAD - 6:.1f}V{bottom:.1f}" class="{kind}"/>'
        if x >= said_until:
            moment = format_moment(format_timestamp(int(span.start) * SECOND))
            yield label(min(x, _LEFT + _WIDTH - _LABEL_WIDTH), 14, escape(moment), "small")
            said_until = x + _LABEL_WIDTH


def _row(task: ReportedTask, y: float, scale: _Scale) -> Iterator[str]:
    yield label(4, y + _BAR, fitted(task.id, 26), "small")
    yield f'<path d="M{_LEFT} {y + _ROW - 3:.1f}H{_LEFT + _WIDTH}" class="row"/>'
    for run in _timed(task):
        span = _span(run)
        x = scale.x(span.start)
        width = max(scale.x(span.end) - x, _LEAST_WIDTH)
        kind = f"bar {_KINDS[run.status]}" + ("" if run.is_work else " review")
        what = "" if run.is_work else f" ({run.run_type.value.replace('_', ' ')})"
        took = f"{run.status.value}, {render_duration(run.spent.seconds)}"
        yield box(x, y + 2, width, _BAR, kind, f"{escape(task.id)}{what}, {escape(run.provider)}: {took}")

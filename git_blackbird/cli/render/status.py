"""The text of ``status``: counts, runs, and what is due, with the command that answers it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.render.tables import BAR, Cell, render_section, render_table, truncate
from git_blackbird.controller.queries.attention import (
    CUT_OFF,
    DueItem,
    decision_reason,
    due_groups,
    reviews_said,
    unwatched_words,
)
from git_blackbird.controller.queries.other_worktrees import RunElsewhere
from git_blackbird.controller.queries.reviews import BlockedParentView, ReviewBlock
from git_blackbird.controller.queries.status import (
    APPROVING,
    LiveRun,
    StatusReport,
)
from git_blackbird.messages.display.format import (
    counted,
    format_moment,
    format_seconds,
    review_word,
    run_seconds,
)
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import PendingItem, PendingKind

# The groups of what is due that are listed, and how what is left out of each is told.
_MORE = {
    "pending": " (`git blackbird list --status waiting_user`)",
    "change_review": " whose change is to be reviewed",
    "parent_review": " that wait for their review",
    "failed": " failed (`git blackbird list --status failed`)",
    "stuck": " without a run",
    "unreadable": " with such records",
}
BAR_WIDTH = 60
MAX_LISTED = 8
_COUNTED = (
    (Status.DONE, "done"),
    (Status.IN_PROGRESS, "in progress"),
    (Status.QUEUED, "queued"),
    (Status.WAITING_USER, "waiting"),
    (Status.FAILED, "failed"),
    (Status.BLOCKED, "blocked"),
    (Status.SKIPPED, "skipped"),
)


def status_lines(overview: StatusReport, elsewhere: Iterable[RunElsewhere], output: Output) -> Iterator[str]:
    """Write the whole screen."""
    now = output.environment.timestamp()
    columns = None if output.columns is None else output.columns - 2
    yield _summary(overview)
    if overview.leaves:
        yield _bar(overview, BAR_WIDTH - 2 if columns is None else min(BAR_WIDTH, columns))
    yield from render_section("running", _working(overview, now))
    yield from render_section("due", _due(overview, columns))
    yield from render_section("blocked", _blocked(overview, columns))
    yield from render_section(CUT_OFF, _cut_off(overview))
    yield from render_section("commits of yours that are not recorded yet", _deferred(overview))
    yield from render_section("the plan and the records differ", _drift(overview))
    yield from render_section("decisions on tasks that are not in this plan", _orphaned(overview))
    yield from worktree_lines(elsewhere)


def worktree_lines(elsewhere: Iterable[RunElsewhere]) -> Iterator[str]:
    """Write a section with the runs of the same tasks in other worktrees."""
    lines = (f"{clean_line(found.run.task_id)}  {clean_line(found.text, 2000)}" for found in elsewhere)
    return render_section("in other worktrees", lines)


def _summary(overview: StatusReport) -> str:
    if not overview.leaves:
        return "the plan has no tasks; `git blackbird add --title TEXT --prompt TEXT` adds one"
    counts = overview.counts
    parts = [f"{counts[status]} {word}" for status, word in _COUNTED if counts[status]]
    if counts[Status.TODO]:
        parts.append(f"{counts[Status.TODO]} todo ({len(overview.ready)} ready)")
    above = f" and {counted(overview.parents, 'parent')}" if overview.parents else ""
    return f"{counted(overview.leaves, 'task')}{above}: {', '.join(parts)}"


def _bar(overview: StatusReport, room: int) -> str:
    """Draw the bar; whatever there is of a status shows as one mark at least."""
    counts = overview.counts
    wanted = [(mark, color, counts[status]) for status, mark, color in BAR if counts[status]]
    widths = [max(1, room * count // overview.leaves) for _, _, count in wanted]
    largest = widths.index(max(widths))
    widths[largest] += max(0, room - sum(widths))
    drawn = (
        click.style(mark * width, fg=color) if color else mark * width
        for (mark, color, _), width in zip(wanted, widths, strict=True)
    )
    return f"[{''.join(drawn)}]"


def _working(overview: StatusReport, now: str) -> Iterator[str]:
    if overview.locked_by is not None:
        yield f"git blackbird {clean_line(overview.locked_by)}"
    for live in overview.running:
        yield f"{live.run.task_id}  {_running_text(live, overview.locked_by, now)}"
    if overview.approving is not None:
        yield f"{overview.approving.task.id}  {APPROVING}"


def _running_text(one: LiveRun, holder: str | None, now: str) -> str:
    run = one.run
    since = format_seconds(run_seconds(run, now))
    word = review_word(run.run_type) or "run"
    what = f"{word} {run.id} of {clean_line(run.provider) or 'an agent'}, process {run.pid}, {since}"
    if one.alive and holder is not None:
        return what
    if holder is not None:
        return f"{what}; its process has ended"
    does = "stops it and keeps what it did" if one.alive else "closes its record"
    return f"{what}\n      {unwatched_words(one)}; `git blackbird execute` {does}"


def _due(overview: StatusReport, columns: int | None) -> Iterator[str]:
    groups = due_groups(overview)
    for group, more in _MORE.items():
        by_task = [list(items) for _, items in groupby(groups[group], key=_task_id)]
        for items in by_task[:MAX_LISTED]:
            yield _headline(items[0].task, items[0].what, columns)
            for item in items[:MAX_LISTED]:
                yield from (f"    {line}" for line in _due_lines(item, columns))
        if len(by_task) > MAX_LISTED:
            yield f"and {len(by_task) - MAX_LISTED} more{more}"
    if overview.ready:
        yield truncate(f"ready: {_ids(overview.ready)}", columns)
        yield f"    {_execute(overview)}"


def _task_id(item: DueItem) -> str:
    return item.task.id


def _due_lines(item: DueItem, columns: int | None) -> Iterator[str]:
    room = None if columns is None else columns - 4
    match item.source:
        case PendingItem():
            yield from _pending_lines(item.source, room)
        case BlockedParentView():
            yield from review_wait_lines(item.source, room)
        case None:
            if item.why:
                yield truncate(clean_line(item.why), room)
            yield item.command
        case _:
            yield strip_controls(item.command)


def _pending_lines(owed: PendingItem, room: int | None) -> Iterator[str]:
    if owed.kind is PendingKind.ANSWERS:
        for question in owed.questions:
            options = f" ({', '.join(question.options)})" if question.options else ""
            yield truncate(f"{clean_line(question.id)}: {clean_line(question.prompt + options)}", room)
    if said := reviews_said(owed):
        yield f"{said} ({task_command('review show', owed.task.id)})"
    if reason := decision_reason(owed):
        yield reason
    yield owed.command


def review_wait_lines(waiting: BlockedParentView, room: int | None) -> Iterator[str]:
    """Say what a review found, or why it found nothing, and the next commands for its parent."""
    if waiting.why and waiting.wait is not ReviewBlock.REVIEW_DUE:
        yield truncate(clean_line(waiting.why), room)
    if waiting.skipped:
        yield truncate(f"skipped: {', '.join(waiting.skipped)}", room)
    yield from waiting.commands


def _headline(task: Task, what: str, columns: int | None) -> str:
    room = None if columns is None else columns - len(what) - len(task.id) - 4
    return f"{task.id}  {truncate(clean_line(task.title), room)}: {what}"


def _ids(tasks: Sequence[Task]) -> str:
    named = ", ".join(task.id for task in tasks[:MAX_LISTED])
    return named if len(tasks) <= MAX_LISTED else f"{named} and {len(tasks) - MAX_LISTED} more"


def _blocked(overview: StatusReport, columns: int | None) -> Iterator[str]:
    rows = [
        (Cell(task_id), Cell(f"waits for {', '.join(_named(overview, deps))}"))
        for task_id, deps in sorted(overview.blocked.items())[:MAX_LISTED]
    ]
    yield from render_table(rows, columns)
    if len(overview.blocked) > MAX_LISTED:
        yield f"and {len(overview.blocked) - MAX_LISTED} more (`git blackbird list --blocked`)"
    yield from (f"    {way}" for way in overview.hints[: 2 * MAX_LISTED])


def _named(overview: StatusReport, deps: Sequence[str]) -> Iterator[str]:
    for dep in deps:
        yield f"{dep} (skipped)" if dep in overview.skipped else dep


def _cut_off(overview: StatusReport) -> Iterator[str]:
    one = overview.interrupted_approval
    if one is None:
        return
    if one.commit is None:
        left = "before it made a commit"
    else:
        open_still = (
            "the index may lack it" if one.is_recorded else "it is not recorded, and the index may lack it"
        )
        left = f"after it made commit {one.commit[:12]}; {open_still}"
    yield f"{one.task_id}  run {one.run_id}: killed {left}"
    yield f"    {one.command}    # finishes it"


def _deferred(overview: StatusReport) -> Iterator[str]:
    yield from (f"{oid[:10]}" for oid in overview.deferred[:MAX_LISTED])
    if len(overview.deferred) > MAX_LISTED:
        yield f"and {len(overview.deferred) - MAX_LISTED} more"
    if overview.deferred:
        yield "    git blackbird execute    # records them first"


def _drift(overview: StatusReport) -> Iterator[str]:
    for task_id, (stored, derived) in overview.drift.items():
        yield f"{task_id}: the plan says {stored}, its runs say {derived}"
    if overview.drift:
        yield "    `git blackbird execute` corrects the plan; `set-status` overrides the runs"


def _orphaned(overview: StatusReport) -> Iterator[str]:
    for run in overview.orphaned_decisions:
        yield f"{clean_line(run.task_id)}  run {run.id} of {format_moment(run.started_at)}"
        yield f"    {task_command('runs', run.task_id)} {run.id}"


def _execute(overview: StatusReport) -> str:
    """Return the command that starts what is ready; a plain execute may stop before that."""
    stops_at = "the review" if overview.stops_at_review else overview.undeliverable
    if stops_at is not None:
        remark = f"by name; without one, execute stops at {stops_at}"
        return task_command("execute", overview.ready[0].id, remark=remark)
    first = ", ".join(overview.unfinished[:MAX_LISTED])
    return EXECUTE.with_remark(f"continues {first} first") if first else EXECUTE

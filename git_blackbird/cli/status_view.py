"""The screen of ``status``: where the plan stands, what runs, what is due and the command that answers it."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.step_data import step_data
from git_blackbird.cli.tables import Cell, fit, render_table
from git_blackbird.cli.troubles import unconfirmed_data
from git_blackbird.cli.wording import BAR
from git_blackbird.controller.held_parents import REVIEW_WORDS, ReviewWait, WaitingParent
from git_blackbird.controller.overview import APPROVING, CHANGE_REVIEW, DueReview, Overview, Running
from git_blackbird.controller.required import (
    CUT_OFF,
    FAILED,
    decision_reason,
    reviews_said,
    stuck_words,
    unwatched_words,
)
from git_blackbird.messages.amounts import counted
from git_blackbird.messages.run_text import review_word, run_seconds, shown_moment, shown_seconds
from git_blackbird.model.commands import EXECUTE, runnable, runnable_steps, task_command
from git_blackbird.model.owed import OWED_WORDS, Owed, OwedKind
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.recorded import plain
from git_blackbird.model.task_review import readable_merged
from git_blackbird.model.text import clean, clean_line
from git_blackbird.model.unreadable import UNREADABLE

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


def status_lines(overview: Overview, output: Output) -> Iterator[str]:
    """Write the whole screen."""
    now = output.world.timestamp()
    yield _summary(overview)
    if overview.leaves:
        yield _bar(overview, min(BAR_WIDTH, (output.columns or BAR_WIDTH) - 2))
    yield from _working(overview, now)
    yield from _headed("due", _due(overview, output.columns))
    yield from _headed("blocked", _blocked(overview, output.columns))
    yield from _headed(CUT_OFF, _cut_off(overview))
    yield from _headed("your commits that are still to be recorded", _deferred(overview))
    yield from _headed("the plan and the records differ", _drift(overview))
    yield from _headed("decisions on tasks that are not in this plan", _elsewhere(overview))


def _headed(title: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is not None:
        yield ""
        yield click.style(title, bold=True)
        yield first
        yield from lines


def _summary(overview: Overview) -> str:
    if not overview.leaves:
        return "the plan has no tasks; `git blackbird add --title TEXT --prompt TEXT` adds one"
    counts = overview.counts
    parts = [f"{counts[status]} {word}" for status, word in _COUNTED if counts[status]]
    if counts[Status.TODO]:
        parts.append(f"{counts[Status.TODO]} todo ({len(overview.ready)} ready)")
    above = f" and {counted(overview.parents, 'parent')}" if overview.parents else ""
    return f"{counted(overview.leaves, 'task')}{above}: {', '.join(parts)}"


def _bar(overview: Overview, room: int) -> str:
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


def _working(overview: Overview, now: str) -> Iterator[str]:
    if overview.holder is None and not overview.running and overview.approving is None:
        return
    yield ""
    yield click.style("running", bold=True)
    if overview.holder is not None:
        yield f"  git blackbird {clean_line(overview.holder)}"
    for one in overview.running:
        yield f"  {one.run.task_id}  {_running_text(one, overview.holder, now)}"
    if overview.approving is not None:
        yield f"  {overview.approving.task.id}  {APPROVING}"


def _running_text(one: Running, holder: str | None, now: str) -> str:
    run = one.run
    since = shown_seconds(run_seconds(run, now))
    word = review_word(run.run_type) or "run"
    what = f"{word} {run.id} of {clean_line(run.provider) or 'an agent'}, process {run.pid}, {since}"
    if one.alive and holder is not None:
        return what
    if holder is not None:
        return f"{what}; its process has ended"
    does = "stops it and keeps what it did" if one.alive else "closes its record"
    return f"{what}\n      {unwatched_words(one)}; `git blackbird execute` {does}"


def _due(overview: Overview, columns: int | None) -> Iterator[str]:
    for owed in overview.owed[:MAX_LISTED]:
        yield from _owed_lines(owed, columns)
    if len(overview.owed) > MAX_LISTED:
        yield f"  and {len(overview.owed) - MAX_LISTED} more (`git blackbird list --status waiting_user`)"
    yield from _changes(overview, columns)
    yield from _unreviewed(overview, columns)
    for one in overview.failed[:MAX_LISTED]:
        yield _headline(one.task, FAILED, columns)
        if one.why:
            yield fit(f"      {clean_line(one.why)}", columns)
        yield f"      {task_command('retry', one.task.id)}"
    if len(overview.failed) > MAX_LISTED:
        yield f"  and {len(overview.failed) - MAX_LISTED} more failed (`git blackbird list --status failed`)"
    for stuck in overview.stuck[:MAX_LISTED]:
        yield _headline(stuck.task, stuck_words(stuck), columns)
        yield f"      {stuck.command}"
    if len(overview.stuck) > MAX_LISTED:
        yield f"  and {len(overview.stuck) - MAX_LISTED} more without a run"
    yield from _stopped(overview, columns)
    if overview.ready:
        yield fit(f"  ready: {_ids(overview.ready)}", columns)
        yield f"      {_execute(overview)}"


def _stopped(overview: Overview, columns: int | None) -> Iterator[str]:
    for task, faults in list(overview.stopped.items())[:MAX_LISTED]:
        yield _headline(task, UNREADABLE, columns)
        yield from (f"      {clean(fault.way_out)}" for fault in faults[:MAX_LISTED])
    if len(overview.stopped) > MAX_LISTED:
        yield f"  and {len(overview.stopped) - MAX_LISTED} more with such records"


def _owed_lines(owed: Owed, columns: int | None) -> Iterator[str]:
    yield _headline(owed.task, OWED_WORDS[owed.kind].format(run=owed.run_id), columns)
    if owed.kind is OwedKind.ANSWERS:
        for question in owed.questions:
            options = f" ({', '.join(question.options)})" if question.options else ""
            yield fit(f"      {clean_line(question.id)}: {clean_line(question.prompt + options)}", columns)
    if said := reviews_said(owed):
        yield f"      {said} ({task_command('review show', owed.task.id)})"
    if reason := decision_reason(owed):
        yield f"      {reason}"
    yield f"      {owed.command}"


def _changes(overview: Overview, columns: int | None) -> Iterator[str]:
    for one in overview.to_review[:MAX_LISTED]:
        yield _headline(one.task, CHANGE_REVIEW, columns)
        yield f"      {EXECUTE}"
    if len(overview.to_review) > MAX_LISTED:
        yield f"  and {len(overview.to_review) - MAX_LISTED} more whose change is to be reviewed"


def _unreviewed(overview: Overview, columns: int | None) -> Iterator[str]:
    for waiting in overview.unreviewed[:MAX_LISTED]:
        yield _headline(waiting.task, REVIEW_WORDS[waiting.wait], columns)
        yield from (f"      {line}" for line in review_wait_lines(waiting, columns))
    if len(overview.unreviewed) > MAX_LISTED:
        yield f"  and {len(overview.unreviewed) - MAX_LISTED} more that wait for their review"


def review_wait_lines(waiting: WaitingParent, columns: int | None) -> Iterator[str]:
    """Say what a review found, or why it found nothing, and the commands that get on with its parent."""
    if waiting.why and waiting.wait is not ReviewWait.OWED:
        yield fit(clean_line(waiting.why), None if columns is None else columns - 6)
    if waiting.skipped:
        yield fit(f"skipped: {', '.join(waiting.skipped)}", None if columns is None else columns - 6)
    yield from waiting.commands


def _headline(task: Task, what: str, columns: int | None) -> str:
    room = None if columns is None else columns - len(what) - len(task.id) - 6
    return f"  {task.id}  {fit(clean_line(task.title), room)}: {what}"


def _ids(tasks: Sequence[Task]) -> str:
    named = ", ".join(task.id for task in tasks[:MAX_LISTED])
    return named if len(tasks) <= MAX_LISTED else f"{named} and {len(tasks) - MAX_LISTED} more"


def _blocked(overview: Overview, columns: int | None) -> Iterator[str]:
    rows = [
        (Cell(f"  {task_id}"), Cell(f"waits for {', '.join(_named(overview, deps))}"))
        for task_id, deps in sorted(overview.blocked.items())[:MAX_LISTED]
    ]
    yield from render_table(rows, columns)
    if len(overview.blocked) > MAX_LISTED:
        yield f"  and {len(overview.blocked) - MAX_LISTED} more (`git blackbird list --blocked`)"
    yield from (f"      {way}" for way in overview.ways_out[: 2 * MAX_LISTED])


def _named(overview: Overview, deps: Sequence[str]) -> Iterator[str]:
    for dep in deps:
        yield f"{dep} (skipped)" if dep in overview.skipped else dep


def _cut_off(overview: Overview) -> Iterator[str]:
    one = overview.cut_off
    if one is None:
        return
    if one.commit is None:
        left = "before it made a commit"
    else:
        open_still = (
            "the index may lack it" if one.is_recorded else "it is not recorded, the index may lack it"
        )
        left = f"after it made commit {one.commit[:12]}; {open_still}"
    yield f"  {one.task_id}  run {one.run_id}: killed {left}"
    yield f"      {one.command}    # finishes it"


def _deferred(overview: Overview) -> Iterator[str]:
    yield from (f"  {oid[:10]}" for oid in overview.deferred[:MAX_LISTED])
    if len(overview.deferred) > MAX_LISTED:
        yield f"  and {len(overview.deferred) - MAX_LISTED} more"
    if overview.deferred:
        yield "      git blackbird execute    # records them first"


def _drift(overview: Overview) -> Iterator[str]:
    for task_id, (stored, derived) in overview.drift.items():
        yield f"  {task_id}: the plan says {stored}, its runs say {derived}"
    if overview.drift:
        yield "      `git blackbird execute` corrects the plan; `set-status` overrides the runs"


def _elsewhere(overview: Overview) -> Iterator[str]:
    for run in overview.elsewhere:
        yield f"  {clean_line(run.task_id)}  run {run.id} of {shown_moment(run.started_at)}"
        yield f"      {task_command('runs', run.task_id)} {run.id}"


def status_data(overview: Overview) -> dict[str, Any]:
    """Give the same for programs, with nothing left away."""
    return {
        "leaves": overview.leaves,
        "parents": overview.parents,
        "counts": {status.value: overview.counts[status] for status in Status},
        "holder": overview.holder,
        "running": [
            {
                "task": one.run.task_id,
                "run": one.run.id,
                "type": one.run.run_type.value,
                "pid": one.run.pid,
                "alive": one.alive,
            }
            for one in overview.running
        ],
        "approving": _approving_data(overview.approving),
        "due": [
            *map(_owed_data, overview.owed),
            *map(_due_review_data, overview.to_review),
            *map(review_wait_data, overview.unreviewed),
            *_retries(overview),
            *_stuck_data(overview),
            *_stopped_data(overview),
            *_starts(overview),
        ],
        "blocked": {task_id: list(deps) for task_id, deps in sorted(overview.blocked.items())},
        "skipped": list(overview.skipped),
        "waysOut": runnable_steps(overview.ways_out),
        "drift": {
            task_id: {"plan": stored.value, "runs": derived.value}
            for task_id, (stored, derived) in overview.drift.items()
        },
        "cutOffApproval": _cut_off_data(overview),
        "deferredCommits": list(overview.deferred),
        "unreadable": [{"path": fault.path, "what": fault.what} for fault in overview.unreadable],
        "unconfirmed": unconfirmed_data(overview.unconfirmed),
        "elsewhere": [{"task": run.task_id, "run": run.id} for run in overview.elsewhere],
        "problems": [
            {"origin": one.origin, "key": one.key, "what": one.what, "hint": one.hint, "fatal": one.fatal}
            for one in overview.problems
        ],
    }


def _approving_data(approving: Owed | None) -> dict[str, Any] | None:
    return None if approving is None else {"task": approving.task.id, "run": approving.run_id}


def _cut_off_data(overview: Overview) -> dict[str, Any] | None:
    one = overview.cut_off
    if one is None:
        return None
    return {"task": one.task_id, "run": one.run_id, "commit": one.commit, "command": one.command}


def _owed_data(owed: Owed) -> dict[str, Any]:
    asked = [plain(question) for question in owed.questions]
    data = {"kind": owed.kind.value, "task": owed.task.id, "run": owed.run_id, **step_data(owed.command)}
    if reason := decision_reason(owed):
        data["why"] = reason
    if owed.kind is OwedKind.DECISION and owed.run is not None:
        merged = readable_merged(owed.run)
        return data if merged is None else {**data, "overall": merged.overall, "action": merged.action}
    return {**data, "questions": asked} if owed.kind is OwedKind.ANSWERS else data


def _due_review_data(one: DueReview) -> dict[str, Any]:
    return {"kind": "change_review", "task": one.task.id, "run": one.run.id, "command": EXECUTE}


def _execute(overview: Overview) -> str:
    """Give the command that starts what is ready; a plain execute stops where something else comes first."""
    stops_at = "the review" if overview.stops_at_review else overview.undeliverable
    if stops_at is not None:
        remark = f"by name; without one, execute stops at {stops_at}"
        return task_command("execute", overview.ready[0].id, remark=remark)
    first = ", ".join(overview.unfinished[:MAX_LISTED])
    return EXECUTE.with_remark(f"continues {first} first") if first else EXECUTE


def review_wait_data(waiting: WaitingParent) -> dict[str, Any]:
    """Give how a parent waits for its review, for programs; ``command`` is the first of ``commands``."""
    held = waiting.held
    return {
        "kind": waiting.wait.value,
        "task": waiting.task.id,
        "run": held.run_id,
        "resume": list(held.resume),
        "feedback": held.feedback,
        "fault": held.fault,
        "skipped": list(waiting.skipped),
        "command": runnable(waiting.commands[0]),
        "commands": runnable_steps(waiting.commands),
        "steps": list(map(step_data, waiting.commands)),
    }


def _retries(overview: Overview) -> Iterator[dict[str, Any]]:
    for one in overview.failed:
        command = task_command("retry", one.task.id)
        yield {"kind": "failed", "task": one.task.id, "why": one.why, "command": command}


def _stuck_data(overview: Overview) -> Iterator[dict[str, Any]]:
    for one in overview.stuck:
        yield {"kind": "stuck", "task": one.task.id, "command": one.command}


def _stopped_data(overview: Overview) -> Iterator[dict[str, Any]]:
    for task, faults in overview.stopped.items():
        for fault in faults:
            named = {"kind": "unreadable", "task": task.id, "path": fault.path, "what": fault.what}
            yield {**named, **step_data(fault.way_out)}


def _starts(overview: Overview) -> Iterator[dict[str, Any]]:
    for task in overview.ready:
        yield {"kind": "ready", "task": task.id, "command": task_command("execute", task.id)}

"""``--porcelain`` and ``-z``: lists as records for scripts, in a form that stays (docs/porcelain.md)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from git_blackbird.cli.output import CommandContext
from git_blackbird.model.base.sanitize import quoted_field
from git_blackbird.model.entities.cli_hints import runnable
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.entities.status import Status

if TYPE_CHECKING:
    # Only who lists tasks pays for loading it.
    from git_blackbird.controller.queries.status import StatusReport

LINE_END, NUL = "\n", "\0"
_ABSENT = "-"
_RUN_FIELDS = (
    "id",
    "task_id",
    "run_type",
    "provider",
    "provider_session_ref",
    "started_at",
    "completed_at",
    "status",
    "terminal_reason",
    "exit_code",
    "decision_state",
    "cost_usd",
    "resumes",
    "superseded_by",
)

Record = Sequence[object]


def record_end_of(call: CommandContext, *, porcelain: bool, nul: bool) -> str | None:
    """Return what ends a record with ``--porcelain`` and ``-z``; None without either.

    Raises click.UsageError when JSON is asked for as well.
    """
    if call.as_json and (porcelain or nul):
        raise click.UsageError("--json and --porcelain do not go together")
    return NUL if nul else LINE_END if porcelain else None


def print_records(call: CommandContext, records: Iterable[Record], end: str) -> None:
    """Print records; in lines, a field that would break them is quoted as in C."""
    texts = (_record_text(record, end) for record in records)
    call.raw("".join(text + end for text in texts).encode(errors="replace"))


def _record_text(record: Record, end: str) -> str:
    """Join the fields. Ended by NUL, only the last may hold a tab, and none may hold what ends the record."""
    fields = [_ABSENT if field is None or field == "" else str(field) for field in record]
    if end == LINE_END:
        return "\t".join(map(quoted_field, fields))
    *first, last = fields
    return "\t".join([*(field.replace("\t", "\ufffd") for field in first), last]).replace(NUL, "\ufffd")


def list_records(rows: Iterable[tuple[int, Task, str]]) -> Iterator[Record]:
    """Yield each task, of its depth, itself and its label: id, status, label, depth, parent, title."""
    for depth, task, word in rows:
        yield task.id, task.status.value, word, depth, task.parent, task.title


def run_records(runs: Iterable[Run]) -> Iterator[Record]:
    """Yield each run: the fields of RUN of docs/json.md in their order, less the seconds."""
    for run in runs:
        yield [getattr(run, name) for name in _RUN_FIELDS]


def status_records(overview: "StatusReport") -> Iterator[Record]:
    """Return the status report as records; the first field of each is its kind."""
    from git_blackbird.controller.queries.attention import due_groups  # noqa: PLC0415  # a list of runs has none

    for status in Status:
        yield "count", status.value, overview.counts[status]
    if overview.locked_by is not None:
        yield "holder", overview.locked_by
    for live in overview.running:
        yield "running", live.run.task_id, live.run.id, live.run.pid, "alive" if live.alive else "gone"
    if overview.approving is not None:
        yield "approving", overview.approving.task.id, overview.approving.run_id
    for items in due_groups(overview).values():
        for item in items:
            yield "due", item.kind, item.task.id, item.run_id, runnable(item.command) or item.command
    yield from _irregular_records(overview)


def _irregular_records(overview: "StatusReport") -> Iterator[Record]:
    for task_id, deps in sorted(overview.blocked.items()):
        yield from (("blocked", task_id, dep) for dep in deps)
    for task_id, (stored, derived) in overview.drift.items():
        yield "drift", task_id, stored.value, derived.value
    for fault in overview.unreadable:
        yield "unreadable", fault.path, fault.what
    for record in overview.unconfirmed:
        yield "unconfirmed", record.path, record.run_id
    for run in overview.orphaned_decisions:
        yield "elsewhere", run.task_id, run.id

"""The text of ``status``: counts, runs, and what is due, with the command that answers it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.core.guards import RunElsewhere
from git_blackbird.controller.queries.status import APPROVING, Conflict, StatusReport
from git_blackbird.messages.display.format import (
    adoptable_text,
    review_word,
    run_seconds,
)
from git_blackbird.messages.display.quantities import (
    budget_rows,
    countdown,
    format_moment,
    format_seconds,
    some_of,
)
from git_blackbird.messages.display.queue import due_lines
from git_blackbird.messages.document import (
    Line,
    Section,
    Span,
    Style,
    Table,
    line,
    listed,
    section,
    table,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import DECIDE_EACH, EXECUTE, TaskCommand
from git_blackbird.model.change.stages import Due, is_half_written
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import (
    GONE,
    PENDING,
    REVIEWS_OF_PARENTS,
    UNWATCHED,
    InterruptedApproval,
    Item,
    LiveRun,
)

# What is in a section of its own.
_APART = frozenset({Due.FINISH_APPROVAL, Due.CLOSE, Due.START})
# All else in groups that are listed in part, and how what is left out of each is told.
_NAMED = (
    (PENDING, " (`git blackbird list --status waiting_user`)"),
    (
        {Due.FINISH, Due.CHECK, Due.REVIEW, Due.LAND},
        " whose change is to be reviewed or to land",
    ),
    (REVIEWS_OF_PARENTS, " that wait for their review"),
    ({Due.FAILED}, " failed (`git blackbird list --status failed`)"),
    ({Due.STUCK}, " without a run"),
    ({Due.UNREADABLE}, " with such records"),
)
_MORE = (*_NAMED, (frozenset(Due).difference(_APART, *(kinds for kinds, _ in _NAMED)), ""))
BAR_WIDTH = 60
MAX_LISTED = 8
_NO_TASKS = "the plan has no tasks; `git blackbird add` opens a page for some"
_BAR = (
    (Status.DONE, "#", Style.DONE),
    (Status.IN_PROGRESS, ">", Style.WORKING),
    (Status.QUEUED, ">", Style.WORKING),
    (Status.WAITING_USER, "?", Style.WAITING),
    (Status.FAILED, "x", Style.FAILED),
    (Status.BLOCKED, ".", Style.PLAIN),
    (Status.TODO, ".", Style.PLAIN),
    (Status.SKIPPED, "-", Style.PLAIN),
)


def status_document(
    overview: StatusReport, elsewhere: Iterable[RunElsewhere], call: CommandContext
) -> Iterator[Section | Line]:
    """Yield the whole screen."""
    columns = call.columns
    yield line(overview.counts_text or _NO_TASKS)
    if overview.leaves:
        yield _bar(overview, BAR_WIDTH if columns is None else min(BAR_WIDTH, columns - len("[]")))
    yield section("running", _running(overview, call.environment.timestamp()))
    if overview.limits:
        yield section("at a usage limit", _limits(overview, call.environment.now()))
    yield section("due", _due(overview))
    if overview.budgets:
        yield section("budgets", budget_rows(overview.budgets))
    yield section("blocked", _blocked(overview))
    if overview.interrupted_approval is not None:
        yield section(Due.FINISH_APPROVAL.words, _interrupted(overview.interrupted_approval))
    if overview.deferred:
        yield section("commits of yours that are not recorded yet", _deferred(overview))
    if overview.drift:
        yield section("the plan and the records differ", _drift(overview.drift))
    yield section("tasks that are not in this plan", _orphaned(overview))
    yield worktree_section(elsewhere)
    yield from map(line, filter(None, [adoptable_text(overview.adoptable)]))


def conflict_section(conflicts: Sequence[Conflict]) -> Section:
    """Return the changes that conflict, and the paths."""
    lines = [f"{one.task_id} and {one.other or 'your worktree'}  {', '.join(one.paths)}" for one in conflicts]
    return section("conflicts", lines or ["none between changes that have not landed"])


def worktree_section(elsewhere: Iterable[RunElsewhere]) -> Section:
    """Return the runs of the same tasks in other worktrees."""
    lines = (f"{other.run.task_id}  {other.text}" for other in elsewhere)
    return section("in other worktrees", lines)


def _bar(overview: StatusReport, columns: int) -> Line:
    """Draw the bar; whatever there is of a status shows as one mark at least."""
    # What was taken back is as what is to be done.
    todo = overview.counts[Status.TODO] + overview.taken_back
    counts = {**overview.counts, Status.FAILED: overview.failed, Status.TODO: todo}
    parts = [(mark, style, counts[status]) for status, mark, style in _BAR if counts.get(status)]
    widths = [max(1, columns * count // overview.leaves) for _, _, count in parts]
    largest = widths.index(max(widths))
    widths[largest] += max(0, columns - sum(widths))
    drawn = (Span(mark * width, style) for (mark, style, _), width in zip(parts, widths, strict=True))
    return line("[", *drawn, "]")


def _running(overview: StatusReport, now: str) -> Iterator[str]:
    if overview.locked_by is not None:
        yield str(overview.locked_by)
    for live in overview.running:
        yield f"{live.run.task_id}  {_running_text(live, overview, now)}"
        if later := _later_text(live, overview):
            yield f"    {later}"
        if live.run.worktree_path is not None and not live.run.is_remote:
            yield f"    in {live.run.worktree_path}"
    if overview.approving is not None:
        yield f"{overview.approving.task.id}  {APPROVING}"


def _running_text(live: LiveRun, overview: StatusReport, now: str) -> str:
    run = live.run
    since = format_seconds(run_seconds(run, now))
    word = review_word(run.run_type) or "run"
    where = f"process {run.pid}"
    if run.is_remote:
        where = f"on worker {run.worker}" if run.worker else "waiting for a worker"
    text = f"{word} {run.id} of {run.provider or 'an agent'}, {where}, {since}"
    has_ended = overview.locked_by is not None and not live.alive and not run.is_remote
    return f"{text}; its process has ended" if has_ended else text


def _later_text(live: LiveRun, overview: StatusReport) -> str:
    """Return what becomes of a run that no call watches; "" for one that is watched."""
    if overview.locked_by is not None:
        return ""
    if live.run.is_remote:
        command = EXECUTE if overview.cluster_address else f"{EXECUTE} --cluster ADDRESS"
        return f"`{command}` takes up what it did"
    does = "stops it and keeps what it did" if live.alive else "closes its record"
    return f"{UNWATCHED if live.alive else GONE}; `git blackbird execute` {does}"


def _limits(overview: StatusReport, now: int) -> Iterator[str]:
    yield from (countdown(hold, now) for hold in overview.limits)
    if overview.locked_by is not None:
        yield "the call that runs here goes on then by itself; Ctrl+C there ends the waiting"


def _due(overview: StatusReport) -> Iterator[str | Line]:
    left, shown = [], set[TaskId]()
    for kinds, more in _MORE:
        tasks = dict.fromkeys(item.task.id for item in overview.due if item.due in kinds)
        shown |= {*tuple(tasks)[:MAX_LISTED]}
        if len(tasks) > MAX_LISTED:
            left.append(f"and {len(tasks) - MAX_LISTED} more{more}")
    shown_items = [item for item in overview.due if item.due not in _APART and item.task.id in shown]
    for _, items in groupby(shown_items, key=attrgetter("task.id")):
        yield from due_lines([*items][:MAX_LISTED])
    yield from left
    decisions = sum(item.due is Due.DECIDE for item in overview.due)
    if decisions > 1:
        yield f"decisions due: {decisions}"
        yield f"    {DECIDE_EACH}"
    if ready := overview.ready:
        for answer, items in groupby(ready, key=_starting):
            yield line(f"ready: {some_of([item.task.id for item in items], MAX_LISTED)}", gives_way=0)
            yield f"    {answer or _execute(overview)}"


def _blocked(overview: StatusReport) -> Iterator[str | Table]:
    skipped = {dep: f"{dep} (skipped)" for dep in overview.skipped}
    rows = [
        (task_id, f"waits for {', '.join(skipped.get(dep, dep) for dep in deps)}")
        for task_id, deps in sorted(overview.blocked.items())
    ]
    yield table(rows[:MAX_LISTED])
    if len(rows) > MAX_LISTED:
        yield f"and {len(rows) - MAX_LISTED} more (`git blackbird list --blocked`)"
    yield from (f"    {hint}" for hint in overview.hints[: 2 * MAX_LISTED])


def _interrupted(approval: InterruptedApproval) -> Iterator[str]:
    state = "before it made a commit"
    if approval.commit is not None:
        unrecorded = "" if approval.is_recorded else "it is not recorded, and "
        state = f"after it made commit {approval.commit[:12]}; {unrecorded}the index may lack it"
    yield f"{approval.task_id}  run {approval.run_id}: killed {state}"
    yield f"    {approval.command}    # finishes it"


def _deferred(overview: StatusReport) -> Iterator[str | Line]:
    yield from listed([oid[:10] for oid in overview.deferred], MAX_LISTED)
    if overview.locked_by is None:
        yield "    git blackbird execute    # records them first"


def _drift(drift: Mapping[TaskId, tuple[Status, Status]]) -> Iterator[str]:
    for task_id, (stored, derived) in drift.items():
        yield f"{task_id}: the plan says {stored}, its runs say {derived}"
    yield "    `git blackbird execute` corrects the plan; `set-status` overrides the runs"


def _orphaned(overview: StatusReport) -> Iterator[str]:
    for run in overview.orphaned:
        what = (
            "is half written: the plan that has it completes it" if is_half_written(run) else "waits for you"
        )
        yield f"{run.task_id}  run {run.id} of {format_moment(run.started_at)} {what}"
        yield f"    {TaskCommand('runs', run.task_id)} {run.id}"


def _starting(item: Item) -> str:
    """Return what to do before a task can start, or who starts it; "" where an execute does."""
    is_execute = isinstance(item.command, TaskCommand) and item.command.verb == "execute"
    return "" if is_execute else item.command


def _execute(overview: StatusReport) -> str:
    """Return the command that starts what is ready; a plain execute may stop before that."""
    if overview.stops_at is not None:
        remark = f"by name; without one, execute stops at {overview.stops_at}"
        return TaskCommand("execute", overview.ready[0].task.id, remark=remark)
    first = ", ".join(overview.unfinished[:MAX_LISTED])
    return EXECUTE.with_remark(f"continues {first} first") if first else EXECUTE

"""Everything that is due, in order, and counts, in the words that every interface uses."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from git_blackbird.controller.core.guards import UNWATCHED
from git_blackbird.controller.queries.reviews import REVIEW_WORDS, BlockedParentView, ReviewBlock
from git_blackbird.controller.queries.status import LiveRun, StatusReport
from git_blackbird.messages.display.format import check_word, unblocks_text
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, task_command
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.change.stages import TABLE, OtherKind, PendingKind, Stage, label_of, stage_of
from git_blackbird.model.change.work import way_on
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import PendingItem
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.provenance import UNREADABLE, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import TerminalReason

FAILED = "failed"
_LONGEST_REASON = 2000
CUT_OFF = "an approval was interrupted"
GONE = "its process is gone"
_CLOSES = "closes the run: its session is resumed, or else the task has failed"
# What the next execute does, without a person.
_OF_ITSELF = frozenset({OtherKind.CHANGE_REVIEW, OtherKind.LANDING, ReviewBlock.REVIEW_DUE, OtherKind.READY})


class AttentionItem(NamedTuple):
    """Something that waits for a person: about which task, in words, why, and the command that answers it.

    ``what`` is one harmless line; ``why`` may be anything a record says, and "" where nothing does.
    ``unblocks`` counts the tasks that wait for the answer alone.
    """

    task_id: TaskId
    what: str
    why: str
    command: str
    unblocks: int = 0

    @property
    def words(self) -> str:
        """What waits, and how much the answer unblocks."""
        return f"{self.what}{unblocks_text(self.unblocks)}"


class DueItem(NamedTuple):
    """Something due, as every interface lists it: the task, in words what, why, and the command that answers.

    ``source`` has more of an item that is pending, a parent that waits, or a record that cannot be read.
    ``unblocks`` counts the tasks that wait for a person's answer alone.
    """

    kind: PendingKind | OtherKind | ReviewBlock
    task: Task
    what: str
    command: str
    run_id: RunId | None = None
    why: str | None = None
    source: PendingItem | BlockedParentView | RecordError | None = None
    unblocks: int = 0


def in_queue(items: Iterable[DueItem]) -> list[DueItem]:
    """Return items in the order in which a person should look at them: those first that unblock most."""
    return sorted(items, key=lambda item: -item.unblocks)


def due_groups(overview: StatusReport) -> Mapping[str, list[DueItem]]:
    """Return what is due in groups, each in the order of the queue."""
    return {name: in_queue(_with_unblocks(overview, items)) for name, items in _groups(overview).items()}


def _with_unblocks(overview: StatusReport, items: Iterable[DueItem]) -> Iterator[DueItem]:
    for item in items:
        is_answered = item.kind not in _OF_ITSELF | {OtherKind.UNDO}
        count = overview.unblocked.get(item.task.id, 0) if is_answered else 0
        yield item._replace(unblocks=count)


def _change_item(overview: StatusReport, task: Task, run: Run) -> DueItem:
    kind = TABLE[stage_of(run)].kind or OtherKind.CHANGE_REVIEW
    return DueItem(kind, task, label_of(run), EXECUTE, run.id, _turn_text(overview, task))


def _groups(overview: StatusReport) -> Mapping[str, list[DueItem]]:
    return {
        "pending": [_pending_item(pending) for pending in overview.pending],
        "change_review": [_change_item(overview, task, run) for task, run in overview.to_review],
        "parent_review": [
            DueItem(
                parent.wait,
                parent.task,
                REVIEW_WORDS[parent.wait],
                parent.commands[0],
                parent.status.run_id,
                parent.why,
                parent,
            )
            for parent in overview.unreviewed
        ],
        "failed": [
            DueItem(OtherKind.FAILED, task, _failed_words(run), way_on(task.id, run), why=_error_of(run))
            for task, run in overview.failed
        ],
        "stuck": [
            DueItem(
                OtherKind.STUCK,
                stuck.task,
                stuck.words,
                stuck.command,
            )
            for stuck in overview.stuck
        ],
        "unreadable": [
            DueItem(OtherKind.UNREADABLE, task, UNREADABLE, fault.hint, why=fault.what, source=fault)
            for task, faults in overview.stopped.items()
            for fault in faults
        ],
        "ready": [
            DueItem(OtherKind.READY, task, "ready", task_command("execute", task.id))
            for task in overview.ready
        ],
    }


def _turn_text(overview: StatusReport, task: Task) -> str | None:
    first = overview.turns.get(task.id)
    return None if first is None else f"{first} lands before: it resolves a conflict in the same files"


def _failed_words(run: Run | None) -> str:
    return FAILED if run is None else label_of(run)


def _error_of(run: Run | None) -> str | None:
    return run.error if run is not None and stage_of(run) is Stage.FAILED else None


def _pending_item(pending: PendingItem) -> DueItem:
    return DueItem(
        pending.kind,
        pending.task,
        pending.words,
        pending.command,
        pending.run_id,
        review_outcome_text(pending) or pending_reason(pending),
        pending,
    )


_COUNTED = (
    (Status.DONE, "done"),
    (Status.IN_PROGRESS, "in progress"),
    (Status.QUEUED, "queued"),
    (Status.WAITING_USER, "waiting"),
    (Status.FAILED, "failed"),
    (Status.BLOCKED, "blocked"),
    (Status.SKIPPED, "skipped"),
)


def counts_text(overview: StatusReport) -> str:
    """Count the tasks by status in one line; "" for a plan without tasks."""
    if not overview.leaves:
        return ""
    counts = overview.counts
    parts = [f"{counts[status]} {word}" for status, word in _COUNTED if counts[status]]
    if counts[Status.TODO]:
        parts.append(f"{counts[Status.TODO]} todo ({len(overview.ready)} ready)")
    above = f" and {counted(overview.parents, 'parent')}" if overview.parents else ""
    return f"{counted(overview.leaves, 'task')}{above}: {', '.join(parts)}"


def attention_items(overview: StatusReport) -> Iterator[AttentionItem]:
    """Return what waits for a person; what the next execute does by itself is left out."""
    for item in in_queue(chain.from_iterable(due_groups(overview).values())):
        if item.kind not in _OF_ITSELF:
            yield AttentionItem(item.task.id, item.what, item.why or "", item.command, item.unblocks)
    # Half-done work of a killed process.
    cut_off = overview.interrupted_approval
    if cut_off is not None:
        yield AttentionItem(cut_off.task_id, CUT_OFF, "", cut_off.command)
    if overview.locked_by is None:
        for one in overview.running:
            yield AttentionItem(one.run.task_id, unwatched_words(one), _closing_text(one), EXECUTE)


def _closing_text(one: LiveRun) -> str:
    """Return what the next execute does with a run whose process no command follows."""
    return f"execute {'stops its agent and ' if one.alive else ''}{_CLOSES}"


def review_outcome_text(owed: PendingItem) -> str | None:
    """Summarize the reviews of a change that a person is to decide on; None if there are none."""
    if owed.kind is not PendingKind.DECISION or owed.run is None or owed.run.merged_review is None:
        return None
    return f"its reviews: {overall_word(merged_or_none(owed.run))}"


def pending_reason(owed: PendingItem) -> str | None:
    """Return what speaks against an approval, or how a run ended that may not have finished; None for others.

    Against an approval speak that nothing was changed, a failed check, and an obstacle to landing.
    """
    if owed.run is not None and owed.run.terminal_reason is TerminalReason.UNKNOWN_END:
        return clean_line(owed.run.error or "", _LONGEST_REASON) or None
    if owed.kind is not PendingKind.DECISION or owed.run is None:
        return None
    if owed.run.no_change_reason is not None:
        return owed.run.no_change_reason
    stage, reason = stage_of(owed.run), clean_line(owed.run.landing_reason or "", _LONGEST_REASON)
    if stage is Stage.BLOCKED:
        return f"it {owed.run.landing_words}: {reason}"
    if stage is Stage.NOT_COMMITTED:
        return reason
    return None if owed.run.red_check is None else f"its check {check_word(owed.run.red_check)}"


def unwatched_words(one: LiveRun) -> str:
    """Describe a run whose process no command follows."""
    return UNWATCHED if one.alive else GONE

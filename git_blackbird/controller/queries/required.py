"""What waits for a person, in order, in the words that every face has for it."""

from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.controller.queries.parent_reviews import REVIEW_WORDS, ReviewBlock
from git_blackbird.controller.queries.status import LiveRun, StatusReport
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.model.entities.run import NO_CHANGE
from git_blackbird.model.rules.attention import OWED_WORDS, PendingItem, PendingKind, StuckTask
from git_blackbird.model.rules.review_rounds import merged_or_none
from git_blackbird.model.rules.state import UNREADABLE

FAILED = "failed"
CUT_OFF = "an approval was interrupted"
UNWATCHED = "no controller is running it"
GONE = "its process is gone"


class AttentionItem(NamedTuple):
    """Something that waits for a person: about which task, in words, why, and the command that answers it.

    ``what`` is one harmless line; ``why`` may be anything a record says, and "" where nothing does.
    """

    task_id: TaskId
    what: str
    why: str
    command: str


def attention_items(overview: StatusReport) -> Iterator[AttentionItem]:
    """Return all that waits for a person; what the next execute does of itself waits for nobody."""
    for owed in overview.pending:
        what = OWED_WORDS[owed.kind].format(run=owed.run_id)
        yield AttentionItem(
            owed.task.id, what, reviews_said(owed) or decision_reason(owed) or "", owed.command
        )
    for waiting in overview.unreviewed:
        if waiting.wait is not ReviewBlock.REVIEW_DUE:
            yield AttentionItem(waiting.task.id, REVIEW_WORDS[waiting.wait], waiting.why, waiting.commands[0])
    for one in overview.failed:
        yield AttentionItem(one.task.id, FAILED, one.why or "", task_command("retry", one.task.id))
    for stuck in overview.stuck:
        yield AttentionItem(stuck.task.id, stuck_words(stuck), "", stuck.command)
    for task, faults in overview.stopped.items():
        yield from (AttentionItem(task.id, UNREADABLE, fault.what, fault.hint) for fault in faults)
    yield from _left_behind(overview)


def _left_behind(overview: StatusReport) -> Iterator[AttentionItem]:
    """Return what a killed process left half done."""
    cut_off = overview.interrupted_approval
    if cut_off is not None:
        yield AttentionItem(cut_off.task_id, CUT_OFF, "", cut_off.command)
    if overview.locked_by is None:
        for one in overview.running:
            yield AttentionItem(one.run.task_id, unwatched_words(one), "", EXECUTE)


def reviews_said(owed: PendingItem) -> str | None:
    """Say what the reviews of a change came to that a person is to decide on; None where there are none."""
    if owed.kind is not PendingKind.DECISION or owed.run is None or owed.run.merged_review is None:
        return None
    return f"its reviews: {overall_word(merged_or_none(owed.run))}"


def decision_reason(owed: PendingItem) -> str | None:
    """Say why a decision is due whatever the checkpoints; None where nothing but a checkpoint asks for it."""
    is_unchanged = owed.kind is PendingKind.DECISION and owed.run is not None and owed.run.no_change
    return NO_CHANGE if is_unchanged else None


def stuck_words(stuck: StuckTask) -> str:
    """Say that a task is worked on or waits, and no record says why."""
    return f"{stuck.task.status.value.replace('_', ' ')}, but it has no run"


def unwatched_words(one: LiveRun) -> str:
    """Say how a run is left whose process no command follows."""
    return UNWATCHED if one.alive else GONE

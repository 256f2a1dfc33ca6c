"""What waits for a person, in order, in the words that every face has for it."""

from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.controller.held_parents import REVIEW_WORDS, ReviewWait
from git_blackbird.controller.overview import Overview, Running
from git_blackbird.messages.review_text import overall_word
from git_blackbird.model.commands import EXECUTE, task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import OWED_WORDS, Owed, OwedKind, Stuck
from git_blackbird.model.run import CHANGED_NOTHING
from git_blackbird.model.task_review import readable_merged
from git_blackbird.model.unreadable import UNREADABLE

FAILED = "failed"
CUT_OFF = "an approval was interrupted"
UNWATCHED = "no controller is running it"
GONE = "its process is gone"


class Required(NamedTuple):
    """Something that waits for a person: about which task, in words, why, and the command that answers it.

    ``what`` is one harmless line; ``why`` may be anything a record says, and "" where nothing does.
    """

    task_id: TaskId
    what: str
    why: str
    command: str


def required(overview: Overview) -> Iterator[Required]:
    """Give all that waits for a person; what the next execute does of itself waits for nobody."""
    for owed in overview.owed:
        what = OWED_WORDS[owed.kind].format(run=owed.run_id)
        yield Required(owed.task.id, what, reviews_said(owed) or decision_reason(owed) or "", owed.command)
    for waiting in overview.unreviewed:
        if waiting.wait is not ReviewWait.OWED:
            yield Required(waiting.task.id, REVIEW_WORDS[waiting.wait], waiting.why, waiting.commands[0])
    for one in overview.failed:
        yield Required(one.task.id, FAILED, one.why or "", task_command("retry", one.task.id))
    for stuck in overview.stuck:
        yield Required(stuck.task.id, stuck_words(stuck), "", stuck.command)
    for task, faults in overview.stopped.items():
        yield from (Required(task.id, UNREADABLE, fault.what, fault.way_out) for fault in faults)
    yield from _left_behind(overview)


def _left_behind(overview: Overview) -> Iterator[Required]:
    """Give what a killed process left half done."""
    cut_off = overview.cut_off
    if cut_off is not None:
        yield Required(cut_off.task_id, CUT_OFF, "", cut_off.command)
    if overview.holder is None:
        for one in overview.running:
            yield Required(one.run.task_id, unwatched_words(one), "", EXECUTE)


def reviews_said(owed: Owed) -> str | None:
    """Say what the reviews of a change came to that a person is to decide on; None where there are none."""
    if owed.kind is not OwedKind.DECISION or owed.run is None or owed.run.merged_review is None:
        return None
    return f"its reviews: {overall_word(readable_merged(owed.run))}"


def decision_reason(owed: Owed) -> str | None:
    """Say why a decision is due whatever the checkpoints; None where nothing but a checkpoint asks for it."""
    is_unchanged = owed.kind is OwedKind.DECISION and owed.run is not None and owed.run.no_change
    return CHANGED_NOTHING if is_unchanged else None


def stuck_words(stuck: Stuck) -> str:
    """Say that a task is worked on or waits, and no record says why."""
    return f"{stuck.task.status.value.replace('_', ' ')}, but it has no run"


def unwatched_words(one: Running) -> str:
    """Say how a run is left whose process no command follows."""
    return UNWATCHED if one.alive else GONE

"""Action required: what is due from a person, counted, with the first of it named."""

from collections.abc import Iterator
from typing import NamedTuple

from textual.widgets import Static

from git_blackbird.controller.held_parents import REVIEW_WORDS, ReviewWait
from git_blackbird.controller.overview import Overview
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import OWED_WORDS
from git_blackbird.model.plan import Status


class Required(NamedTuple):
    """Something that waits for a person: about which task, in words, and the command that answers it."""

    task_id: TaskId
    what: str
    command: str


def required(overview: Overview) -> Iterator[Required]:
    """Give all that waits for a person, in order; a review that is merely not made yet waits for nobody."""
    for owed in overview.owed:
        yield Required(owed.task.id, OWED_WORDS[owed.kind].format(run=owed.run_id), owed.command)
    for waiting in overview.unreviewed:
        if waiting.wait is not ReviewWait.OWED:
            yield Required(waiting.task.id, REVIEW_WORDS[waiting.wait], waiting.commands[0])


class Banner(Static):
    """Is there only when something is due."""

    def show(self, wanted: tuple[Required, ...]) -> None:
        """Show what waits for a person."""
        self.display = bool(wanted)
        if wanted:
            first = wanted[0]
            self.update(f"Action required ({len(wanted)}): {first.task_id}: {first.what}  [a] goes there")


def summary(overview: Overview) -> str:
    """Count the plan in one line."""
    counts = overview.counts
    words = [
        f"{counts[status]} {status.value.replace('_', ' ')}"
        for status in Status
        if counts[status] and status is not Status.TODO
    ]
    if counts[Status.TODO]:
        words.append(f"{counts[Status.TODO]} todo ({len(overview.ready)} ready)")
    tasks = "1 task" if overview.leaves == 1 else f"{overview.leaves} tasks"
    return f"{tasks}: {', '.join(words)}" if words else "the plan has no tasks"

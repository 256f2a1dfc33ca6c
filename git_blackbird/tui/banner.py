"""Action required: what is due from a person, counted, with one of it named."""

from collections.abc import Sequence

from textual.widgets import Static

from git_blackbird.controller.overview import Overview
from git_blackbird.controller.required import Required
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.text import clean_line


def following(waiting: Sequence[Required], here: TaskId | None) -> Required | None:
    """Give where to go from a task: to what waits first, or next."""
    places = [place for place, one in enumerate(waiting) if one.task_id == here]
    return waiting[(places[-1] + 1) % len(waiting) if places else 0] if waiting else None


class Banner(Static):
    """Is there only when something is due."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id, markup=False)
        self._said = ""

    def show(self, waiting: Sequence[Required], here: TaskId | None) -> None:
        """Count what waits for a person, and name that to which a key leads from ``here``."""
        one = following(waiting, here)
        text = "" if one is None else _said(len(waiting), one)
        if text != self._said:
            self._said = text
            self.display = bool(text)
            self.update(text)


def _said(count: int, one: Required) -> str:
    why = f"\n  {clean_line(one.why)}" if one.why else ""
    return f"Action required ({count}): {one.task_id}: {one.what}  [a] shows it{why}"


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

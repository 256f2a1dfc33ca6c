"""Action required: what is due from a person, counted, with one of it named."""

from collections.abc import Iterator, Sequence

from textual.widgets import Static

from git_blackbird.controller.overview import Overview
from git_blackbird.controller.required import Required
from git_blackbird.messages.amounts import counted
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.text import clean_line


def following(waiting: Sequence[Required], here: TaskId | None) -> Required | None:
    """Give where to go from a task: to what waits first, or next."""
    places = [place for place, one in enumerate(waiting) if one.task_id == here]
    return waiting[(places[-1] + 1) % len(waiting) if places else 0] if waiting else None


class Notice(Static):
    """Is there only when there is something to say; what it says already is not drawn again."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id, markup=False)
        self._said = ""

    def say(self, text: str) -> None:
        """Say it; "" is nothing."""
        if text != self._said:
            self._said = text
            self.display = bool(text)
            self.update(text)


class Banner(Notice):
    """What is due from a person."""

    def show(self, count: int, item: Required | None, verb: str) -> None:
        """Count what is due, and name the item that a key leads to; ``verb`` is what the key does with it."""
        self.say("" if item is None else _banner_text(count, item, verb))


class Oddities(Notice):
    """What is not as it should be, and waits for nobody."""

    def show(self, overview: Overview) -> None:
        """Count it; what there is to say of each, ``status`` says."""
        odd = ", ".join(_oddities(overview))
        self.say(f"{odd}: `git blackbird status` says more" if odd else "")


def _oddities(overview: Overview) -> Iterator[str]:
    if overview.unreadable:
        yield counted(len(overview.unreadable), "unreadable record")
    if overview.unconfirmed:
        yield counted(len(overview.unconfirmed), "record") + " that nobody confirmed"
    if overview.drift:
        differing = next(iter(overview.drift)) if len(overview.drift) == 1 else f"{len(overview.drift)} tasks"
        yield f"plan and records differ on {differing}"
    if overview.elsewhere:
        yield f"{counted(len(overview.elsewhere), 'decision')} on tasks of another plan"
    settings = [problem for problem in overview.problems if not problem.fatal]
    if settings:
        yield counted(len(settings), "remark") + " on the configuration ([c])"


def _banner_text(count: int, item: Required, verb: str) -> str:
    why = f"\n  {clean_line(item.why)}" if item.why else ""
    return f"Action required ({count}): {item.task_id}: {item.what}  [a] {verb} it{why}"


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
    return f"{counted(overview.leaves, 'task')}: {', '.join(words)}" if words else "the plan has no tasks"

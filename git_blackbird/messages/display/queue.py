"""An item of the queue in text, as every interface shows it."""

from collections.abc import Iterator, Sequence

from git_blackbird.messages.display.format import question_line, unblocks_text
from git_blackbird.messages.document import Line, Span, Style, line
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.change.stages import Due
from git_blackbird.model.rules.queue import PENDING, Flagged, Item, Questions
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.history import RecordError


def item_words(item: Item) -> str:
    """Return what is due, and how much the answer unblocks."""
    return f"{item.words}{unblocks_text(item.unblocks)}"


def reviews_text(item: Item) -> str | None:
    """Summarize the reviews of a change that a person is to decide on; None if there are none."""
    if item.due is not Due.DECIDE or item.run is None or item.run.merged_review is None:
        return None
    from git_blackbird.messages.display.reviews import overall_word  # most changes have none

    return f"its reviews: {overall_word(merged_or_none(item.run))}"


def why_text(item: Item) -> str:
    """Return what its reviews or its record say of it; "" where nothing does."""
    return reviews_text(item) or item.why or ""


def due_lines(items: Sequence[Item]) -> Iterator[Line]:
    """Yield what is due of a task: what the first of its items is in a line, and below it all of them."""
    task = items[0].task
    name = Span(task.id, Style.HEADING)
    yield line(name, "  ", task.title, f": {item_words(items[0])}", gives_way=2)
    for item in items:
        yield from (one.behind("    ") for one in item_lines(item))


def item_lines(item: Item) -> Iterator[Line]:
    """Yield what there is to know of an item, and the commands that answer it."""
    match item.details:
        case Questions(questions):
            yield from (line(question_line(question), gives_way=0) for question in questions)
        case RecordError():
            yield line(item.command)
            return
        case Flagged() as flagged:
            if item.why and item.due is not Due.REVIEW_PARENT:
                yield line(item.why, gives_way=0)
            if flagged.skipped:
                yield line(f"skipped: {', '.join(flagged.skipped)}", gives_way=0)
            yield from (line(step) for step in flagged.commands)
            return
        case _:
            pass
    if verdict := reviews_text(item):
        yield line(f"{verdict} (", TaskCommand("review show", item.task.id), ")")
    if item.why:
        yield line(item.why) if item.due in PENDING else line(item.why, gives_way=0)
    yield line(item.command)

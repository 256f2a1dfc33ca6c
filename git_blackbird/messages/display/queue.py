"""An item of the queue in text, as every interface shows it."""

from git_blackbird.messages.display.format import unblocks_text
from git_blackbird.model.change.stages import Due
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.reviews import merged_or_none


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

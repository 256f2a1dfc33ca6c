"""What a person is asked about a plan that an agent has proposed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.messages.display.dialogue import WriteRequest
from git_blackbird.messages.document import Line
from git_blackbird.model.base.sanitize import clean_line


class PlanChoice(StrEnum):
    """What becomes of a proposal."""

    ACCEPT = "accept"
    REVISE = "revise"
    EDIT = "edit"
    CANCEL = "cancel"


class PlanReply(NamedTuple):
    """The answer of a person; ``text`` is what the agent is to do otherwise."""

    choice: PlanChoice
    text: str = ""


class PlanOffer(NamedTuple):
    """A line of the list of choices."""

    choice: PlanChoice
    label: str
    digit: str
    blocked_reason: str | None = None


@dataclass(frozen=True)
class PlanPanel:
    """A proposal as it is shown; ``obstacle`` says why it cannot be accepted, ``has_page`` whether edited."""

    lines: tuple[Line, ...]
    obstacle: str | None = None
    has_page: bool = True

    @property
    def offers(self) -> tuple[PlanOffer, ...]:
        """The choices; the first, under the cursor, changes nothing."""
        no_page = None if self.has_page else "there is no page to edit"
        return (
            PlanOffer(PlanChoice.CANCEL, "Stop here; the proposal is kept, nothing is changed", "0"),
            PlanOffer(PlanChoice.ACCEPT, "Accept it", "1", self.obstacle),
            PlanOffer(PlanChoice.REVISE, "Say what should be different", "2"),
            PlanOffer(PlanChoice.EDIT, "Edit it as a page, which saves it", "3", no_page),
        )

    def find(self, typed: str) -> PlanOffer | None:
        """Return the choice that was typed, by its digit or name; nothing is the first."""
        words = typed.strip().lower()
        found = (one for one in self.offers if words in {one.digit, one.choice.value})
        return next(found, None) if words else self.offers[0]


REVISION = WriteRequest(None, "", "", "What should be different in the plan?")


def blocked_words(offer: PlanOffer) -> str:
    """Say why a choice is not possible; "" where it is."""
    return "" if offer.blocked_reason is None else f" (not possible: {clean_line(offer.blocked_reason)})"

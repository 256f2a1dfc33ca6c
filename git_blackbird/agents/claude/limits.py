"""The event with which Claude Code tells how much is left of the usage limits."""

from typing import Annotated, Literal

from pydantic.alias_generators import to_camel

from git_blackbird.model.base.lenient import Amount, Fallback, Flag, Lenient, Part, Text, Valid

_REJECTED = "rejected"


class LimitWindow(Lenient, alias_generator=to_camel):
    """A period for which there is a usage limit; ``resets_at`` in seconds since 1970."""

    status: Text
    resets_at: Amount


class LimitInfo(LimitWindow):
    """The usage limits: the window that decides, all of them, and whether what is paid for beyond is used."""

    overage_status: Text
    is_using_overage: Flag
    unified_windows: Annotated[dict[str, Valid[LimitWindow]], Fallback({})]

    @property
    def is_rejected(self) -> bool:
        """Whether a request was refused; any other status comes with requests that were answered."""
        is_overage_rejected = self.overage_status == _REJECTED and self.is_using_overage
        return self.status == _REJECTED or bool(is_overage_rejected)

    @property
    def over_at(self) -> float | None:
        """When every window that rejected is over, in seconds since 1970; None if that is not said."""
        windows = self.unified_windows.values()
        rejecting = [each.resets_at for each in windows if each.status == _REJECTED and each.resets_at]
        return max(rejecting, default=self.resets_at)


class LimitEvent(Lenient):
    """How much is left of the usage limits; printed with each answer of the server."""

    type: Literal["rate_limit_event"]
    rate_limit_info: Part[LimitInfo]

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
    """The usage limits: the window that decides, all of them, and what is paid for beyond them."""

    rate_limit_type: Text
    overage_status: Text
    overage_resets_at: Amount
    is_using_overage: Flag
    unified_windows: Annotated[dict[str, Valid[LimitWindow]], Fallback({})]

    @property
    def is_rejected(self) -> bool:
        """Whether a request was refused; any other status comes with requests that were answered."""
        return self.status == _REJECTED or self._is_overage_rejected

    @property
    def _is_overage_rejected(self) -> bool:
        return self.overage_status == _REJECTED and bool(self.is_using_overage)

    @property
    def over_at(self) -> float | None:
        """When every window that rejected is over, in seconds since 1970; None if that is not said."""
        windows = self.unified_windows
        rejecting = [each.resets_at or 0.0 for each in windows.values() if each.status == _REJECTED]
        if self._is_overage_rejected and self.overage_resets_at:
            rejecting.append(self.overage_resets_at)
        decisive = windows[self.rate_limit_type].resets_at if self.rate_limit_type in windows else None
        return max(rejecting, default=0.0) or decisive or self.resets_at


class LimitEvent(Lenient):
    """How much is left of the usage limits; printed with each answer of the server."""

    type: Literal["rate_limit_event"]
    rate_limit_info: Part[LimitInfo]

"""The tests that a check ran on one tree."""

from collections.abc import Mapping
from enum import StrEnum

from git_blackbird.model.base.record import Record
from git_blackbird.model.run.parts import FailedCase


class CaseState(StrEnum):
    """How a test ended. Of several results of one name the last of these counts."""

    SKIPPED = "skipped"
    PASSED = "passed"
    FAILED = "failed"


class CaseResults(Record):
    """The tests of a check on one tree, by name.

    ``flaky`` ones failed, and passed when the check ran again; ``states`` has them as passed.
    """

    states: Mapping[str, CaseState]
    failures: tuple[FailedCase, ...] = ()
    flaky: tuple[str, ...] = ()

    def named(self, state: CaseState) -> frozenset[str]:
        return frozenset(name for name, found in self.states.items() if found is state)

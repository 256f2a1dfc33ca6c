"""What is known of a change from running it: the verdicts of checks, and the tests that they ran."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import Field

from git_blackbird.clean import one_line
from git_blackbird.model.base.ids import NAME_OF_CHECK, ObjectId
from git_blackbird.model.base.record import LateModel, Record, Unmasked
from git_blackbird.model.run.states import CheckOutcome, describe_exit
from git_blackbird.model.run.summary import EditedTest

if TYPE_CHECKING:
    from git_blackbird.model.run.proof import Proof, ProvenPart


def _proof() -> "type[Proof]":
    from git_blackbird.model.run.proof import Proof

    return Proof


if TYPE_CHECKING:
    RecordedProof: TypeAlias = Proof | None
else:
    RecordedProof = Annotated[Any, LateModel(_proof)]

# A part of the name of a log.
CheckName = Annotated[str, Field(pattern=f"^{NAME_OF_CHECK}$")]
MOST_NAMED = 50
"""So many tests of one kind are named in a record; the numbers are those of all."""


class FailedCase(Record):
    """A test that failed: what its runner says of it, and the end of what stands below that."""

    name: str
    message: str | None = None
    output: str | None = None


class ComparedTests(Record):
    """The tests of a change's check against those of its base, at most ``MOST_NAMED`` of each kind by name.

    ``failing`` fail because of the change, ``as_before`` on its base as well; ``mended`` failed there.
    ``gone`` are no more, ``skipped`` ran there. ``flaky`` failed, and passed on the same tree, now or before.
    """

    ran: int
    failing: tuple[FailedCase, ...] = ()
    as_before: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    new: int = 0


_GREEN = frozenset({CheckOutcome.PASSED, CheckOutcome.FLAKY})


class CheckResult(Record):
    """The verdict of one command on one tree.

    ``name`` is that of a check beside ``check.command``, ``criterion`` the number of that of the task.
    ``part`` is a digest of what the tree has at the paths that the check depends on, if not on all of it.
    ``restored`` are files that it has as they were before the change, for another verdict on that.
    ``output`` is the end of what it printed, ``reason`` why it is ``broken`` or ``weakened``, or what else
    there is to a failure; ``exit_code`` is negative for a signal. ``prepared`` is what its files were made
    ready with, ``results`` where it leaves those of its tests, ``coverage`` where the lines that these ran.
    Where it ran more than once, ``tries`` times, output and exit code are of a run that failed.
    """

    outcome: CheckOutcome
    name: Unmasked[CheckName | None] = None
    criterion: int | None = None
    command: Unmasked[str | None] = None
    prepared: Unmasked[tuple[str, ...] | None] = None
    tree: ObjectId | None = None
    part: Unmasked[str | None] = None
    restored: tuple[str, ...] | None = None
    exit_code: int | None = None
    seconds: float | None = None
    output: str | None = None
    reason: str | None = None
    started_at: str | None = None
    results: Unmasked[tuple[str, ...] | None] = None
    coverage: Unmasked[tuple[str, ...] | None] = None
    tries: int | None = None
    tests: ComparedTests | None = None

    @property
    def title(self) -> str:
        if self.criterion is not None:
            return f"criterion $ {one_line(self.command or '', 60)}"
        return "check" if self.name is None else f"check {self.name}"

    @property
    def stream(self) -> str:
        """The name of its log."""
        return self.title.replace(" ", ".") if self.criterion is None else f"criterion.{self.criterion}"

    def weakened(self, reason: str) -> Self:
        return self.updated(outcome=CheckOutcome.WEAKENED, reason=reason)

    @property
    def ended(self) -> str:
        return describe_exit(self.exit_code)

    @property
    def has_passed(self) -> bool:
        return self.outcome in _GREEN

    @property
    def is_bare(self) -> bool:
        """Whether an exit code of 0 is all that is known, which proves nothing."""
        return self.outcome is CheckOutcome.PASSED and self.tests is None

    @property
    def label(self) -> str:
        """The verdict in a word or two."""
        return "exit 0" if self.is_bare else self.outcome.replace("_", " ")

    @property
    def words(self) -> str:
        return f"{self._words}, with protected files as before" if self.restored else self._words

    @property
    def _words(self) -> str:
        match self.outcome:
            case CheckOutcome.FLAKY:
                return f"flaky: {self.ended}, and passed when run again on the same files"
            case CheckOutcome.NOT_RUN:
                return f"not run: {self.reason}"
            case CheckOutcome.FAILED:
                return f"failed: {self.ended}" + (f", and {self.reason}" if self.reason else "")
            case CheckOutcome.WEAKENED:
                return f"weakened: {self.ended}, but {self.reason}"
            case CheckOutcome.FAILED_BEFORE:
                return f"failed before: {self.ended}, as on the base of the change"
            case CheckOutcome.BROKEN:
                return f"broken: {self.reason or 'no reason is recorded'}"
            case _:
                return self.label


class MissedLines(Record):
    """Lines that a change added to a file and no test ran, as in ``3-5,9``, and the id of its ``content``."""

    path: Unmasked[str]
    content: Unmasked[str]
    lines: Unmasked[str]


class ChangeCoverage(Record):
    """What is known of the lines that a change added.

    Tests can run ``lines`` of them, and none ran ``missed``: where those are is in ``files``, but for a few
    ``more`` of very many. ``absent`` are files of the change that no report has, of a kind of which it has
    some. ``fault`` is why less is known.
    """

    lines: int = 0
    missed: int = 0
    files: tuple[MissedLines, ...] = ()
    more: int = 0
    absent: Unmasked[tuple[str, ...]] = ()
    fault: str | None = None


class RedGreen(Record):
    """Tests that pass on the head of a change, by name, on the sources of its base.

    ``red`` ones fail there, ``green`` ones that it adds do not. ``unloaded`` ones did not run there, or miss
    a module, for a ``reason``, which says nothing of what they test.
    """

    red: tuple[str, ...] = ()
    green: tuple[str, ...] = ()
    unloaded: tuple[str, ...] = ()
    reason: str | None = None

    def joined(self, other: Self) -> Self:
        """Return what two checks say together."""
        kinds = ("red", "green", "unloaded")
        names = {kind: tuple(sorted({*getattr(self, kind), *getattr(other, kind)})) for kind in kinds}
        return self.updated(**names, reason=self.reason or other.reason)


_WORST_FIRST = (
    CheckOutcome.DUE,
    CheckOutcome.FAILED,
    CheckOutcome.BROKEN,
    CheckOutcome.FAILED_BEFORE,
    CheckOutcome.WEAKENED,
    CheckOutcome.NOT_RUN,
    CheckOutcome.FLAKY,
    CheckOutcome.PASSED,
)


class Evidence(Record):
    """What is known of a change, alone or merged, from running it: the verdict of each check on its files.

    ``edited_tests`` are files of tests from which it takes something away, ``edited_programs`` those which
    checks start, and it edits. ``red_green`` and ``proof`` are known where that was asked for.
    """

    checks: tuple[CheckResult, ...] = ()
    edited_tests: tuple[EditedTest, ...] | None = None
    edited_programs: tuple[str, ...] | None = None
    red_green: RedGreen | None = None
    coverage: ChangeCoverage | None = None
    proof: RecordedProof = None

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Validate a parsed JSON value; a check alone was all that was known once. Raises ValidationError."""
        is_check = isinstance(value, dict) and "outcome" in value
        return super().from_value({"checks": [value]} if is_check else value)

    @property
    def outcome(self) -> CheckOutcome:
        """The worst verdict; nothing that was run is none."""
        found = (check.outcome for check in self.checks)
        return min(found, key=_WORST_FIRST.index, default=CheckOutcome.NOT_RUN)

    @property
    def has_passed(self) -> bool:
        return self.outcome in _GREEN

    @property
    def has_passed_where_run(self) -> bool:
        """Whether checks were run, and each of them passed; criteria that nobody agreed to were not."""
        found = {check.outcome for check in self.checks} - {CheckOutcome.NOT_RUN}
        return bool(found) and found <= _GREEN

    @property
    def by_nothing(self) -> "Sequence[ProvenPart]":
        """The parts of the change that no check notices."""
        parts = () if self.proof is None else self.proof.parts
        return tuple(part for part in parts if part.verdict.is_by_nothing)

    @property
    def tests_first(self) -> bool | None:
        """Whether tests are known to fail without the change; None where that was not asked for."""
        return None if self.red_green is None else bool(self.red_green.red)

    @property
    def label(self) -> str:
        """The worst verdict in a word or two."""
        worst = [check for check in self.checks if check.outcome is self.outcome]
        return min(worst, key=lambda check: not check.is_bare).label if worst else "not run"

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that fail because of the change."""
        return tuple(check for check in self.checks if check.outcome is CheckOutcome.FAILED)

    @property
    def red(self) -> tuple[CheckResult, ...]:
        """The checks that speak against the change: those that fail first, then those that say too little."""
        doubtful = {CheckOutcome.FAILED_BEFORE, CheckOutcome.WEAKENED}
        return (*self.failed, *(check for check in self.checks if check.outcome in doubtful))

    @staticmethod
    def failing(checks: Sequence[CheckResult]) -> str:
        """Return which checks fail: "the check web and the check api fail"."""
        named = " and ".join(f"the {check.title}" for check in checks)
        return f"{named} {'fails' if len(checks) == 1 else 'fail'}"


DUE = Evidence(checks=(CheckResult(outcome=CheckOutcome.DUE),))


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

    @property
    def ran(self) -> int:
        """How many tests ran; skipped ones did not."""
        return sum(state is not CaseState.SKIPPED for state in self.states.values())

    def named(self, state: CaseState) -> frozenset[str]:
        return frozenset(name for name, found in self.states.items() if found is state)

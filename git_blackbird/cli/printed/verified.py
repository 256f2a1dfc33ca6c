"""Output of ``verify``."""

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.published import Decided, PublishedCheck, PublishedDecision
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.views.verified import Verification, VerifiedCommit


class CheckThere(Printed[PublishedCheck]):
    """The verdict of a check."""

    field = Fields[PublishedCheck]()
    check: str = field("Which check it is.", lambda it: it.title)
    command: str | None = field("Its command.", lambda it: it.command)
    outcome: CheckOutcome = field("The verdict.", lambda it: it.outcome)
    tests: int | None = field("How many tests ran; null where that is not known.", lambda it: it.tests)


class DecisionThere(Printed[PublishedDecision]):
    """A published decision."""

    field = Fields[PublishedDecision]()
    name: str = field("Its name, below refs/blackbird/decisions/.", lambda it: it.name)
    tag: str = field("The id of its tag.", lambda it: it.tag)
    task: TaskId = field("The task.", lambda it: it.text.task)
    run: RunId = field("The run.", lambda it: it.text.run)
    decided: Decided = field("What was decided.", lambda it: it.text.decided)
    at: str = field("When that was.", lambda it: it.text.at)
    by: str = field("Who published it, as its tag says.", lambda it: it.by)
    signed: bool = field("Whether it has a signature, good or not.", lambda it: it.is_signed)


class CommitThere(Printed[VerifiedCommit]):
    """A commit, and what holds of it."""

    field = Fields[VerifiedCommit]()
    commit: str = field("Its id.", lambda it: it.oid)
    subject: str = field("The first line of its message.", lambda it: it.subject)
    tasks: tuple[str, ...] = field("The tasks that it names.", lambda it: it.tasks)
    runs: tuple[str, ...] = field("The runs that it names.", lambda it: it.runs)
    fault: str | None = field(
        "Why its change is not what was decided on; null if it is.", lambda it: it.fault
    )
    paths: tuple[str, ...] = field("The files where it differs.", lambda it: it.paths)
    decisions: tuple[DecisionThere, ...] = field(
        "The decisions on it.", lambda it: tuple(map(DecisionThere, it.decisions))
    )
    signers: tuple[str, ...] = field("Whose signatures are good.", lambda it: it.signers)
    evidence: tuple[CheckThere, ...] = field(
        "The verdicts of checks.", lambda it: tuple(map(CheckThere, it.evidence))
    )
    evidence_counts: bool = field(
        "Whether these are of the files of this commit.", lambda it: it.has_evidence or bool(it.checked)
    )


class VerifyOutput(Printed[Verification]):
    """Which commits are what was decided on."""

    field = Fields[Verification]()
    range: str = field("The commits that were looked at.", lambda it: it.range)
    holds: bool = field("Whether all of them hold.", lambda it: it.holds)
    commits: tuple[CommitThere, ...] = field(
        "Those that name a task or a run, oldest first.", lambda it: tuple(map(CommitThere, it.commits))
    )
    unmarked: tuple[str, ...] = field(
        "The ids of those that name neither.", lambda it: tuple(each.oid for each in it.unmarked)
    )
    merges: int = field("How many merges have what git makes of their parents.", lambda it: it.merges)
    decisions: int = field("How many decisions are published here.", lambda it: it.decisions)
    broken: tuple[str, ...] = field(
        "Which decisions are gone or others than later ones say.", lambda it: it.broken
    )
    rolled_back: str | None = field(
        "Why the decisions do not continue those of --since.", lambda it: it.rolled_back
    )

"""Output of ``report``."""

from collections.abc import Mapping

from git_blackbird.cli.schema.base import BudgetView, DataOutput, View, field
from git_blackbird.cli.schema.status import ItemView
from git_blackbird.controller.queries.report import Report
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.estimate import Estimate
from git_blackbird.model.run.parts import CheckOutcome


class SpentView(View):
    """What runs took."""

    runs: int = field("How many there were, reviews included.")
    seconds: float = field("How long they took, one after the other.")
    input_tokens: int = field("Tokens read.")
    output_tokens: int = field("Tokens written.")
    cached_tokens: int = field("Of those read, how many came from a cache.")
    cost_usd: float | None = field("What they cost, as far as agents report it; null where none does.")
    unpriced: int = field("How many runs that sum lacks, since their cost is not known.")


class ReportedTaskView(View):
    """A task that was worked on."""

    task: TaskId = field("The task.", "id")
    title: str = field("Its title; empty where it left the plan.")
    status: Status | None = field("How it stands; null where it left the plan.")
    spent: SpentView = field("What its runs took.")
    check: CheckOutcome | None = field("What the user's check says of its change.")
    reviews: str | None = field("What its reviewers say of its change.")
    both_added: tuple[str, ...] = field("The paths in which it landed beside what others had added there.")
    rulings: int = field("How many questions its agents decided themselves.")
    decision: str | None = field("What was decided on it; of a parent, what its review says.")


class AgentSpentView(View):
    """What the runs of one agent took."""

    agent: str = field("The agent.")
    spent: SpentView = field("What its runs took.")


def _samples(estimate: Estimate) -> int:
    return len(estimate.samples)


def _counts(report: Report) -> dict[Status, int]:
    return {status: report.overview.counts[status] for status in Status}


class ReportOutput(DataOutput, schema_name="report"):
    """What was done, what is proven of it, what it cost, and what waits."""

    since: str | None = field("From when on; null for everything.")
    until: str = field("When it was made.")
    page: str | None = field("The file that the page was written to.")
    counts: Mapping[Status, int] = field("How many leaves of the plan have each status.", using=_counts)
    done: tuple[ReportedTaskView, ...] = field("Tasks that are done, parents included.")
    undone: tuple[ReportedTaskView, ...] = field("Tasks that were worked on and are not done.")
    checks: Mapping[CheckOutcome, int] = field(
        "How many of those done (parents apart) have which verdict of the user's check."
    )
    reviews: Mapping[str, int] = field("How many of those done have which verdict of their reviewers.")
    spent: SpentView = field("What all runs took.")
    planning: SpentView = field("What of it agents took to plan.")
    budgets: tuple[BudgetView, ...] = field(
        "Limits for the plan and the call at work, and of tasks those at work or with nothing left.",
        "overview.budgets",
    )
    agents: tuple[AgentSpentView, ...] = field("What the runs of each agent took.")
    waiting: tuple[ItemView, ...] = field(
        "What waits for a person, in the order of `status`.", "overview.waiting"
    )


class SpreadView(View):
    """A quantity that is estimated."""

    median: float = field("Half of the times it is no more than this.")
    p90: float = field("9 of 10 times it is no more than this.")


class EstimateView(View):
    """What tasks that are left will take; null where nothing is known."""

    tasks: tuple[TaskId, ...] = field("The tasks that are left.")
    jobs: int = field("How many of them are worked on at once.")
    samples: int = field("How many tasks that were done here it goes by.", using=_samples)
    runs: int = field("How many runs those took.")
    task_seconds: SpreadView | None = field("How long agents and reviewers work on one task.")
    task_cost_usd: SpreadView | None = field("What one costs; null where agents do not report it.")
    seconds: SpreadView | None = field("How long all take, without waiting for people.")
    cost_usd: SpreadView | None = field("What all cost; null where agents do not report it.")
    chain: tuple[TaskId, ...] = field("The longest chain of tasks that wait for one another.")
    chain_seconds: SpreadView | None = field("How long that takes, however many jobs there are.")


class EstimateOutput(EstimateView, DataOutput, schema_name="estimate"):
    """What is left, in time and money, going by what tasks have taken here so far."""

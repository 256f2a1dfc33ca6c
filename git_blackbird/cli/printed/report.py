"""Output of ``report``."""

from collections.abc import Mapping
from typing import Annotated

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.base import SpentBudget
from git_blackbird.cli.printed.status import QueueItem
from git_blackbird.controller.queries.report import AgentSpent, Report, ReportedTask
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.estimate import Estimate, Spread
from git_blackbird.model.rules.spending import Spent
from git_blackbird.model.run.evidence import ChangeCoverage
from git_blackbird.model.run.proof import Proof
from git_blackbird.model.run.states import CheckOutcome


class WorkedTask(Printed[ReportedTask]):
    """A task that was worked on."""

    field = Fields[ReportedTask]()
    task: TaskId = field("The task.", lambda it: it.id)
    title: str = field("Its title; empty where it left the plan.", lambda it: it.title)
    status: Status | None = field("How it stands; null where it left the plan.", lambda it: it.status)
    spent: Spent = field("What its runs took.", lambda it: it.spent)
    check: CheckOutcome | None = field("What the user's check says of its change.", lambda it: it.check)
    coverage: ChangeCoverage | None = field(
        "Which of the lines that it added tests ran.", lambda it: it.coverage
    )
    proof: Proof | None = field(
        "Which hunks of it no check notices; null where it was not proven.", lambda it: it.proof
    )
    tests_first: bool | None = field(
        "Whether tests are known to fail without its change; null where that was not asked for.",
        lambda it: it.tests_first,
    )
    reviews: str | None = field("What its reviewers say of its change.", lambda it: it.reviews)
    both_added: tuple[str, ...] = field(
        "The paths in which it landed beside what others had added there.", lambda it: it.both_added
    )
    rulings: int = field("How many questions its agents decided themselves.", lambda it: it.rulings)
    decision: str | None = field(
        "What was decided on it; of a parent, what its review says.", lambda it: it.decision
    )


class ReportOutput(Printed[Report]):
    """What was done, what is known of it, what it cost, and what waits."""

    def __init__(self, report: Report, page: str | None) -> None:
        super().__init__(report)
        self.page = page

    field = Fields[Report]()
    since: str | None = field("From when on; null for everything.", lambda it: it.since)
    until: str = field("When it was made.", lambda it: it.until)
    page: Annotated[str | None, Shown("The file that the page was written to.")]
    counts: Mapping[Status, int] = field(
        "How many leaves of the plan have each status.",
        lambda it: {status: it.overview.counts[status] for status in Status},
    )
    done: tuple[WorkedTask, ...] = field(
        "Tasks that are done, parents included.", lambda it: tuple(map(WorkedTask, it.done))
    )
    undone: tuple[WorkedTask, ...] = field(
        "Tasks that were worked on and are not done.", lambda it: tuple(map(WorkedTask, it.undone))
    )
    checks: Mapping[CheckOutcome, int] = field(
        "How many of those done (parents apart) have which verdict of the user's check.", lambda it: it.checks
    )
    coverage: ChangeCoverage = field(
        "How many lines they added, and how many of these no test ran, as far as it is known.",
        lambda it: it.coverage,
    )
    hunks: Mapping[str, int] = field(
        "How many hunks of those done have which verdict of `prove`.", lambda it: it.hunks
    )
    reviews: Mapping[str, int] = field(
        "How many of those done have which verdict of their reviewers.", lambda it: it.reviews
    )
    spent: Spent = field("What all runs took.", lambda it: it.spent)
    planning: Spent = field("What of it agents took to plan.", lambda it: it.planning)
    budgets: tuple[SpentBudget, ...] = field(
        "Limits for the plan and the call at work, and of tasks those at work or with nothing left.",
        lambda it: tuple(map(SpentBudget, it.overview.budgets)),
    )
    flaky: Mapping[str, int] = field(
        "How often tests, or checks that leave no results, failed by chance.", lambda it: it.flaky
    )
    agents: tuple[AgentSpent, ...] = field("What the runs of each agent took.", lambda it: it.agents)
    waiting: tuple[QueueItem, ...] = field(
        "What waits for a person, in the order of `status`.",
        lambda it: tuple(map(QueueItem, it.overview.waiting)),
    )


class EstimatedWork(Printed[Estimate]):
    """What tasks that are left will take; null where nothing is known."""

    field = Fields[Estimate]()
    tasks: tuple[TaskId, ...] = field("The tasks that are left.", lambda it: it.tasks)
    jobs: int = field("How many of them are worked on at once.", lambda it: it.jobs)
    samples: int = field("How many tasks that were done here it goes by.", lambda it: len(it.samples))
    runs: int = field("How many runs those took.", lambda it: it.runs)
    task_seconds: Spread | None = field(
        "How long agents and reviewers work on one task.", lambda it: it.task_seconds
    )
    task_cost_usd: Spread | None = field(
        "What one costs; null where agents do not report it.", lambda it: it.task_cost_usd
    )
    seconds: Spread | None = field("How long all take, without waiting for people.", lambda it: it.seconds)
    cost_usd: Spread | None = field(
        "What all cost; null where agents do not report it.", lambda it: it.cost_usd
    )
    chain: tuple[TaskId, ...] = field(
        "The longest chain of tasks that wait for one another.", lambda it: it.chain
    )
    chain_seconds: Spread | None = field(
        "How long that takes, however many jobs there are.", lambda it: it.chain_seconds
    )


class EstimateOutput(EstimatedWork):
    """What is left, in time and money, going by what tasks have taken here so far."""

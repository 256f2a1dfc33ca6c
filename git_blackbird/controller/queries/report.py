"""The report: what was done since a given time, what is known of it, its cost, and an estimate."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.listing import labels_by_records
from git_blackbird.controller.queries.status import StatusReport, build_overview
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.messages.display.format import format_decision
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import SECOND, format_timestamp, parse_timestamp
from git_blackbird.model.change.stages import is_taken_back
from git_blackbird.model.plan.graph import Labels
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.estimate import Estimate, Sample, estimate
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.rules.spending import Spent, spent_in, total_of
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.evidence import ChangeCoverage
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, RunStatus, RunType
from git_blackbird.storage.checks import load_flaky
from git_blackbird.storage.files import write_named

if TYPE_CHECKING:
    from git_blackbird.model.run.proof import Proof

# Clocks differ between machines: a file may seem older than what it tells of.
_SLACK_NANOSECONDS = 86_400 * SECOND
_MAX_AGE = "--max-age="


class ReportedRun(NamedTuple):
    """One run of the time that is reported; ``began`` is in nanoseconds since 1970, 0 if unknown.

    ``check`` (``verdict`` in a word), ``coverage``, ``tests_first`` and ``reviews`` are what is known of its
    change, ``decision`` is what became of it, in a word, ``rulings`` are the questions that its agent was to
    decide itself. ``both_added`` are the paths in which it landed beside what others had added there.
    """

    id: RunId
    task_id: TaskId
    run_type: RunType
    provider: str
    status: RunStatus
    began: int
    spent: Spent
    check: CheckOutcome | None
    verdict: str | None
    coverage: ChangeCoverage | None
    proof: "Proof | None"
    tests_first: bool | None
    reviews: str | None
    decision: str
    rulings: tuple[str, ...]
    both_added: tuple[str, ...]

    @property
    def is_work(self) -> bool:
        return self.run_type in {RunType.EXECUTE, RunType.MANUAL}


@dataclass(frozen=True)
class ReportedTask:
    """A task that was worked on, and its runs, oldest first; ``status`` is None if it left the plan."""

    id: TaskId
    title: str
    status: Status | None
    runs: tuple[ReportedRun, ...]
    is_leaf: bool = True
    is_taken_back: bool = False

    @cached_property
    def spent(self) -> Spent:
        return total_of(run.spent for run in self.runs)

    @property
    def last(self) -> ReportedRun | None:
        """The run with the state of its change; for a parent its review."""
        work = [run for run in self.runs if run.is_work]
        return (work or self.runs or (None,))[-1]

    @property
    def check(self) -> CheckOutcome | None:
        return None if self.last is None else self.last.check

    @property
    def verdict(self) -> str | None:
        return None if self.last is None else self.last.verdict

    @property
    def coverage(self) -> ChangeCoverage | None:
        return None if self.last is None else self.last.coverage

    @property
    def proof(self) -> "Proof | None":
        return None if self.last is None else self.last.proof

    @property
    def tests_first(self) -> bool | None:
        return None if self.last is None else self.last.tests_first

    @property
    def reviews(self) -> str | None:
        return None if self.last is None else self.last.reviews

    @property
    def decision(self) -> str | None:
        """The decision, or the verdict of a parent's review; None without either."""
        return None if self.last is None or self.last.decision == "-" else self.last.decision

    @property
    def rulings(self) -> int:
        """How many questions its agents were to decide themselves."""
        return len({prompt for run in self.runs for prompt in run.rulings})

    @property
    def both_added(self) -> tuple[str, ...]:
        """The paths in which its change landed beside what others had added there."""
        return () if self.last is None else self.last.both_added


class AgentSpent(NamedTuple):
    """What the runs of one agent took."""

    agent: Annotated[str, Shown("The agent.")]
    spent: Annotated[Spent, Shown("What its runs took.")]


@dataclass(frozen=True)
class Report:
    """The report on one worktree from ``since``, None for all of it, until ``until``.

    ``tasks`` are in plan order, those that left the plan last; ``agents`` begin with the dearest.
    ``planning`` is what agents took to plan, which is part of what was spent. ``flaky`` is how often tests,
    or checks that leave no results, failed by chance, most often first.
    """

    repository: str
    since: str | None
    until: str
    plan: Plan
    labels: Labels
    overview: StatusReport
    tasks: tuple[ReportedTask, ...]
    agents: tuple[AgentSpent, ...]
    planning: Spent
    faults: tuple[RecordError, ...]
    flaky: Mapping[str, int]

    @property
    def done(self) -> tuple[ReportedTask, ...]:
        """The tasks that are done, and the parents."""
        return tuple(task for task in self.tasks if task.status is Status.DONE)

    @property
    def done_leaves(self) -> tuple[ReportedTask, ...]:
        """The tasks that are done, without parents, on which nobody works."""
        return tuple(task for task in self.done if task.is_leaf)

    @property
    def undone(self) -> tuple[ReportedTask, ...]:
        return tuple(task for task in self.tasks if task.status is not Status.DONE)

    @property
    def spent(self) -> Spent:
        return total_of(part.spent for part in self.agents)

    @property
    def checks(self) -> Mapping[CheckOutcome, int]:
        """The number of done tasks with each verdict of the user's check."""
        found = [task.check for task in self.done_leaves]
        return {outcome: found.count(outcome) for outcome in CheckOutcome if outcome in found}

    @property
    def coverage(self) -> ChangeCoverage:
        """How many lines done tasks added and how many of them no test ran, as far as that is known."""
        known = [task.coverage for task in self.done_leaves if task.coverage is not None]
        return ChangeCoverage(
            lines=sum(each.lines for each in known), missed=sum(each.missed for each in known)
        )

    @property
    def hunks(self) -> Mapping[str, int]:
        """How many hunks of done tasks have each verdict of ``prove``, as far as that is known."""
        known = Counter[str]()
        for task in self.done_leaves:
            counts = {} if task.proof is None else task.proof.counts
            known.update({str(verdict): count for verdict, count in counts.items()})
        return known

    @property
    def reviews(self) -> Mapping[str, int]:
        """The number of done tasks with each verdict of their reviewers."""
        found = [task.reviews for task in self.done_leaves if task.reviews is not None]
        return {verdict: found.count(verdict) for verdict in sorted(set(found))}


def build_report(workspace: Workspace, since: str | None = None) -> Report:
    """Report on everything that began, ended or was decided ``since`` a time, in git's words.

    Raises RequestError for a time that is none, UnusableError when there is no plan to be read.
    """
    now = workspace.environment.timestamp()
    moment = None if since is None else parse_since(workspace, since)
    state = workspace.plan_state()
    overview = build_overview(workspace, state)
    reading = _read_records(workspace, now, moment or 0)
    return Report(
        repository=workspace.paths.state_root.name,
        since=None if moment is None else format_timestamp(moment),
        until=now,
        plan=state.plan,
        labels=labels_by_records(state),
        overview=overview,
        tasks=tuple(_tasks(state, reading)),
        agents=_agents(reading),
        planning=total_of(run.spent for run in reading.runs.get(PLANNING, ())),
        faults=tuple(dict.fromkeys((*overview.unreadable, *reading.faults))),
        flaky=load_flaky(workspace.paths),
    )


def reported_tasks(workspace: Workspace, state: PlanState) -> tuple[ReportedTask, ...]:
    """Return every task that was ever worked on or done, as a report of all of it has them."""
    return tuple(_tasks(state, _read_records(workspace, workspace.environment.timestamp(), 0)))


def _read_records(workspace: Workspace, now: str, since: int) -> "_Reading":
    reading = _Reading(now, since)
    for found in workspace.store.records.written_since(since - _SLACK_NANOSECONDS):
        reading.take(found)
    return reading


def parse_since(workspace: Workspace, when: str) -> int:
    """Return the moment that git reads in a text, as ``git log --since`` does, in nanoseconds.

    Raises RequestError where that is not in the past: what git cannot read, it takes for now.
    """
    now = workspace.environment.now()
    said = workspace.repo.git("rev-parse", f"--since={when}").answer("replace")
    seconds = said.removeprefix(_MAX_AGE)
    moment = int(seconds) * SECOND if seconds.isdecimal() else now
    if moment // SECOND >= now // SECOND:
        raise RequestError(
            f"git reads no time in the past in {quoted(when)}",
            hint="for instance yesterday, midnight, '2 days ago', 2026-01-31 or '2026-01-31 18:00'",
        )
    return moment


def save_page(workspace: Workspace, name: str, page: str) -> Path:
    """Write a page to a file of the user's, a plain one whole or not at all. Raises UnusableError."""
    path = workspace.environment.cwd / name
    try:
        write_named(path, page.encode(errors="replace"))
    except OSError as error:
        raise UnusableError(f"cannot write {name}: {error.strerror}") from error
    return path


class _Reading:
    """Collects the reported parts while records are read."""

    def __init__(self, now: str, since: int) -> None:
        self._now = now
        self._since = since
        self.runs: dict[TaskId, list[ReportedRun]] = {}
        self.faults: list[RecordError] = []

    def take(self, found: Run | RecordError) -> None:
        if isinstance(found, RecordError):
            self.faults.append(found)
        elif found.status is RunStatus.RUNNING or _last_moment(found) >= self._since:
            self.runs.setdefault(found.task_id, []).append(_reported(found, self._now))

    def is_reported(self, timestamp: str) -> bool:
        return _moment(timestamp) >= self._since

    def sorted_runs(self, task_id: TaskId) -> tuple[ReportedRun, ...]:
        return tuple(sorted(self.runs.get(task_id, ()), key=lambda run: (run.began, run.id)))


def _last_moment(run: Run) -> int:
    times = (run.started_at, run.completed_at, run.decision_resolved_at, run.landed_at, run.undone_at)
    return max(_moment(text) for text in times)


def _moment(text: str | None) -> int:
    try:
        return parse_timestamp(text or "")
    except ValueError:
        return 0


def _reported(run: Run, now: str) -> ReportedRun:
    return ReportedRun(
        run.id,
        run.task_id,
        run.run_type,
        run.provider,
        run.status,
        _moment(run.started_at),
        spent_in(run, now),
        None if run.evidence is None else run.evidence.outcome,
        None if run.evidence is None else run.evidence.label,
        run.coverage,
        None if run.evidence is None else run.evidence.proof,
        None if run.evidence is None else run.evidence.tests_first,
        None if run.merged_review is None else overall_word(merged_or_none(run)),
        format_decision(run),
        tuple(ruling.question.prompt for ruling in run.rulings),
        run.landing_additions if run.has_landed else (),
    )


def _tasks(state: PlanState, reading: _Reading) -> Iterator[ReportedTask]:
    plan = state.plan
    for _, task in plan.walk():
        if task.id in reading.runs or _was_done_by_hand(state, task, reading):
            yield ReportedTask(
                task.id,
                task.title,
                task.status,
                reading.sorted_runs(task.id),
                is_leaf=task.is_leaf,
                is_taken_back=is_taken_back(task.status, state.history(task.id).latest),
            )
    for task_id in sorted(reading.runs.keys() - plan.tasks.keys() - {PLANNING}):
        yield ReportedTask(task_id, "", None, reading.sorted_runs(task_id))


def _was_done_by_hand(state: PlanState, task: Task, reading: _Reading) -> bool:
    is_done = task.is_leaf and task.status is Status.DONE
    return is_done and task.id not in state.histories and reading.is_reported(task.updated_at)


def _agents(reading: _Reading) -> tuple[AgentSpent, ...]:
    parts: dict[str, list[Spent]] = {}
    for run in (run for runs in reading.runs.values() for run in runs):
        parts.setdefault(run.provider, []).append(run.spent)
    totals = [AgentSpent(agent, total_of(spent)) for agent, spent in parts.items()]
    return tuple(sorted(totals, key=lambda one: (-(one.spent.cost_usd or 0), -one.spent.tokens, one.agent)))


def build_estimate(workspace: Workspace, task_ids: Collection[TaskId] | None = None) -> Estimate:
    """Estimate the time and cost of these leaves, or of all that are left.

    Raises UnusableError where no plan is there.
    """
    state, config = workspace.plan_state(), workspace.config
    plan = state.plan
    left = [leaf for leaf in plan.leaves() if (not leaf.is_over if task_ids is None else leaf.id in task_ids)]
    worked_on = reported_tasks(workspace, state)
    samples = []
    for task in worked_on:
        # Where no agent worked on it last, nothing is known.
        if task.is_leaf and task.status is Status.DONE and task.last is not None and task.last.is_work:
            is_known = all(run.spent.cost_usd is not None for run in task.runs)
            cost = task.spent.cost_usd if is_known else None
            samples.append(Sample(task.last.provider, task.spent.runs, task.spent.seconds, cost))
    return estimate(plan, left, samples, config.agent, config.execution.jobs)

"""Stories of budgets: what starts below them, what is paused at them, and goes on once they are raised."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from git_blackbird.controller.change.stops import budget_stop, execute_again
from git_blackbird.controller.core.workspace import Workspace, hold_controller, lock_holder
from git_blackbird.controller.engine.commands import ResumeRequest, execute_loop, restart_loop, resume_loop
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.launch.ledger import Ledger
from git_blackbird.controller.planning.session import PlanSession
from git_blackbird.controller.queries.status import read_budgets
from git_blackbird.messages.display.quantities import budget_text, enough_text
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope, BudgetUnit
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.model.views.events import Event, RunEnded, RunProgress, RunStarted
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    run_to_stop,
    runs_of,
    status,
)
from tests.support import commit

# Each message has 1000 tokens, and each end costs 40 cents. A prompt with "long" is worked on until the
# program is stopped, unless it is resumed; one with "twice" has two messages.
CLAUDE = """#!/bin/sh
case "$1" in
    -p) ;;
    --help) echo "--print --output-format --verbose --session-id --resume --permission-mode"; exit 0;;
    *) echo "2.1.329 (Claude Code)"; exit 0;;
esac
prompt=$(cat) said=0
for word; do
    case "$last" in
        --session-id|--resume) session=$word;;
        --max-budget-usd) echo "$BLACKBIRD_TASK_ID $word" >>{place}/allowed;;
    esac
    last=$word
done
usage() {{ printf '"usage":{{"input_tokens":%s00,"output_tokens":%s00}},' $((said * 9)) $said; }}
say() {{
    said=$((said + 1))
    printf '{{"type":"assistant","message":{{"id":"%s","usage":' $said
    printf '{{"input_tokens":900,"output_tokens":100}},"content":[{{"type":"text","text":"hm"}}]}}}}\\n'
}}
finish() {{
    printf '{{"type":"result","session_id":"%s","total_cost_usd":0.4,"result":"ok",' "$session"
    usage
    printf '"subtype":"%s","is_error":%s}}\\n' "$1" "$2"
}}
printf '{{"type":"system","subtype":"init","session_id":"%s"}}\\n' "$session"
echo x >>"$BLACKBIRD_TASK_ID.txt"
trap 'finish error_during_execution true; exit 0' INT
say
case "$prompt" in *twice*) say;; esac
case "$*$prompt" in
    *--resume*) ;;
    *long*) while :; do sleep 0.05; done;;
esac
finish success false
"""


RAISES = "# raises it in this clone; leaves as much again as was spent"


@pytest.fixture
def project(repo: Path) -> Path:
    """A repository whose agent is a Claude Code that says what it spends while it works."""
    commit(repo, {"a.txt": "one\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    fake = repo.parent / "claude"
    fake.write_text(CLAUDE.format(place=repo.parent))
    fake.chmod(0o755)
    configure(repo, agent="claude", claude__path=str(fake), execution__stopGraceSeconds="1")
    return repo


def only_run(repo: Path, task_id: str) -> Run:
    (run,) = runs_of(repo, task_id)
    return run


def perform(repo: Path, prepare: Callable[[Workspace, Person], Loop]) -> Stop:
    workspace, person = open_at(repo), Person()
    return run_to_stop(workspace, prepare(workspace, person))


def test_a_run_is_paused_at_the_hard_limit_and_goes_on_in_the_next_call(project: Path) -> None:
    put_plan(project, leaf("a", "a long one"), leaf("b"))
    configure(project, budget__call__tokens="1000")
    stop = execute(project)
    assert (stop.reason, stop.exit_code) == (StopReason.BUDGET_SPENT, 4)
    assert stop.text == "the budget of the call is spent: 1.0k tokens of 1.0k"
    assert stop.next_steps == (
        "git blackbird execute --budget tokens=2100    # has a budget of its own",
        f"git blackbird config budget.call.tokens 2100    {RAISES}",
    )
    run = only_run(project, "a")
    assert (run.status, run.terminal_reason) == (RunStatus.PAUSED, TerminalReason.BUDGET)
    assert run.notes == (stop.text,)
    assert (run.cost_usd, run.usage and run.usage.output_tokens) == (0.4, 100)
    assert [status(project, task) for task in "ab"] == [Status.WAITING_USER, Status.TODO]

    configure(project, budget__call__tokens="1001")
    assert execute(project).reason is StopReason.COMPLETED
    first, resumed = runs_of(project, "a")
    assert (resumed.resumes, resumed.provider_session_ref) == (first.id, first.provider_session_ref)
    assert [status(project, task) for task in "ab"] == [Status.DONE, Status.DONE]


@pytest.mark.exhaustive
def test_one_task_stops_at_its_budget_and_the_others_go_on(project: Path) -> None:
    put_plan(project, leaf("a", "a long one, twice"), leaf("b"), leaf("c", deps=["a"]))
    configure(project, budget__task__tokens="1500", execution__jobs="2")
    stop = execute(project)
    assert (stop.reason, stop.exit_code) == (StopReason.BUDGET_SPENT, 4)
    assert stop.text == "the budget of a is spent: 2.0k tokens of 1.5k"
    assert stop.next_steps == (
        f"git blackbird config budget.task.tokens 4100    {RAISES}",
        "git blackbird execute    # goes on then",
    )
    assert [status(project, task) for task in "abc"] == [Status.WAITING_USER, Status.DONE, Status.TODO]
    assert execute(project).text == stop.text
    assert len(runs_of(project, "a")) == 1

    before = open_at(project)
    configure(project, budget__task__tokens="10000")
    lines = Ledger(before).spent_lines(TaskId("a"))
    raised = budget_stop(before, lines, execute_again(None)).next_steps
    assert raised == ("git blackbird execute    # with the budget as it is by now",)
    assert execute(project).reason is StopReason.COMPLETED
    assert [len(runs_of(project, task)) for task in "abc"] == [2, 1, 1]


@pytest.mark.parametrize("scope", BudgetScope)
def test_the_budget_that_is_advised_suffices_for_another_run(project: Path, scope: BudgetScope) -> None:
    put_plan(project, leaf("a", "a long one"))
    configure(project, **{f"budget__{scope}__tokens": "1"})
    stop = execute(project)
    assert stop.reason is StopReason.BUDGET_SPENT
    key = f"budget.{scope}.tokens"
    (command,) = (step.command for step in stop.next_steps if isinstance(step, ShellLine) and key in step)
    configure(project, **{f"budget__{scope}__tokens": command.removeprefix(f"git blackbird config {key} ")})
    assert execute(project).reason is StopReason.COMPLETED


@pytest.mark.parametrize(
    ("unit", "limit", "spent", "enough"),
    [
        (BudgetUnit.TOKENS, 1000, 586_123, "1200000"),
        (BudgetUnit.TOKENS, 1000, 1000, "2100"),
        (BudgetUnit.TOKENS, 1, 1, "3"),
        (BudgetUnit.USD, 0.4, 0.4, "0.81"),
        (BudgetUnit.USD, 0.01, 0.01, "0.03"),
        (BudgetUnit.USD, 5, 5.17, "11.00"),
        (BudgetUnit.MINUTES, 1, 1.02, "3"),
        (BudgetUnit.MINUTES, 90, 90.3, "190"),
    ],
)
def test_enough_is_more_than_twice_what_was_spent(
    unit: BudgetUnit, limit: float, spent: float, enough: str
) -> None:
    assert enough_text(BudgetLine(BudgetScope.PLAN, unit, limit, spent, {})) == enough


def test_nothing_starts_over_what_a_task_left_at_its_budget_in_place(project: Path) -> None:
    put_plan(project, leaf("a", "a long one"), leaf("b"))
    configure(project, budget__task__tokens="1000")
    assert execute(project).text == "the budget of a is spent: 1.0k tokens of 1.0k"
    assert status(project, "b") is Status.TODO
    assert execute(project, None, "b").reason is StopReason.COMPLETED


def test_two_jobs_share_the_budget_of_their_call(project: Path) -> None:
    put_plan(project, leaf("a", "long"), leaf("b", "long"), leaf("c"))
    configure(project, budget__call__tokens="2000", execution__jobs="2")
    stop = execute(project)
    assert stop.text == "the budget of the call is spent: 2.0k tokens of 2.0k"
    paused = [only_run(project, task) for task in "ab"]
    assert [run.terminal_reason for run in paused] == [TerminalReason.BUDGET] * 2
    assert not runs_of(project, "c")


def test_what_the_plan_has_cost_is_known_to_every_later_call(project: Path) -> None:
    put_plan(project, parent_of("p", ["a", "b"]), leaf("a", parent="p"), leaf("b", parent="p"), leaf("z"))
    configure(project, budget__plan__usd="0.5")
    execute(project, limit=1)
    stop = execute(project)
    assert [status(project, task) for task in "abz"] == [Status.DONE, Status.DONE, Status.TODO]
    assert stop.text == "the budget of the plan is spent: 0.80 USD of 0.50"
    allowed = (project.parent / "allowed").read_text().splitlines()
    assert allowed == ["a 0.5000", "b 0.1000"]
    assert execute(project).text == stop.text
    assert not runs_of(project, "p")

    configure(project, budget__plan__usd="20")
    execute(project)
    reviews = len(runs_of(project, "p"))
    assert reviews > 0
    assert Ledger(open_at(project)).usd_left(TaskId("z")) == pytest.approx(20 - 0.4 * (2 + reviews))


def test_what_a_person_starts_by_name_is_held_to_the_budget_too(project: Path) -> None:
    put_plan(project, leaf("a", "a long one"))
    configure(project, budget__task__tokens="1000")
    execute(project)
    text = "the budget of a is spent: 1.0k tokens of 1.0k"
    for prepare in (
        lambda workspace, ui: resume_loop(workspace, ui, ResumeRequest("a")),
        lambda workspace, ui: restart_loop(workspace, ui, "a", None),
        lambda workspace, ui: execute_loop(workspace, ui, ["a"], None),
    ):
        stop = perform(project, prepare)
        assert (stop.reason, stop.text, stop.next_steps[-1]) == (
            StopReason.BUDGET_SPENT,
            text,
            "git blackbird execute a    # goes on then",
        )
    assert only_run(project, "a").status is RunStatus.PAUSED


def test_planning_counts(project: Path) -> None:
    put_plan(project, leaf("a"))
    configure(project, budget__plan__usd="0.4")
    execute(project)
    workspace = open_at(project)
    session = PlanSession(workspace, Person(), PlanRequest(PlanKind.REFINE, "more"), accepts=True)
    with hold_controller(workspace, "test"):
        planned = asyncio.run(session.run()).stop
    assert planned.text == "the budget of the plan is spent: 0.40 USD of 0.40"
    assert planned.next_steps[-1] == "git blackbird plan refine    # goes on then; or -m TEXT"


@dataclass
class Waiting(Person):
    """A person for whom an hour passes whenever an agent is seen to work."""

    hours: int = 0
    started: list[str] = field(default_factory=list)

    def notify(self, event: Event) -> None:
        super().notify(event)
        self.hours += isinstance(event, RunProgress)
        self.started += [event.task_id] if isinstance(event, RunStarted) else []


def test_minutes_count_whatever_an_agent_reports(project: Path) -> None:
    put_plan(project, leaf("a"), leaf("b"))
    run = "echo at work; until [ -e {} ]; do sleep 0.01; done".format(project.parent / "never")
    configure(project, agent="command", command__run=run, budget__plan__minutes="30", budget__plan__usd="5")
    person, workspace = Waiting(), open_at(project)
    begin = workspace.environment.now()
    clock = workspace.environment._replace(now=lambda: begin + person.hours * 3600 * 10**9)
    workspace = replace(workspace, environment=clock)
    stop = run_to_stop(workspace, execute_loop(workspace, person, [], None))
    assert stop.text == "the budget of the plan is spent: 60.0 minutes of 30"
    assert person.started == ["a"]
    assert only_run(project, "a").terminal_reason is TerminalReason.BUDGET


@dataclass
class Reader(Person):
    """Somebody who looks at the budgets whenever a run has ended."""

    repo: Path = Path()
    seen: list[str] = field(default_factory=list)

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, RunEnded):
            workspace = by_the_clock(self.repo)
            budgets = read_budgets(workspace, workspace.plan_state(), lock_holder(workspace))
            self.seen += map(budget_text, budgets)


def by_the_clock(repo: Path) -> Workspace:
    workspace = open_at(repo)
    return replace(workspace, environment=workspace.environment._replace(now=time.time_ns))


def test_readers_see_what_the_call_at_work_has_spent(project: Path) -> None:
    put_plan(project, *(leaf(name) for name in "abc"))
    configure(project, budget__call__usd="9", budget__plan__usd="20", budget__task__usd="0.4")
    for limit in (1, 2):
        workspace, person = by_the_clock(project), Reader(repo=project)
        run_to_stop(workspace, execute_loop(workspace, person, [], limit))
    plan, call = "{} USD of 20.00", "{} USD of 9.00"
    assert person.seen == [plan.format("0.80"), call.format("0.40"), plan.format("1.20"), call.format("0.80")]


def test_reviews_of_a_change_wait_for_a_budget(project: Path) -> None:
    put_plan(project, leaf("a", "write a.out x"), leaf("b", "write b.out x"))
    configure(project, agent="demo", reviews__mode="parallel", budget__call__tokens="1")
    stop = execute(project)
    assert stop.reason is StopReason.BUDGET_SPENT
    assert not [run for run in runs_of(project, "a") if run.is_review]
    assert status(project, "a") is Status.IN_PROGRESS
    assert not runs_of(project, "b")
    configure(project, budget__call__tokens="1000000")
    execute(project)
    assert [status(project, task) for task in "ab"] == [Status.DONE, Status.DONE]

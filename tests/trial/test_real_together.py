"""All real agents in one plan: through a limit, a budget and a kill, each task is done and paid once."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from json import loads
from pathlib import Path

import pytest

from git_blackbird.model.base.timestamps import parse_timestamp
from tests.records import fact
from tests.standin.install import NEWEST, find_program
from tests.standin.real import model_of
from tests.standin.server import INPUT_TOKENS, OUTPUT_TOKENS, Reply, StandIn
from tests.support import PATIENCE_SECONDS, commit, wait_until
from tests.trial.program import Trial
from tests.trial.real_trial import assert_one_session, enlist

AGENTS = {
    "one": "claude",
    "two": "codex",
    "three": "opencode",
    "four": "gemini",
    "five": "claude",
    "six": "codex",
}
PAGE = "\n".join(
    f"## {task.title()}\nagent: {agent}\n{'after: Two, Four' * (task == 'six')}\n\nWrite {task}.py.\n"
    for task, agent in AGENTS.items()
)
# How the first run of a task ends, where another one goes on in its session.
ENDS = {"one": "agent_unavailable", "two": "controller_lost", "three": "budget", "four": "controller_lost"}
KILLED = ("two", "four")
PAUSED = {"one", "three"}
EXECUTE = ("execute", "--jobs", "3", "--no-input")
# What the model answers: work and words, and two steps more up to the budget.
ANSWERS = {task: 4 if task == "three" else 2 for task in AGENTS}
STEP_TOKENS = INPUT_TOKENS + OUTPUT_TOKENS
MINUTE = 60 * 10**9
# Its clock is slow: however long a test takes, a minute is over once there is a file.
PROGRAM = """
import sys, time
from pathlib import Path
from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment

later, began = Path(sys.argv[1]), int(sys.argv[2])

def now():
    return began + (time.time_ns() - began) // 100 + 2 * 60 * 10**9 * later.exists()

sys.exit(main(sys.argv[3:], lambda: system_environment()._replace(now=now)))
"""


@dataclass
class Story:
    """The program by a clock of ours, with the models of its agents."""

    trial: Trial
    later: Path
    models: Mapping[str, StandIn]
    began: int = field(default_factory=time.time_ns)
    lines: list[str] = field(default_factory=list)

    @property
    def limit_ends(self) -> int:
        """The first second that is a minute and a bit after the beginning."""
        return (self.began + MINUTE) // 10**9 + 2

    def script(self, task: str, *replies: Reply | str, wait: Callable[[], object] | None = None) -> None:
        """Let the agent of a task add a line to a file, and then go on with these replies."""
        model = self.models[AGENTS[task]]
        work = Reply("I write.", (model.dialect.shell(f"echo 1 >>{task}.py"),), wait=wait)
        model.tell_part(prompt(task), work, *replies)

    @contextmanager
    def executing(self) -> Iterator[Iterator[str]]:
        """Yield the lines of a call within patience; then the program is killed, if it has not ended."""
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(self.later), str(self.began), *EXECUTE],
            cwd=self.trial.repo,
            env=self.trial.all_variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        impatience = threading.Timer(PATIENCE_SECONDS, process.kill)
        impatience.start()
        try:
            yield self._heard(process)
        finally:
            impatience.cancel()
            process.kill()
            process.communicate()

    def _heard(self, process: subprocess.Popen[str]) -> Iterator[str]:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line.rstrip())
            yield self.lines[-1]

    def execute_to_the_middle(self) -> None:
        """Execute, and kill the program once nothing happens but that two agents are at work."""
        with self.executing() as lines:
            paused = (line.split()[0] for line in lines if " is paused: " in line)
            assert {next(paused, ""), next(paused, "")} == PAUSED, self.lines
            wait_until(lambda: all(self.requests(task) == 2 for task in KILLED))

    def execute_to_the_end(self) -> None:
        """Execute, and let the time pass for which the program says that it waits."""
        with self.executing() as lines:
            for line in lines:
                if line.startswith("waiting: "):
                    self.later.touch()

    def requests(self, task: str) -> int:
        """How often the agent of a task has asked its model."""
        return len(self.models[AGENTS[task]].asked(prompt(task)))

    def answers(self, task: str) -> int:
        """How often the model has answered the agent of a task."""
        model = self.models[AGENTS[task]]
        return sum(prompt(task) in "\n".join(model.dialect.said_by_user(asked)) for asked in model.answered)


def prompt(task: str) -> str:
    return f"Write {task}.py."


@pytest.fixture
def story(repo: Path, tmp_path: Path) -> Iterator[Story]:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.init("--no-hooks")
    trial.expect(0, "add", "-", stdin=PAGE)
    trial.configure({"execution.onLimit": "wait", "budget.plan.tokens": "1000000"})
    with ExitStack() as stack:
        models = {program.agent: stack.enter_context(model_of(program)) for program in NEWEST}
        for program in NEWEST:
            enlist(trial, program, models[program.agent], tmp_path / program.agent)
        # Limits are those of a subscription.
        claude = models["claude"]
        del trial.environ[next(iter(claude.dialect.key))]
        trial.environ |= claude.subscriber_environ(tmp_path / "claude")
        yield Story(trial, tmp_path / "later", models)


@dataclass(frozen=True)
class Bill:
    """What the records of an agent's tasks say."""

    tokens: int
    costs: list[float]

    @classmethod
    def of(cls, trial: Trial, agent: str) -> "Bill":
        tasks = (task for task in AGENTS if AGENTS[task] == agent)
        records = list(chain.from_iterable(map(trial.records, tasks)))
        used = [usage for record in records if (usage := fact(record, "usage"))]
        costs = [cost for record in records if (cost := fact(record, "cost_usd")) is not None]
        return cls(sum(usage["input_tokens"] + usage["output_tokens"] for usage in used), costs)


@pytest.mark.exhaustive
@pytest.mark.real_agents
@pytest.mark.skipif(not all(map(find_program, NEWEST)), reason="not all four agents are there")
def test_six_tasks_by_four_agents_are_each_done_and_paid_once(story: Story) -> None:
    trial, models, is_raised = story.trial, story.models, threading.Event()
    three_at_work = threading.Barrier(3, timeout=PATIENCE_SECONDS)
    story.script("one", models["claude"].dialect.usage_limit(story.limit_ends), wait=three_at_work.wait)
    for task, wait in zip(KILLED, (three_at_work.wait, None), strict=True):
        story.script(task, Reply(wait=models[AGENTS[task]].closing.wait), wait=wait)
    steps = [Reply(tools=(models["opencode"].dialect.shell("true"),))] * 2
    story.script("three", *steps, Reply("It is made.", wait=is_raised.wait), wait=three_at_work.wait)
    story.script("five")
    story.script("six")
    trial.configure({"budget.task.tokens": str(3 * STEP_TOKENS)})

    try:
        story.execute_to_the_middle()
        trial.expect(0, "config", "budget.task.tokens", str(9 * STEP_TOKENS))
    finally:
        is_raised.set()
    story.execute_to_the_end()

    assert set(trial.statuses().values()) == {"done"}, story.lines
    assert story.lines[-1] == "every task is done"
    assert {task: (trial.repo / f"{task}.py").read_text() for task in AGENTS} == dict.fromkeys(AGENTS, "1\n")
    assert sorted(line for line in story.lines if line.startswith("landed ")) == sorted(
        f"landed {task}" for task in AGENTS
    )
    for task, agent in AGENTS.items():
        records = trial.records(task)
        reasons = [ENDS[task], None] if task in ENDS else [None]
        assert [fact(record, "terminal_reason") for record in records] == reasons
        assert {record["provider"] for record in records} == {agent}
        assert_one_session(records)
    until = parse_timestamp(fact(trial.records("one")[0], "limit")["until"])
    assert until == story.limit_ends * 10**9
    assert all(parse_timestamp(trial.records(task)[-1]["startedAt"]) >= until for task in ("one", "five"))

    assert {task: story.answers(task) for task in AGENTS} == ANSWERS
    handed = {agent: STEP_TOKENS * len(model.answered) for agent, model in models.items()}
    # Gemini CLI says in the end what it used: of a run that is stopped it is not known, and that is said.
    known = {**handed, "gemini": STEP_TOKENS}
    bills = {agent: Bill.of(trial, agent) for agent in models}
    assert {agent: bill.tokens for agent, bill in bills.items()} == known
    budgets = loads(trial.expect(0, "status", "--json"))["data"]["budgets"]
    (of_plan,) = (budget for budget in budgets if budget["task"] is None)
    assert (of_plan["spent"], of_plan["lacking"]["gemini"]) == (sum(known.values()), 1)
    for agent in ("claude", "opencode"):
        # The cheapest run has one answer.
        price = min(bills[agent].costs)
        assert sum(bills[agent].costs) == pytest.approx(price * len(models[agent].answered))

"""Plans by the real agents, driven through the command line only."""

from pathlib import Path
from typing import Any

import pytest

from git_blackbird.messages.incoming.plan_answer import OrdersAnswer, PlanAnswer, build_plan_schema
from tests.cli.golden_harness import store_at
from tests.cli.terminal import ENTER, Terminal
from tests.records import fact
from tests.standin.install import Program
from tests.standin.server import Reply, StandIn
from tests.support import commit, git
from tests.trial.program import Trial
from tests.trial.real_trial import enlist

FIELDS = ["id", "title", "description", "prompt", "criteria", "after", "because", "parent", "agent", "model"]


def new(title: str, **fields: object) -> dict[str, Any]:
    return {**dict.fromkeys(FIELDS), "title": title, "criteria": ["it works"], **fields}


def plan(*tasks: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"questions": [], "tasks": list(tasks), "remarks": "", "delete": [], **fields}


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"orders.csv": "1,2\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent})
    trial.init()
    return trial


def tasks(trial: Trial) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(task.id, task.parent, task.deps) for _, task in store_at(trial.repo).plan().walk()]


@pytest.mark.exhaustive
def test_a_plan_is_made_changed_and_ordered_by_an_agent_that_reads(trial: Trial, model: StandIn) -> None:
    speech = model.dialect
    before = git(trial.repo, "status", "--porcelain", "--", "orders.csv", "evil.txt")
    made = plan(
        new("The store", id="store"), new("Tables", parent="store", prompt="Write it."), remarks="Short."
    )
    model.tell(Reply("I look.", (speech.shell("cat orders.csv; echo > evil.txt"),)), speech.answers(made))
    said = trial.expect(3, "plan", "generate", "-m", "Keep orders.", "--no-input")
    assert "remark: Short." in said
    assert tasks(trial) == []
    assert "Keep orders." in model.prompts()[-1]
    assert speech.schema_in(model.requests[-1]) == build_plan_schema(PlanAnswer)
    model.tell(speech.answers(made))
    trial.expect(0, "plan", "generate", "-m", "Keep orders.", "--yes")
    assert tasks(trial) == [("store", None, ()), ("tables", "store", ())]
    wrong = plan(new("", id="nowhere", after=["store"]))
    better = plan(new("An API", after=["store"], because=[{"task": "store", "reason": "It reads it."}]))
    model.tell(speech.answers(wrong), speech.answers(better))
    trial.expect(0, "plan", "refine", "-m", "Add an API.", "--yes")
    assert "a task needs a title" in model.prompts()[-1]
    assert tasks(trial)[-1] == ("an-api", None, ("store",))
    order = {
        "id": "an-api",
        "after": ["tables"],
        "because": [{"task": "tables", "reason": "It reads these."}],
    }
    model.tell(speech.answers({"questions": [], "tasks": [order], "remarks": ""}))
    trial.expect(0, "deps", "infer", "--yes")
    assert speech.schema_in(model.requests[-1]) == build_plan_schema(OrdersAnswer)
    assert tasks(trial)[-1] == ("an-api", None, ("tables",))
    assert git(trial.repo, "status", "--porcelain", "--", "orders.csv", "evil.txt") == before
    records = trial.records(".plan")
    assert [record["run_type"] for record in records] == ["planning"] * 5
    assert all(record["status"] == "success" and fact(record, "usage") for record in records)
    assert [record.get("provider_session_ref") for record in records] == [None] * 5


@pytest.mark.exhaustive
def test_what_it_asks_is_answered_and_what_is_to_be_different_is_heard(trial: Trial, model: StandIn) -> None:
    speech = model.dialect
    asks = plan(questions=[{"id": "db", "prompt": "Which database?", "options": ["sqlite", "mysql"]}])
    model.tell(*map(speech.answers, (asks, plan(new("Use it")), plan(new("Use it well")))))
    with Terminal(trial.repo, "plan", "generate", "-m", "Orders.", environ=trial.environ) as terminal:
        terminal.wait_to_see("3) Other...")
        terminal.type("2", ENTER)
        terminal.wait_to_see("use-it  Use it")
        terminal.wait_to_see("3) Edit it as a page")
        assert "Answer: mysql" in model.prompts()[-1]
        terminal.type("2", ENTER)
        terminal.wait_to_see("What should be different")
        terminal.type("Well, please.", "\x13")
        terminal.wait_to_see("use-it-well")
        terminal.wait_to_see("3) Edit it as a page")
        assert "Well, please." in model.prompts()[-1]
        terminal.type("1", ENTER)
        terminal.wait_to_see("the plan is changed")
        assert terminal.end() == 0
    assert tasks(trial) == [("use-it-well", None, ())]


@pytest.mark.exhaustive
def test_an_agent_that_does_not_answer_in_the_form_is_no_plan(trial: Trial, model: StandIn) -> None:
    model.tell(*["I would rather talk about it."] * 6)
    said = trial.expect(1, "plan", "generate", "-m", "Orders.", "--yes")
    assert "planning failed" in said
    assert tasks(trial) == []
    assert len(trial.records(".plan")) == 2

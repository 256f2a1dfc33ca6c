"""What commands say of budgets: what is spent of them, what the sums lack, and how to go on."""

from tests.cli.golden_harness import Program, program
from tests.cli.test_run_golden import plan_of, use_claude
from tests.controller.engine.test_budgets import CLAUDE
from tests.support import commit, set_config

__all__ = ["program"]


def test_budgets(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(program, ("a", "a long one"), ("b", "something"), ("c", "something"))
    use_claude(program, CLAUDE.format(place=program.environ["HOME"]))
    set_config(program.cwd, {"execution.stopGraceSeconds": "1"})
    program.run("execute", "--no-input", "--budget", "tokens=1000", "--budget", "minutes=90")
    program.run("runs", "a")
    program.run("config", "budget.plan.usd", "1.5")
    program.run("config", "budget.task.tokens", "1000")
    program.run("status")
    program.run("execute", "--dry-run")
    program.run("resume", "a")
    program.run("config", "--unset", "budget.task.tokens")
    set_config(program.cwd, {"agent": "command", "command.run": "echo x >b.txt"})
    program.run("execute", "b", "--no-input")
    program.run("config", "budget.plan.usd", "0.4")
    program.run("status")
    program.run("status", "--json")
    program.run("execute", "--dry-run")
    program.run("execute", "--no-input", "--json")
    program.run("report")
    program.run("report", "--html", "page.html")
    page = (program.cwd / "page.html").read_text()
    assert ">the plan: 0.40 USD of 0.40; 1 run of the agent &#x27;command&#x27; reports no cost" in page
    program.run("execute", "--budget", "euro=5")
    program.run("execute", "--budget", "usd=five")
    program.run("execute", "--budget", "")
    program.run("execute", "--budget", "usd=5", "--budget", "usd=6")
    program.run("config", "budget.call.usd", "0")
    program.check("budgets")

"""What running commands say, whole: failures, questions, refusals, repairs, and what stands in the way."""

import os
from pathlib import Path

from tests.cli.golden_harness import Program, program
from tests.support import commit, git, write

__all__ = ["program"]

FORGETFUL = """#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
case "$*" in *--resume*) echo "No conversation found with session ID: x" >&2; exit 1;; esac
cat >/dev/null
while [ "$1" != --session-id ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$2"
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s"}\\n' "$2"
"""
LOGGED_OUT = """#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
cat >/dev/null
printf '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in. Please run /login",'
printf '"session_id":"x","usage":{"input_tokens":0,"output_tokens":0}}\\n'
exit 1
"""


def plan_of(program: Program, *tasks: tuple[str, ...]) -> None:
    program.run("init")
    git(program.cwd, "config", "blackbird.execution.stopAfterEachTask", "false")
    git(program.cwd, "config", "blackbird.execution.acceptNoChange", "true")
    for task_id, prompt, *more in tasks:
        program.run("add", "--id", task_id, "--title", f"Task {task_id}", "--prompt", prompt, *more)
    program.transcript.clear()


def use_claude(program: Program, script: str) -> None:
    fake = Path(program.environ["HOME"]) / "claude"
    fake.write_text(script)
    fake.chmod(0o755)
    git(program.cwd, "config", "blackbird.agent", "claude")
    git(program.cwd, "config", "blackbird.claude.path", str(fake))
    program.hidden = {str(fake): "$HOME/claude", **program.hidden}


def test_failures_and_questions(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(
        program,
        ("a", "fail 7"),
        ("b", "ask db Which database? | mysql | sqlite\nask why Why?\nanswered db db.txt"),
        ("c", "write c.txt x", "--dep", "a"),
    )
    git(program.cwd, "config", "blackbird.agent", "demo")
    program.run("execute", "c")
    program.run("execute", "--no-input")
    program.run("execute", "--no-input")
    program.run("status")
    program.run("resume", "b", "-m", "go on")
    program.run("resume", "b", "--answer", "db=7", "--answer", "why=x")
    program.run("resume", "b", "--answer", "db=2")
    program.run("resume", "b", "--answer", "db=2", "--answer", "nonsense=1")
    program.run("resume", "b", "--answer", "db=2", "--answer", "why=it is small")
    program.run("resume", "b")
    program.run("resume", "b", "--answer", "db=1")
    program.run("retry", "a")
    program.run("retry", "b")
    program.run("resume", "a", "-m", "again")
    program.run("restart", "c")
    program.run("set-status", "a", "skipped")
    program.run("show", "c")
    program.run("execute", "--json", "--limit", "1")
    program.check("failures_and_questions")


def test_what_agents_do_to_the_plan_and_the_records(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(program, ("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""))
    script = """cat >/dev/null; case $BLACKBIRD_TASK_ID in
    a) echo '{' >blackbird.plan.json;;
    b) rm blackbird.plan.json;;
    c) sed -i 's/Task e/Hacked/' blackbird.plan.json;;
    d) git init -q nested;;
    e) rm -rf .blackbird;;
    esac"""
    git(program.cwd, "config", "blackbird.agent", "command")
    git(program.cwd, "config", "blackbird.command.run", script)
    program.run("execute", "--no-input")
    program.run("decide", "c", "--approve")
    program.run("execute")
    program.run("status")
    program.check("hostile_agents")


def test_agents_that_refuse(program: Program) -> None:
    plan_of(program, ("a", "x"), ("b", "y"))
    program.run("execute", "--agent", "command")
    program.run("execute", BLACKBIRD_AGENT_CMD="no-such-program --go")
    program.run("execute", BLACKBIRD_AGENT_CMD="./no-such-program")
    git(program.cwd, "config", "blackbird.claude.path", "/nowhere/claude")
    program.run("execute")
    use_claude(program, LOGGED_OUT)
    program.run("execute")
    use_claude(program, FORGETFUL)
    program.run("execute", "--stop-after-each", "--no-input")
    program.run("decide", "a", "--request-changes", "-m", "louder")
    program.run("execute", "--no-input")
    program.run("status")
    program.run("resume", "a")
    program.run("decide", "a", "--approve", BLACKBIRD_RUN_ID="0123456789abcdef")
    program.run("restart", "a", "--no-input")
    program.check("agents_that_refuse")


def test_a_run_that_was_cut_off(program: Program) -> None:
    plan_of(program, ("a", "write x 1"), ("b", "write y 1"))
    git(program.cwd, "config", "blackbird.agent", "demo")
    program.run("execute", "a")
    (record,) = program.cwd.glob(".git/blackbird/runs/a/*.json")
    text = record.read_text().replace('"status": "success"', '"status": "running"')
    write(record.parent, {record.name: text})
    write(program.cwd / ".blackbird/runs/a", {record.name: text})
    for log in program.cwd.glob(".blackbird/runs/a/logs/*"):
        log.rename(program.cwd / ".git/blackbird/streams" / f"a.{log.name}")
    plan = program.cwd / "blackbird.plan.json"
    plan.write_text(plan.read_text().replace('"status": "done"', '"status": "in_progress"'))
    program.remark("the program and its agent are killed")
    program.run("status")
    program.run("execute", "--no-input")
    program.run("runs", "a")
    program.run("resume", "a", "--no-input")
    assert os.path.exists(program.cwd / "y")  # noqa: PTH110  # what execute went on with
    program.check("cut_off")

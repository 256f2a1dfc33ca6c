"""How the real programs end where something else than the model ends them, or sends them on."""

import json
from pathlib import Path

import pytest

from git_blackbird.model.run.states import NO_CHANGE
from tests.records import fact
from tests.standin.install import CLAUDE, CODEX, GEMINI, Program
from tests.standin.real import real
from tests.standin.server import Reply, StandIn
from tests.support import commit
from tests.trial.program import Trial
from tests.trial.real_trial import ASKS, enlist

# A hook that blocks once.
ONCE = "test -e ../once && exit 0; touch ../once; echo Lint the files first. >&2; exit 2"
ENOUGH = json.dumps({"continue": False, "stopReason": "Enough."})
LATER = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}})
SAYS_NO = "echo Name a ticket. >&2; exit 2"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def trial(repo: Path, config: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "one\n"})
    trial = Trial(repo)
    enlist(trial, program, model, config)
    trial.configure({"agent": program.agent, "execution.stopAfterEachTask": "false"})
    if program is CODEX:
        trial.configure({"codex.args": "--dangerously-bypass-hook-trust"})
    trial.plan({"greet": (), "part": ("greet",), "other": ()})
    return trial


def add_hook(config: Path, program: Program, event: str, command: str) -> None:
    """Let the user's own settings of the program have a hook."""
    hooks = {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}
    (config / ("settings.json" if program is CLAUDE else "hooks.json")).write_text(json.dumps(hooks))


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE, CODEX), indirect=True)
def test_a_question_is_not_lost_where_a_stop_hook_makes_the_agent_go_on(
    trial: Trial, model: StandIn, program: Program, config: Path
) -> None:
    add_hook(config, program, "Stop", ONCE)
    model.tell(ASKS, "Lint is clean.")
    output = trial.expect(4, "execute", "greet", "--no-input")
    assert "--answer tone=VALUE" in output
    (asked,) = trial.records("greet")
    assert (asked["status"], fact(asked, "final_text")) == ("waiting_user", "Lint is clean.")
    greet = trial.repo / "greet.py"
    model.tell(Reply("I write.", (model.dialect.writes(greet, "print('hello')\n"),)), "It greets.")
    trial.expect(0, "resume", "greet", "--answer", "tone=plain", "--no-input")
    assert "plain" in model.prompts()[-1]
    assert trial.statuses()["greet"] == "done"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("event", "says", "word"),
    [
        ("PostToolUse", ENOUGH, "hook_stopped"),
        ("PreToolUse", LATER, "tool_deferred"),
        ("Stop", ENOUGH, "stop_hook_prevented"),
    ],
)
@pytest.mark.parametrize("program", real(CLAUDE), indirect=True)
def test_a_turn_that_a_hook_ended_is_not_finished(
    trial: Trial, model: StandIn, config: Path, event: str, says: str, word: str
) -> None:
    add_hook(config, CLAUDE, event, f"echo '{says}'")
    writes = model.dialect.writes(trial.repo / "greet.py", "print('hello')\n")
    model.tell(Reply("I write.", (writes,)), "It greets.")
    output = trial.expect(4, "execute", "--no-input")
    assert f"did not finish: claude ended with {word}" in output
    assert trial.statuses() == {"greet": "waiting_user", "part": "todo", "other": "todo"}
    assert f"claude ended with {word}" in trial.expect(0, "status")


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(GEMINI), indirect=True)
def test_a_loop_that_gemini_detects_is_no_answer(trial: Trial, model: StandIn) -> None:
    looks = Reply(tools=(model.dialect.shell("echo hi"),))
    model.tell(*[looks] * 8)
    output = trial.expect(4, "execute", "--no-input")
    assert "did not finish: gemini ended with Loop detected, stopping execution" in output
    assert trial.statuses() == {"greet": "waiting_user", "part": "todo", "other": "todo"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE, CODEX), indirect=True)
def test_a_prompt_that_a_hook_blocks_is_the_reason_and_costs_no_task(
    trial: Trial, model: StandIn, program: Program, config: Path
) -> None:
    add_hook(config, program, "UserPromptSubmit", SAYS_NO)
    output = trial.expect(8, "execute", "--no-input")
    why = {
        CLAUDE: "its prompt did not reach the model: blocked_by_hook: Name a ticket",
        CODEX: "its turn ended, and no model had been asked",
    }[program]
    assert f"{program.agent} refuses every task: {why}" in output
    assert model.requests == []
    assert set(trial.statuses().values()) == {"todo"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE), indirect=True)
def test_a_server_of_tools_that_failed_is_the_reason_where_nothing_was_changed(
    trial: Trial, model: StandIn, tmp_path: Path
) -> None:
    servers = tmp_path / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"tickets": {"command": "/nonexistent"}}}))
    trial.configure({"claude.args": f"--mcp-config {servers}"})
    model.tell("There are no tickets.")
    output = trial.expect(3, "execute", "--no-input")
    assert "nothing was changed: the MCP server tickets failed at the start" in output
    assert NO_CHANGE not in output
    writes = model.dialect.writes(trial.repo / "other.py", "1\n")
    model.tell(Reply("I write.", (writes,)), "Done.")
    trial.expect(0, "execute", "other", "--no-input")
    assert fact(trial.records("other")[0], "notes") == ["the MCP server tickets failed at the start"]

"""Opening a worktree: which agent is chosen, and by whom."""

from pathlib import Path

from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.model.config.layers import Layer, RawSetting
from tests.controller.support import make_world, open_at
from tests.support import git, write

CODEX = {".blackbird/agent.json": '{"schemaVersion": 1, "selectedAgent": "codex"}'}


def test_the_agents_choice_first_found(repo: Path) -> None:
    write(repo, {".blackbird/agent.json": '{"schemaVersion": 1, "selectedAgent": "claude"}'})
    assert open_at(repo).settings.applied["agent"].layer == Layer.AGENT_CHOICE
    git(repo, "config", "blackbird.agent", "demo")
    assert open_at(repo).config.agent == "demo"
    assert open_at(repo, BLACKBIRD_AGENT_PROVIDER="claude").config.agent == "claude"
    both = {"BLACKBIRD_AGENT_PROVIDER": "claude", "BLACKBIRD_AGENT_CMD": "true"}
    assert open_at(repo, **both).config.agent == "command"
    flag = RawSetting("agent", "demo", Layer.FLAG, "command line")
    assert open_workspace(make_world(repo, **both), [flag]).config.agent == "demo"


def test_the_go_programs_choice_counts_until_another_is_made(repo: Path) -> None:
    write(repo, CODEX)
    assert open_at(repo).config.agent == "codex"
    git(repo, "config", "blackbird.agent", "demo")
    assert open_at(repo).config.agent == "demo"


def test_a_broken_choice_of_the_go_program_counts_as_none(repo: Path) -> None:
    write(repo, {".blackbird/agent.json": "{"})
    workspace = open_at(repo)
    workspace.require_settings()
    assert workspace.config.agent == "claude"


def test_next_steps_repeat_the_budget_of_a_call_as_it_can_be_typed(repo: Path) -> None:
    given = {"budget.call.usd": "0.50", "budget.call.tokens": "1500000", "budget.call.minutes": "90"}
    flags = [RawSetting(key, value, Layer.FLAG, "command line") for key, value in given.items()]
    workspace = open_workspace(make_world(repo), flags)
    assert workspace.call_options.for_verb("resume") == (
        " --budget usd=0.5 --budget tokens=1500000 --budget minutes=90"
    )

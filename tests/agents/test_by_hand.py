"""How sessions are opened by hand: with the rights as configured, less what makes no sense with a person."""

import pytest

from git_blackbird.agents.program import ProgramAgent
from git_blackbird.agents.registry import load_agent
from git_blackbird.model.config.layers import AGENT_NAMES
from tests.support import config_with

ARGV = {
    "claude": "claude --resume ID --permission-mode plan --model m --verbose",
    "codex": "codex resume -s read-only --model m --search ID",
    "gemini": "gemini --resume ID --model m --debug",
    "opencode": "opencode --session ID --model m --pure --agent blackbird-ID",
}
SETTINGS: dict[str, str | tuple[str, ...]] = {
    "claude__permission_mode": "plan",
    "claude__model": "m",
    "claude__args": ("--verbose",),
    "codex__sandbox": "read-only",
    "codex__model": "m",
    "codex__args": ("--search",),
    "gemini__model": "m",
    "gemini__args": ("--debug",),
    "opencode__permissions": "edit",
    "opencode__model": "m",
    "opencode__args": ("--pure",),
}


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_an_agent_with_a_program_of_its_own_opens_a_session(name: str) -> None:
    agent = load_agent(name, config_with(**SETTINGS))
    assert isinstance(agent, ProgramAgent) == (name in ARGV)
    if isinstance(agent, ProgramAgent):
        assert " ".join(agent.launch_by_hand("ID").argv) == ARGV[name]


def test_a_mode_that_denies_what_a_person_can_be_asked_for_is_left_out() -> None:
    agent = load_agent("claude", config_with(claude__permission_mode="dontAsk"))
    assert isinstance(agent, ProgramAgent)
    assert agent.launch_by_hand("ID").argv == ("claude", "--resume", "ID")

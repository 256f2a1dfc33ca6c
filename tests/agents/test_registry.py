import pytest

from git_blackbird.agents.protocol import AgentSettings
from git_blackbird.agents.registry import AGENTS, load_agent
from git_blackbird.errors import RequestError


@pytest.mark.parametrize("name", ["claude", "command", "demo"])
def test_agents_are_known_by_name(name: str) -> None:
    agent = load_agent(name, AgentSettings())
    assert agent.name == name
    assert agent.new_session("0123456789abcdef0123456789ABCDEF") == "01234567-89ab-4def-8123-456789abcdef"


def test_an_unknown_agent_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(RequestError) as caught:
        load_agent("codex", AgentSettings())
    assert (caught.value.message, caught.value.hint) == (
        "there is no agent 'codex'",
        "agents: claude, command, demo",
    )
    assert list(AGENTS) == ["claude", "command", "demo"]

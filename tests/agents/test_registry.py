import subprocess
import sys

import pytest

from git_blackbird.agents.protocol import new_session
from git_blackbird.agents.registry import DECLARATIONS, load_agent
from git_blackbird.errors import RequestError
from git_blackbird.model.config.layers import AGENT_NAMES
from tests.support import config_with


def test_agents_are_known_by_the_names_of_the_configuration() -> None:
    assert AGENT_NAMES == tuple(DECLARATIONS) == ("claude", "codex", "command", "demo", "gemini", "opencode")
    assert [load_agent(name, config_with()).name for name in AGENT_NAMES] == list(AGENT_NAMES)


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_a_session_is_named_where_the_agent_lets_us(name: str) -> None:
    agent = load_agent(name, config_with())
    named = new_session(agent, "0123456789abcdef0123456789ABCDEF")
    assert named == ("01234567-89ab-4def-8123-456789abcdef" if agent.abilities.chooses_session else None)
    own = {"opencode": "ses_dddef62c1ffeNK7gnVdzSs5Hk4"}
    assert agent.accepts_session(own.get(name, "01234567-89ab-4def-8123-456789abcdef"))
    assert not agent.accepts_session("")


def test_an_unknown_agent_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(RequestError) as caught:
        load_agent("gpt", config_with())
    assert (caught.value.message, caught.value.hint) == (
        "there is no agent 'gpt'",
        "agents: claude, codex, command, demo, gemini, opencode",
    )


def test_names_of_agents_and_keys_cost_no_pydantic() -> None:
    script = "import sys, git_blackbird.model.config.config; print('pydantic' in sys.modules)"
    assert subprocess.check_output((sys.executable, "-c", script), text=True) == "False\n"

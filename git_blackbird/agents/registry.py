"""Which agents there are, by the names a person chooses them with."""

from collections.abc import Callable

from git_blackbird.agents.claude import ClaudeAgent
from git_blackbird.agents.codex import CodexAgent
from git_blackbird.agents.command import CommandAgent
from git_blackbird.agents.demo import DemoAgent
from git_blackbird.agents.protocol import Agent, AgentSettings
from git_blackbird.errors import RequestError

AGENTS: dict[str, Callable[[AgentSettings], Agent]] = {
    "claude": ClaudeAgent,
    "codex": CodexAgent,
    "command": CommandAgent,
    "demo": DemoAgent,
}


def load_agent(name: str, settings: AgentSettings) -> Agent:
    """Give the agent of that name. Raises RequestError when there is none."""
    if name not in AGENTS:
        raise RequestError(f"there is no agent '{name}'", hint=f"agents: {', '.join(AGENTS)}")
    return AGENTS[name](settings)

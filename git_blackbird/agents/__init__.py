"""Agents: what starts a process for someone; their names are light, because completion lists them."""

from importlib import import_module
from typing import TYPE_CHECKING

from git_blackbird.errors import RequestError

if TYPE_CHECKING:
    # Loads pydantic, which those who need only the names do without.
    from git_blackbird.agents.protocol import Agent
    from git_blackbird.model.config.config import Config

AGENTS = {
    "claude": "claude.agent:ClaudeAgent",
    "codex": "codex.agent:CodexAgent",
    "command": "command:CommandAgent",
    "demo": "demo:DemoAgent",
}


def load_agent(name: str, config: "Config") -> "Agent":
    """Return the agent of that name. Raises RequestError if there is none."""
    if name not in AGENTS:
        raise RequestError(f"there is no agent '{name}'", hint=f"agents: {', '.join(AGENTS)}")
    module, class_name = AGENTS[name].split(":")
    agent: Agent = getattr(import_module(f"git_blackbird.agents.{module}"), class_name)(config)
    return agent

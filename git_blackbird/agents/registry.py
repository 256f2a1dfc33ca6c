"""Finding the declaration of each agent, and loading one."""

from functools import cache
from importlib import import_module
from typing import Any

from git_blackbird.agents.declaration import Declaration
from git_blackbird.agents.protocol import Agent
from git_blackbird.errors import RequestError
from git_blackbird.model.config.config import Config
from git_blackbird.model.config.layers import AGENT_NAMES


@cache
def declarations() -> dict[str, Declaration]:
    """Return what each agent declares, by its name."""
    return {name: _load(name, "declaration").DECLARATION for name in AGENT_NAMES}


def load_agent(name: str, config: Config) -> Agent:
    """Return the agent of that name. Raises RequestError if there is none."""
    declared = declarations().get(name)
    if declared is None:
        raise RequestError(f"there is no agent '{name}'", hint=f"agents: {', '.join(AGENT_NAMES)}")
    agent: Agent = getattr(_load(name, "agent"), declared.adapter)(getattr(config, name, None))
    return agent


def _load(name: str, module: str) -> Any:
    """Import a module of an agent's folder: only an agent that is used is loaded whole."""
    return import_module(f"git_blackbird.agents.{name}.{module}")

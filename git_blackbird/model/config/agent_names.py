"""The agents there are, each declared in the folder of its name in ``git_blackbird/agents``.

The names are here, below the agents, because options, completion and the types of keys are made from them
without one of them being loaded.
"""

from typing import Literal, get_args

AgentName = Literal["claude", "codex", "command", "demo", "gemini", "opencode"]
AGENT_NAMES: tuple[str, ...] = get_args(AgentName)
DEFAULT_AGENT: AgentName = "claude"

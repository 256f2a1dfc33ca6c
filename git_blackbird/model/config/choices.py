"""Names that the syntax of commands shares with the configuration; without pydantic."""

from typing import Literal, get_args

AgentName = Literal["claude", "codex", "command", "demo"]
ReviewMode = Literal["off", "parallel"]
AGENT_NAMES: tuple[str, ...] = get_args(AgentName)
REVIEW_MODES: tuple[str, ...] = get_args(ReviewMode)

"""The declaration of the agent that is a command: its configuration and properties."""

from typing import Annotated

from pydantic import Field

from git_blackbird.agents.declaration import Declaration
from git_blackbird.model.config.keys import Section, key

VARIABLE = "BLACKBIRD_AGENT_CMD"


class CommandConfig(Section):
    """The agent that is a command of the user's."""

    run: str | None = key(None, "the shell command of the agent `command`", environment=VARIABLE, own="user")
    honors_schema: Annotated[bool, Field(alias="schema")] = key(
        False, "whether the command answers in the schema of BLACKBIRD_RESPONSE_SCHEMA", own="user"
    )


DECLARATION = Declaration(
    "CommandAgent", CommandConfig, chosen_by=VARIABLE, on_workers="runs the command of whoever orders it"
)

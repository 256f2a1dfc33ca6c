"""The whole configuration: the keys of the program, and those that agents declare."""

from typing import Any

from pydantic import Field, create_model

from git_blackbird.agents.registry import declarations
from git_blackbird.model.config.config import AgentChoice, Config, Keys


def _with_agents() -> type[Config]:
    """Return the model with the section of each agent, after the choice of one."""
    sections: dict[str, Any] = {
        name: (declared.settings, Field(default_factory=declared.settings.model_construct))
        for name, declared in declarations().items()
        if declared.settings is not None
    }
    # Of several bases the last one's fields come first.
    bases: tuple[type[Config], Any] = (
        Config,
        create_model("AgentSections", __base__=AgentChoice, **sections),
    )
    doc = "The whole configuration, and a configuration file."
    return create_model("Config", __base__=bases, __doc__=doc)


WholeConfig = _with_agents()
KEYS = Keys(WholeConfig)

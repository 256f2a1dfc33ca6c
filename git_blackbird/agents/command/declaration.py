"""The declaration of the agent that is a command: what others have to know of it."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration("CommandAgent", on_workers="runs the command of whoever orders it")

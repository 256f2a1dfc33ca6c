"""The declaration of the embedded agent."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration("DemoAgent")

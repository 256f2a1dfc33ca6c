"""What others have to know of the embedded agent."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration("DemoAgent")

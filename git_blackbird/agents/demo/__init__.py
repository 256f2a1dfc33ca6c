"""The embedded agent."""

"""The embedded demo agent."""

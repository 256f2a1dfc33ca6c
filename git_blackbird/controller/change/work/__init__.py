"""Run an agent on a task, from its order to its closed record."""

"""Agents: what starts a process for someone. A new one is a folder here and its name in the model."""

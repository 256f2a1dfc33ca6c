"""Decisions on a change: the checkpoint, what is recorded, what is adopted."""

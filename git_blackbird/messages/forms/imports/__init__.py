"""Readers of what other programs keep tasks in."""

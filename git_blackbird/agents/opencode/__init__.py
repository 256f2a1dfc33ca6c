"""Opencode."""

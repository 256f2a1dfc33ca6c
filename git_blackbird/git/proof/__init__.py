"""Decisions as tags, and commits held against them."""

"""Commit a change when it is approved, and in which order."""

"""Checkpoints, decisions, and the commit of an approval."""

"""Repositories inside a worktree: what is only in them, and moving them with a change."""

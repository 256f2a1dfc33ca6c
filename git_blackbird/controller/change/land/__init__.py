"""Bring a change from its worktree into the user's, or send it back."""

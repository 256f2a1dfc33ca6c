"""Take the change of a task back out of the worktree, or bring it back."""

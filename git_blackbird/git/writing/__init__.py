"""Writing files into worktrees, after a look at what is in the way."""

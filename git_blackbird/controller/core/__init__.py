"""The base of the controller: the opened worktree, its environment, locks, derived statuses."""

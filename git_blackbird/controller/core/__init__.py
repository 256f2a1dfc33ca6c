"""What every part of the controller needs: the opened worktree, the seams, locks, derived statuses."""

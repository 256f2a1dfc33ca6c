"""The worktree: snapshots, changes, summaries, the log."""

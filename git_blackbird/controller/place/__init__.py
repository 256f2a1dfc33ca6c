"""Where the files of a task are: in the user's worktree, or in one of its own."""

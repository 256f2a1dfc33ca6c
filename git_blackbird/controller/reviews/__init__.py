"""Reviews of a change and of a parent."""

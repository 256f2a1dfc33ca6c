"""The hook, the demo, and taking the program out of a repository."""

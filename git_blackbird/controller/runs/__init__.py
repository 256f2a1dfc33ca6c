"""One run, from its first snapshot to its closed record."""

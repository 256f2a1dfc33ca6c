"""A run: its record, what it found and said, and all runs of one task."""

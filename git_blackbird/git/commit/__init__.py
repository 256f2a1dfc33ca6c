"""Creating and undoing commits."""

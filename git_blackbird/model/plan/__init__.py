"""Rules of the plan alone: the graph and its validation."""

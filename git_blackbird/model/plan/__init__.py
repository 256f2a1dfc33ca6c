"""Rules of the plan alone: the graph, its validation, the difference of two plans."""

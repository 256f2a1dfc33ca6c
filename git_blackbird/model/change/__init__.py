"""The change of a task: what its runs did since it was last done, its stage, and what is still to be told."""

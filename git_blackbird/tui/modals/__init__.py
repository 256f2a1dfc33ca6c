"""What is asked for on a screen of its own, over the others."""

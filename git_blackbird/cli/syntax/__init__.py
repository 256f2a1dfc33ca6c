"""What may be typed: commands, options, and what completes them. Loads click alone."""

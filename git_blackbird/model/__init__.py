"""The domain model and its rules: no input or output, no clock, no randomness."""

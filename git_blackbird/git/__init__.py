"""All that knows git."""

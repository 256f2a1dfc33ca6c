"""Values that user interfaces show."""

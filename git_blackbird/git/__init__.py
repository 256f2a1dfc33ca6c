"""Everything that uses git."""

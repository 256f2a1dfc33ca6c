"""The only room that combines the others."""

"""Reading, writing and watching configuration."""

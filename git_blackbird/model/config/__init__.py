"""Configuration keys, their values, and the layers of configuration."""

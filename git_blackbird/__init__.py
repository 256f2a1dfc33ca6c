"""Run coding agents over a dependency-aware plan in a git repository."""

__version__ = "0.1.0"

"""What ``--json`` prints of values that print something else than their own fields."""

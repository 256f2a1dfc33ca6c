"""What ``--json`` prints: one model for each output. Imported only when JSON is printed."""

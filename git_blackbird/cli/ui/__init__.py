"""User interfaces on a terminal, on plain lines, and for programs."""

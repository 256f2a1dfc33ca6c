"""Start agents and other programs of the user, and read their output."""

"""Start the process of an agent, here or where a launcher starts it, and follow it to its end."""

"""The view of a diff: its rows, their colours, and comments at its lines."""

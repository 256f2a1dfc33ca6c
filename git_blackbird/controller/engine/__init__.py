"""The loop: the next action, its handlers, recovery, and how a call stops."""

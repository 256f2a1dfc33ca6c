"""The handlers of the next actions, which the loop calls."""

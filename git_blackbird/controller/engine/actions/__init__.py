"""One handler for each next action: ``handler(engine, action, turn)`` returns the stop, or None to go on."""

"""Commands: they parse, call the controller, and render."""

"""The command line: parse, call the controller, render."""

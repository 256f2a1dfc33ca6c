"""Textual: the same controller, another face. Only what opens it imports it."""

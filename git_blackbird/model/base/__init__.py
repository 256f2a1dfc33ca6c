"""Foundations of the model: ids, timestamps, safe text, the base of every record."""

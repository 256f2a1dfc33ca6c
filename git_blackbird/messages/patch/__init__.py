"""Patches of git for people: their files, lines and numbers, and the rows to show."""

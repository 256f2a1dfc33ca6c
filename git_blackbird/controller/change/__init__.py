"""The steps in the life of a change: composing, checking, reviewing, deciding, landing, undoing."""

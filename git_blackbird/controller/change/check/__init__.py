"""Run the user's check on a change."""

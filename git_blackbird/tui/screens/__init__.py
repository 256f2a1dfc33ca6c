"""The main screen and the modal screens above it."""

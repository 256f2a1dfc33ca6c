"""The full-screen application, with Textual, on the same controller as the commands."""

"""Text for people, shared by all user interfaces."""

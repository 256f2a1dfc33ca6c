"""All text to and from agents, and text for people."""

"""All text to and from agents: text in, values out; values in, text out."""

"""The configuration: its model, the keys derived from it, and how layers are merged."""

"""The agents. A new one is a folder here and its name in the model."""

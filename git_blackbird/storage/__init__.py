"""All that knows the files under ``.blackbird/`` and the plan file."""

"""Files below ``.blackbird/``, and the plan file."""

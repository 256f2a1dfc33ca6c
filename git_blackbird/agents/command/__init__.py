"""Any shell command."""

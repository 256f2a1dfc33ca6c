"""Changes of the plan by hand."""

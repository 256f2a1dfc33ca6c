"""Plan, run, change, findings, decision and related values."""

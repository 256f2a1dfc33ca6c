"""Hold what was done to its proof: hunks that nothing notices, criteria that break later, decisions."""

"""All that starts a process for someone: one runner, one small file per provider."""

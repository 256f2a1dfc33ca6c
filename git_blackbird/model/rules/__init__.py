"""Rules over plan and records: statuses, the next action, merged reviews, gates."""

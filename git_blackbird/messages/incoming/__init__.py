"""Parse the answers of agents: questions, verdicts, reviews."""

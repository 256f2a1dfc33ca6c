"""Text for agents: context, prompts, review packages, schemas."""

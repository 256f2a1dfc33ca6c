"""The rights of agents beyond editing the worktree, and the question about them (DESIGN.md 11)."""

from typing import NamedTuple


class Rights(NamedTuple):
    """The rights of an agent as configured, in words, and the settings that grant them."""

    description: str
    terms: tuple[str, ...] = ()


class RightsQuestion(NamedTuple):
    """What a person agrees to: an agent with these rights, and whether the command stops after each task."""

    agent: str
    rights: Rights
    stops_after_each: bool
